"""The comparison behind ``tremula compare``: methods, splits, results, analyses.

`methods.py` and `peers.py` list the methods; `splits.py` makes the folds; `trial.py` measures one method on one split;
`cross_validation.py` runs them all; `analyses/` explains the result. Open `cross_validation.py` first.
"""
