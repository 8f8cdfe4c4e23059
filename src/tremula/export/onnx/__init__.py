"""Models as graphs of ONNX.

`graph.py` builds a graph, `inputs.py` reads columns, `trees.py` writes the trees, `links.py` turns their sums into
answers, and `mixtures.py` follows several branches for rows with missing values.
Open `model.py` first.
"""
