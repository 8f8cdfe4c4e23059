"""Answers from tables in databases, through ibis.

`batch.py` packs questions into one query, `query_forms.py` writes it, `export.py` writes an ensemble as a query.
Open `oracle.py` first.
"""
