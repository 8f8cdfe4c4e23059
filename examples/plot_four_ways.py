"""
One tree, and three ways to perturb it
======================================

A curve separates two classes; there are 200 training points and 20,000 test points. The boundary of one tree has
corners. If the rows to predict are perturbed, the boundary of the same tree is smooth, without training again. Bagging
perturbs the rows, and input smearing the rows and their values.
"""

import os

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

import tremula as tm

plt.rcParams["font.size"] = 8
QUICK = bool(os.environ.get("TREMULA_QUICK"))  # few members, a coarse picture, to check that the script runs
N_MEMBERS, RESOLUTION = (5, 20) if QUICK else (100, 200)

# %%
# Every choice is made on the training rows: the noise of the smoothed tree on held-out folds, the amount of smearing
# on out-of-bag rows.

X, y = make_moons(200, noise=0.3, random_state=1)
X_test, y_test = make_moons(2000 if QUICK else 20_000, noise=0.3, random_state=2)
tree = tm.CARTClassifier()
models = {
    "one tree": tree,
    "the tree, smoothed": tm.DualPerturbClassifier(tree, random_state=0),
    "bagging": tm.BaggingClassifier(tree, n_estimators=N_MEMBERS, random_state=0),
    "input smearing": tm.SmearedBaggingClassifier(n_estimators=N_MEMBERS, random_state=0),
}

# %%
# Predictions are uncertain where colours are pale.

figure, axes = plt.subplots(1, 4, figsize=(9, 2.75), sharex=True, sharey=True, layout="constrained", dpi=160)
for ax, (name, model) in zip(axes, models.items()):
    error = np.mean(model.fit(X, y).predict(X_test) != y_test)
    tm.diagnostics.BoundaryDisplay.from_estimator(model, X, y, resolution=RESOLUTION, ax=ax, legend=False)
    ax.set(title=f"{name}\n{error:.1%} wrong", box_aspect=1, xticks=[], yticks=[], xlabel="", ylabel="")
plt.show()

# %%
# The picture in the README is this one.

if picture := os.environ.get("TREMULA_PICTURE"):
    figure.savefig(picture)
