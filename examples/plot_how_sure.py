"""
How sure a forest is
====================

A target whose noise grows from left to right, with a gap in the training rows. The forest is trained once; intervals,
quantiles and standard errors come from its trees and the rows that each of them left out.
"""

import os
import warnings

import matplotlib.pyplot as plt
import numpy as np

import tremula as tm

plt.rcParams["font.size"] = 8
QUICK = bool(os.environ.get("TREMULA_QUICK"))  # few members, to check that the script runs
N_MEMBERS, N_ROWS = (20, 150) if QUICK else (1000, 600)


def draw(n_rows, seed):
    random = np.random.default_rng(seed)
    x = random.uniform(0, 10, n_rows)
    return x[:, None], np.sin(x) + 0.15 * x * random.normal(size=n_rows)


# %%
# `Uncertainty` takes the forest and the rows that it was trained on: a model does not store them.

X, y = draw(N_ROWS, seed=0)
known = (X[:, 0] < 4) | (X[:, 0] > 5.5)
X, y = X[known], y[known]
forest = tm.RandomForestRegressor(N_MEMBERS, min_samples_leaf=15, random_state=0).fit(X, y)
uncertainty = tm.Uncertainty(forest, X, y)

# %%
# Three ways to an interval that contains 90 % of new targets. Only the widths of "scaled" follow the spread of the
# members. Quantiles describe the rows in the leaves, and a standard error the mean alone.

grid = np.linspace(0, 10, 300)[:, None]
X_test, y_test = draw(5000, seed=1)
panels = {
    '"scaled" interval': lambda rows: uncertainty.predict_interval(rows),
    '"oob" interval': lambda rows: uncertainty.predict_interval(rows, method="oob"),
    "5 % and 95 % quantiles": lambda rows: uncertainty.predict_quantiles(rows, [0.05, 0.95]),
}
figure, axes = plt.subplots(1, 4, figsize=(9, 2.6), sharex=True, sharey=True, layout="constrained", dpi=160)
middle = forest.predict(grid)
for ax, (name, bounds_of) in zip(axes, panels.items()):
    low, high = bounds_of(X_test).T
    covered = np.mean((low <= y_test) & (y_test <= high))
    ax.fill_between(grid[:, 0], *bounds_of(grid).T, color="#b9d6c2", step="mid")
    ax.set_title(f"{name}\n{covered:.1%} of new targets inside")

with warnings.catch_warnings():
    warnings.simplefilter("ignore", UserWarning)  # where there are too few members, a standard error is NaN
    errors = uncertainty.predict_std(grid)
axes[3].fill_between(grid[:, 0], middle - 1.645 * errors, middle + 1.645 * errors, color="#b9d6c2", step="mid")
axes[3].set_title("prediction ± 1.645\nstandard errors")
for ax in axes:
    ax.plot(X[:, 0], y, ".", markersize=1.5, color="#888888")
    ax.plot(grid[:, 0], middle, linewidth=1, color="#1b5e37")
    ax.set_xlabel("attribute")
axes[0].set_ylabel("target")
plt.show()

# %%
# The picture in the guide is this one.

if picture := os.environ.get("TREMULA_PICTURE"):
    figure.savefig(picture, pil_kwargs={"optimize": True})
