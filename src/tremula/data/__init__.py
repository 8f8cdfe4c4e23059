"""Tables, columns and targets: what users give becomes float64 values, level codes and class codes.

Everything behind this package may trust them: checked types, NaN for missing, no infinity.
Open `encoding.py` first.
"""
