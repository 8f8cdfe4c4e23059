"""What all ensembles share: drawing samples, training members, combining predictions, out-of-bag estimates.

A recipe in `tremula.ensembles` says what is perturbed and which estimator is trained; the rest is here.
Open `ensemble.py` first.
"""
