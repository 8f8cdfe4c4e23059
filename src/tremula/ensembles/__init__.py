"""Ensembles: what is perturbed, how members are trained, and how their predictions are combined.

A file has one method or a few related ones, such as `bagging.py`; `base/` has what all ensembles share.
Open `bagging.py` first, then `base/ensemble.py`.
"""
