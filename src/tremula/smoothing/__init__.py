"""Dual perturb and combine: the average answer of a trained model when the row to predict is perturbed.

`classifier.py` and `regressor.py` hold the estimators. Open `methods.py` to see how an answer is averaged: exactly for
trees (`exact.py`) and linear models (`linear.py`), by sampling for others (`sampled.py`).
"""
