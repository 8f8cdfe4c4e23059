"""Methods compared by cross-validation, on one dataset or on many.

`comparison.py` compares on one dataset, `ranking.py` over datasets, `win_loss_tie_table.py` counts wins.
Open `comparison.py` first.
"""
