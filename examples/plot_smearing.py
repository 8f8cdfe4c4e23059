"""
Noise in the training rows
==========================

Input smearing is bagging with noise on every attribute value. The amount of noise is chosen on out-of-bag rows. The
figures show the predictions of bagging and smearing at an oblique boundary, and the loss at each amount for data where
noise helps and for data where it hurts.
"""

import os

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer, load_wine

import tremula as tm

plt.rcParams["font.size"] = 8
QUICK = bool(os.environ.get("TREMULA_QUICK"))  # fewer members, to check that the script runs
N_MEMBERS = 10 if QUICK else 100


def slant(n_rows, seed):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_rows, 2))
    return X, (X[:, 0] + X[:, 1] + random.normal(0, 0.3, n_rows) > 0).astype(int)


def stripes(n_rows, seed):
    random = np.random.default_rng(seed)
    X = random.uniform(0, 20, size=(n_rows, 1)).round()
    return X, (X[:, 0] % 2).astype(int)


# %%
# Trees test one attribute at a time, so an oblique boundary becomes a staircase. Bagging makes its steps finer. Noise
# makes them finer still, since the steps of each member are elsewhere.

X, y = slant(200, 0)
grid = np.linspace(-2.5, 2.5, 80 if QUICK else 200)
points = np.column_stack([each.ravel() for each in np.meshgrid(grid, grid)])
figure, axes = plt.subplots(1, 2, figsize=(7, 3.4), sharey=True, layout="constrained")
for ax, noise in zip(axes, (0.0, 0.3)):
    model = tm.SmearedBaggingClassifier(noise=noise, n_estimators=N_MEMBERS, random_state=0).fit(X, y)
    shares = model.predict_proba(points)[:, 1].reshape(len(grid), len(grid))
    ax.contourf(grid, grid, shares, levels=11, cmap="RdBu", alpha=0.7)
    ax.contour(grid, grid, shares, levels=[0.5], colors="black")
    ax.scatter(*X.T, c=y, cmap="RdBu", s=8, edgecolors="black", linewidths=0.3)
    ax.set(xlim=(-2.5, 2.5), ylim=(-2.5, 2.5))
    ax.set_title(f"noise {noise:g}" if noise else "no noise: bagging")

# %%
# The curve of losses on out-of-bag rows. Noise helps where classes change slowly. Where the class alternates between
# whole numbers, any noise hurts, and the chosen amount is 0.

problems = {
    "oblique boundary": slant(300, 1),
    "stripes": stripes(300, 1),
    "wine": load_wine(return_X_y=True),
    "breast cancer": load_breast_cancer(return_X_y=True),
}
figure, ax = plt.subplots(figsize=(5, 3.4), layout="constrained")
for name, (X, y) in problems.items():
    options = {"n_estimators": N_MEMBERS, "search": "grid", "random_state": 0}
    model = tm.SmearedBaggingClassifier(**options).fit(X, y)
    curve = model.noise_curve_
    (line,) = ax.plot(curve.amounts, 100 * curve.losses, marker=".", label=f"{name}: {model.noise_:g}")
    ax.plot(model.noise_, 100 * curve.losses.min(), marker="o", color=line.get_color())
ax.set(xlabel="amount of noise, in standard deviations", ylabel="out-of-bag error in percent", yscale="symlog")
ax.legend(title="chosen amount")
plt.show()
