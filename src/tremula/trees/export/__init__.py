"""Exports of a fitted tree: text, Graphviz, SQL and a matplotlib figure.

`labels.py` has the texts of splits and leaves, which all of them share.
Open `text.py` first.
"""
