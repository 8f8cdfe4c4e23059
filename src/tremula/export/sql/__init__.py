"""Models as SQL queries.

`trees.py` writes trees as expressions, `links.py` what is done with their sums.
Open `model.py` first.
"""
