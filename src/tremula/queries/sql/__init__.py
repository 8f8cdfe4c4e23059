"""Answers from tables in databases, through ibis.

`batch.py` packs questions into one query, by whose steps (`path_walks.py`) rows find their paths; `query_forms.py`
writes it, `export.py` writes an ensemble as a query.
Open `oracle.py` first.
"""
