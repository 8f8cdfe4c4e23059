"""Answers from tables in databases, through ibis.

`working_table.py` counts from a temporary table of the session. Where that is not allowed, `batch.py` packs questions
into one query, by whose steps (`path_walks.py`) rows find their paths, and `query_forms.py` and `cell_lists.py` write
it. `siblings.py` says what needs no query, `export.py` writes an ensemble as a query. Open `oracle.py` first.
"""
