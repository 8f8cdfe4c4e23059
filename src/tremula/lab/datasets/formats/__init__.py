"""One reader for each format: delimited text, ARFF, Parquet, tables of a database.

A reader returns the columns as the file holds them; nothing is encoded here.
Open `delimited.py` first.
"""
