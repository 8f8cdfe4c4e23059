"""Reports: results as one plain dict, and the dict as a page.

`summary.py` makes the dict, `page.py` renders it with `templates/`, `ranking_charts.py` and others draw charts.
Open `summary.py` first.
"""
