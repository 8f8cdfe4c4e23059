"""The laboratory: which methods are compared, on which data, by which protocol.

`datasets/` reads data, `comparison/` cross-validates methods, `experiments/` stores and resumes, `papers/` reproduces
published tables, `studies/` has the project's own. Open `comparison/cross_validation.py` first.
"""
