"""What the best method of a comparison does: its predictions for held-out rows, and the cases it is least sure of.

Open `description.py` first: it puts the parts together. `held_out.py` collects the predictions of the cross-validation;
`classes.py` and `numbers.py` describe them.
"""
