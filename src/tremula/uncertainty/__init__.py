"""How sure a trained ensemble is: quantiles, intervals, label sets and standard errors, from the rows it left out.

Nothing is trained again. `uncertainty.py` has the class to use, `trained_members.py` the members with the rows that
each was trained on. Open `uncertainty.py` first.
"""
