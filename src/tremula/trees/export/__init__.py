"""A fitted tree for people and for databases: text, Graphviz, SQL, a matplotlib figure.

`labels.py` words splits and leaves for all of them.
Open `text.py` first.
"""
