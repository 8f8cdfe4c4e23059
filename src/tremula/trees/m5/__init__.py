"""M5': model trees, whose leaves predict by linear models.

`regressor.py` has the estimator, `model_tree.py` the fitted tree, `linear_models.py` the least squares in its nodes.
Open `regressor.py` first.
"""
