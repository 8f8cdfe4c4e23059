"""The command line: reads options, calls the other packages, and prints tables or writes files.

Each command has a file of its own, such as `compare.py`; `options.py` has the options that commands share.
Open `main.py` first.
"""
