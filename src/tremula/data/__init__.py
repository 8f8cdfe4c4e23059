"""Reads tables, targets and row weights, and checks them: the rest of the package relies on these checks.

Values become float64 numbers or codes of levels, with NaN where missing and no infinity; classes become codes.
Open `encoding.py` first.
"""
