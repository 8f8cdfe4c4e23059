"""Analyses that explain a comparison: attributes, agreement of members, bias and variance, noise in the target.

`run.py` runs them all; each other file holds one of them: its measurement of one cell, and its summary. `attributes.py`
measures by `shuffling.py` and `effects.py`. Open `run.py` first.
"""
