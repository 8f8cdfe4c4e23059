"""One module for each format: delimited text, ARFF, Parquet, tables of databases.

Each opens a `Relation` of DuckDB, which reads the columns. Open `relation.py` first.
"""
