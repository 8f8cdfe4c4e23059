"""Members of one ensemble: how often they agree, how differently they err.

`predictions.py` gathers their predictions for any library's ensemble.
Open `kappa.py` first.
"""
