"""Figures of the diagnostics; matplotlib is imported when something is drawn.

Each figure has a file of its own; `style.py` has what they share: sizes, fonts and colours.
Open `critical_difference.py` first.
"""
