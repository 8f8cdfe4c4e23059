"""
Fifty fits of twenty points
===========================

The error of a learner has three parts: it is wrong on average (bias), it depends on its learning set
(variance), and the points themselves are noisy. Fifty learning sets of 20 points are drawn from x + 2
sin(1.5 x) with normal noise of standard deviation 0.2, and a line is fitted to each, as in the lecture on
variance reduction. The slides do not give the range of x; we use 0 to 10. They write the noise as N(0, 0.2); we take
0.2 as its standard deviation.
"""

import os

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LinearRegression

import tremula as tm

plt.rcParams["font.size"] = 8
QUICK = bool(os.environ.get("TREMULA_QUICK"))  # fewer models, to check that the script runs
N_SETS = 10 if QUICK else 50
N_POINTS, SPREAD = 20, 0.2


def true_value(X):
    return X[:, 0] + 2 * np.sin(1.5 * X[:, 0])


def draw(n_points, seed):
    random = np.random.default_rng(seed)
    X = random.uniform(0, 10, (n_points, 1))
    return X, true_value(X) + random.normal(0, SPREAD, n_points)


# %%
# One learning set, and the lines fitted to fifty of them. No line follows the waves: that is bias. The lines differ
# at the ends: that is variance.

grid = np.linspace(0, 10, 200)[:, None]
figure, (left, right) = plt.subplots(1, 2, figsize=(7, 2.8), sharey=True, layout="constrained", dpi=150)
X, y = draw(N_POINTS, seed=0)
left.plot(grid, true_value(grid), color="#8c8c8c", label="x + 2 sin(1.5 x)")
left.plot(X, y, "o", color="#d55e00", markersize=4, label="20 points")
left.set(xlabel="x", ylabel="y", title="a learning set")
left.legend(frameon=False)
right.plot(grid, true_value(grid), color="#8c8c8c")
for seed in range(N_SETS):
    right.plot(
        grid, LinearRegression().fit(*draw(N_POINTS, seed)).predict(grid), color="#0072b2", alpha=0.25, linewidth=0.8
    )
right.set(xlabel="x", title=f"{N_SETS} fits")

# %%
# The same in numbers, for a line, a tree, and fifty averaged trees. The true values are known here, so
# that noise and bias can be separated. The tree follows the waves, so its bias is small and its variance large.
# Averaging lowers the variance but raises the bias, so that the error hardly changes: each of the
# averaged trees has seen only about 13 distinct points, and a single tree of 13 points has more bias too.

learners = {
    "line": LinearRegression(),
    "tree": tm.CARTRegressor(),
    "bagged trees": tm.BaggingRegressor(tm.CARTRegressor(), n_estimators=N_SETS),
}
results = {
    name: tm.diagnostics.bias_variance(
        learner, draw, truth=true_value, noise=SPREAD**2, n_models=N_SETS, train_size=N_POINTS, random_state=0
    )
    for name, learner in learners.items()
}
for name, result in results.items():
    print(f"{name}: {result}\n")

# %%
# The terms sum to the squared error.

terms = {
    term: [getattr(result, term) for result in results.values()] for term in ("bias", "variance", "noise", "error")
}
display = tm.diagnostics.BiasVarianceDisplay(list(results), **terms, parameter="learner").plot()
display.ax_.set_ylabel("squared error and its terms")
plt.show()
