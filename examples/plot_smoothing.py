"""
How much noise to use, and how far a row may move
=================================================

One tree on the two-norm problem, whose boundary is an oblique plane in 20 dimensions. Left: the error on validation
rows, which choose the noise, and on test rows, against the amount of noise. Right: the smoothed prediction of a
regression tree, and its range if the row moves by half a standard deviation of the noise.
"""

import os

import matplotlib.pyplot as plt
import numpy as np

import tremula as tm
from tremula.lab.datasets.generators import sine_points, sine_value, two_norm

plt.rcParams["font.size"] = 8
QUICK = bool(os.environ.get("TREMULA_QUICK"))
N_ROWS, N_TEST = (150, 200) if QUICK else (1000, 5000)

# %%
# A tree, and noise chosen by the errors on validation rows. Forests and boosted trees are smoothed in the same way.

growing, validation, test = (two_norm(n, seed) for n, seed in ((N_ROWS, 1), (N_ROWS, 2), (N_TEST, 3)))
tree = tm.CARTClassifier(criterion="symmetric_uncertainty").fit(growing.X, growing.y)
soft = tm.DualPerturbClassifier(tree, scoring="error").fit(growing.X, X_val=validation.X, y_val=validation.y)
for model in (tree, soft):
    print(f"{type(model).__name__}: {1 - model.score(test.X, test.y):.1%} wrong")

amounts = np.linspace(0, 2, 4 if QUICK else 21)
errors = [1 - tm.DualPerturbClassifier(tree, noise=n).fit(growing.X).score(test.X, test.y) for n in amounts]

# %%
# A regression tree on a sine wave: the steps become a curve, and the certificate bounds its slope.

wave = sine_points(120, 1)
steps = tm.CARTRegressor(min_samples_leaf=4).fit(wave.X, wave.y)
curve = tm.DualPerturbRegressor(steps, noise=0.08).fit(wave.X)
line = np.linspace(0, 10, 400)[:, None]
low, high = curve.certified_interval(line, radius=0.5)

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(7, 2.9), layout="constrained", dpi=150)
left.plot(amounts, 100 * np.array(errors), color="#0072b2", label="test rows")
left.plot(soft.noise_curve_[:, 0], 100 * soft.noise_curve_[:, 1], "o", color="#e69f00", ms=3, label="validation rows")
left.axvline(soft.noise_, color="#222222", linestyle=":", linewidth=1)
left.set(xlabel="amount of noise λ", ylabel="error, %", ylim=(0, None), title="one tree on two-norm")
left.legend(frameon=False)
right.plot(line, sine_value(line), color="#8c8c8c", linestyle=":", label="truth")
right.step(line[:, 0], steps.predict(line), color="#0072b2", linewidth=0.8, label="the tree")
right.plot(line, curve.predict(line), color="#d55e00", label="λ = 0.08")
right.fill_between(line[:, 0], low, high, color="#d55e00", alpha=0.2, label="half a deviation away", linewidth=0)
right.set(xlabel="x", title="a regression tree")
right.legend(frameon=False)
plt.show()
