"""The default estimator: families of trees, blended with weights chosen on out-of-bag rows.

`classifier.py` and `regressor.py` have the estimators, `families.py` the families, `selection.py` the choice among
them, `blend.py` the fitted model. Open `base.py` first.
"""
