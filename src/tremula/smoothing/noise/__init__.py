"""How much noise to add: amounts given by the user, or chosen on rows that did not train the model.

Open `choice.py` first.
"""
