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
from scipy.stats import norm
from scipy.stats.qmc import Sobol
from sklearn.base import BaseEstimator, ClassifierMixin

import tremula as tm

plt.rcParams["font.size"] = 8
QUICK = bool(os.environ.get("TREMULA_QUICK"))  # a coarse picture: to see whether the script runs
RESOLUTION, N_DRAWS = (20, 8) if QUICK else (200, 256)

# %%
# Two classes on the two sides of a diagonal, and a tree that has to make stairs of it.

X = np.random.default_rng(1).uniform(-1, 1, (150, 2))
y = np.where(X.sum(axis=1) > 0, "full", "empty")
tree = tm.CARTClassifier().fit(X, y)


class Shaken(ClassifierMixin, BaseEstimator):
    """A fitted classifier whose answers are averaged over shaken copies of each case."""

    def __init__(self, model, noise):
        self.model = model
        self.noise = noise

    @property
    def classes_(self):
        return self.model.classes_

    def predict_proba(self, X_asked):
        # Points spread evenly over the square become normal noise without the roughness of chance.
        even = (Sobol(2, scramble=False).random(N_DRAWS) + 0.5 / N_DRAWS) % 1
        shifts = norm.ppf(even) * self.noise * X.std(axis=0)
        return sum(self.model.predict_proba(X_asked + shift) for shift in shifts) / N_DRAWS

    def predict(self, X_asked):
        return self.classes_[self.predict_proba(X_asked).argmax(axis=1)]


# %%
# Without noise, at the level that the paper found best for its problem, and at one too high. Pale places are
# uncertain.

models = {"the tree": tree, "λ = 0.28": Shaken(tree, 0.28), "λ = 1.5": Shaken(tree, 1.5)}
figure, axes = plt.subplots(1, 3, figsize=(7, 2.9), sharex=True, sharey=True, layout="constrained", dpi=150)
for ax, (title, model) in zip(axes, models.items()):
    tm.diagnostics.BoundaryDisplay.from_estimator(model, X, y, resolution=RESOLUTION, ax=ax, legend=False)
    ax.set(title=title, box_aspect=1)
    ax.label_outer()
    ax.axline((0, 0), slope=-1, color="#222222", linestyle=":", linewidth=1)
plt.show()
