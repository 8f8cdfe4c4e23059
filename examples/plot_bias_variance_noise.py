"""
Bias and variance against the amount of noise
=============================================

Dual perturb and combine does not change the tree. It perturbs the row to predict, and averages the predictions of the
tree over Gaussian noise on the attributes. Here the mean is computed exactly, without sampling. How much noise is
best? The error, decomposed into bias and variance, is smallest at a moderate amount (Figures 3 and 4 of Geurts 2001).
The paper does not define its problem with two attributes, so we use our own: points are spread evenly over a square,
and the diagonal separates two classes.
"""

import os

import matplotlib.pyplot as plt
import numpy as np

import tremula as tm

QUICK = bool(os.environ.get("TREMULA_QUICK"))  # fewer models, to check that the script runs
N_ROWS, N_TEST, N_MODELS = (1500, 300, 5) if QUICK else (20_000, 2000, 50)
AMOUNTS = [0.0, 0.25, 1.5] if QUICK else [0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.75, 1.0, 1.5]

# %%
# The protocol of the paper has 50 learning sets of 500 rows from a pool of 18,000, and 2000 test rows. First comes
# the error rate: its bias and its variance both fall, and then rise again.

X = np.random.default_rng(0).uniform(-1, 1, (N_ROWS, 2))
y = (X.sum(axis=1) > 0).astype(int)
model = tm.DualPerturbClassifier(tm.CARTClassifier(), noise=0.0)
protocol = {
    "parameter": "noise",
    "values": AMOUNTS,
    "scheme": "pool",
    "n_models": N_MODELS,
    "train_size": 500,
    "test_size": N_TEST,
    "random_state": 0,
}
errors = tm.diagnostics.bias_variance_curve(model, X, y, **protocol)
display = tm.diagnostics.BiasVarianceDisplay.from_results(errors)
display.ax_.set(xlabel="amount of noise λ", ylabel="error rate and its terms")

# %%
# Then come the class probabilities (equations 11 and 12). Their variance keeps falling, since with much noise all rows
# get the same prediction. Their bias rises.

chances = tm.diagnostics.bias_variance_curve(model, X, y, loss="class_probability", **protocol)
display = tm.diagnostics.BiasVarianceDisplay.from_results(chances)
display.ax_.set(xlabel="amount of noise λ", ylabel="error of probabilities and its terms")

# %%
# The amount of least error, with 95 % intervals.

display = tm.diagnostics.NoiseCurveDisplay.from_results(errors)
display.ax_.set(xlabel="amount of noise λ", ylabel="error rate")
print(f"error {errors.error[0]:.4f} without noise, {errors.error.min():.4f} at λ = {display.chosen:g}")
plt.show()
