"""Analyses that explain a comparison: agreement of members, bias and variance, noise in the target.

`run.py` runs them all; each other file holds one of them: its measurement of one cell, and its summary.
Open `run.py` first.
"""
