"""
The boundary of a shaken tree
=============================

A tree cuts the plane into rectangles. When the case to be predicted is shaken and the answers are averaged, the
same tree has a smooth boundary; shaken too hard, it forgets where the classes are (figure 2 of Geurts 2001, on a
problem of our own: the paper does not define its one).
"""

import os

import matplotlib.pyplot as plt
import numpy as np

import tremula as tm

plt.rcParams["font.size"] = 8
QUICK = bool(os.environ.get("TREMULA_QUICK"))  # a coarse picture: to see whether the script runs
RESOLUTION = 20 if QUICK else 200

# %%
# Two classes on the two sides of a diagonal, and a tree that has to make stairs of it.

X = np.random.default_rng(1).uniform(-1, 1, (150, 2))
y = np.where(X.sum(axis=1) > 0, "full", "empty")
tree = tm.CARTClassifier().fit(X, y)

# %%
# Without noise, at the level that the paper found best for its problem, and at one too high. Pale places are
# uncertain. No draws are needed: the mean over all noise is computed.

figure, axes = plt.subplots(1, 3, figsize=(7, 2.9), sharex=True, sharey=True, layout="constrained", dpi=150)
for ax, (title, noise) in zip(axes, {"the tree": 0.0, "λ = 0.28": 0.28, "λ = 1.5": 1.5}.items()):
    model = tm.DualPerturbClassifier(tree, noise=noise).fit(X)
    tm.diagnostics.BoundaryDisplay.from_estimator(model, X, y, resolution=RESOLUTION, ax=ax, legend=False)
    ax.set(title=title, box_aspect=1)
    ax.label_outer()
    ax.axline((0, 0), slope=-1, color="#222222", linestyle=":", linewidth=1)
plt.show()
