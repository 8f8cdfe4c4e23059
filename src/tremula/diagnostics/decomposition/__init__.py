"""Error as bias, variance and noise, and how stable a learner is.

`learning_sets.py` draws the training sets, `retraining.py` fits the models, `terms.py` has the formulas.
Open `bias_variance.py` first.
"""
