"""
The boundary of a smoothed tree
===============================

A tree divides the plane into rectangles. If the row to predict is perturbed and the predictions are averaged, the
same tree has a smooth boundary. With too much noise the boundary is lost (Figure 2 of Geurts 2001; the problem is our
own, since the paper does not define its problem).
"""

import os

import matplotlib.pyplot as plt
import numpy as np

import tremula as tm

plt.rcParams["font.size"] = 8
QUICK = bool(os.environ.get("TREMULA_QUICK"))  # a coarse picture, to check that the script runs
RESOLUTION = 20 if QUICK else 200

# %%
# A diagonal separates two classes. The tree approximates it by a staircase.

X = np.random.default_rng(1).uniform(-1, 1, (150, 2))
y = np.where(X.sum(axis=1) > 0, "full", "empty")
tree = tm.CARTClassifier().fit(X, y)

# %%
# Without noise, with the amount that the paper found best for its problem, and with too much. Predictions are
# uncertain where colours are pale. The mean over the noise is computed exactly, without sampling.

figure, axes = plt.subplots(1, 3, figsize=(7, 2.9), sharex=True, sharey=True, layout="constrained", dpi=150)
for ax, (title, noise) in zip(axes, {"the tree": 0.0, "λ = 0.28": 0.28, "λ = 1.5": 1.5}.items()):
    model = tm.DualPerturbClassifier(tree, noise=noise).fit(X)
    tm.diagnostics.BoundaryDisplay.from_estimator(model, X, y, resolution=RESOLUTION, ax=ax, legend=False)
    ax.set(title=title, box_aspect=1)
    ax.label_outer()
    ax.axline((0, 0), slope=-1, color="#222222", linestyle=":", linewidth=1)
plt.show()
