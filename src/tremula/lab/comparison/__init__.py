"""The comparison behind ``tremula compare``: which methods, which folds, which analyses.

`methods.py` and `peers.py` list what can be compared; `cross_validation.py` runs it; `analyses.py` looks closer.
Open `cross_validation.py` first.
"""
