"""Dual perturb and combine: the mean prediction of a trained model when the row to predict is perturbed.

`classifier.py` and `regressor.py` have the estimators. Trees (`exact.py`) and linear models (`linear.py`) are averaged
exactly, others by sampling (`sampled.py`). Open `methods.py` first.
"""
