"""Studies of tremula itself, in the form of papers; ``tremula reproduce`` runs them too.

`default/` compares tremula's methods with their peers, all at default settings. Open `default/protocol.py` first.
"""
