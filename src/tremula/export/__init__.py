"""Trained models for other programs: ONNX, treelite, SQL and a page for the browser.

`model.py` reads a model, whichever library trained it. `binary_trees.py` turns its trees into binary ones, as ONNX and
treelite want them. `onnx/`, `treelite.py`, `sql/` and `page/` write them.
Open `model.py` first.
"""
