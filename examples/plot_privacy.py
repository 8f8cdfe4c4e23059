"""
What privacy costs
==================

Simulated bagging learns from counts. A guard adds noise to every count, such that all answers together are
epsilon-differentially private, and refuses questions beyond the budget. How much accuracy remains, for how many
rows? With ten times as many rows, the same noise is a tenth as large relative to the counts.
"""

import os
import warnings

import matplotlib.pyplot as plt
import numpy as np

import tremula as tm
from tremula.errors import BudgetWarning
from tremula.queries import ArrayOracle, GuardedOracle

plt.rcParams["font.size"] = 8
QUICK = bool(os.environ.get("TREMULA_QUICK"))  # one budget, to check that the script runs
BUDGETS = [1.0] if QUICK else [0.1, 0.3, 1.0, 3.0, 10.0]
SIZES = [500] if QUICK else [1000, 10_000, 100_000]
N_REPEATS = 1 if QUICK else 3

# %%
# There are four nominal attributes. The class follows a rule of three of them, and is wrong for one row in ten.


def draw(n_rows, seed):
    random = np.random.default_rng(seed)
    X = random.integers(0, 3, (n_rows, 4)).astype(float)
    rule = (X[:, 0] + X[:, 1] > 2) | (X[:, 2] == 1)
    return X, np.where(random.random(n_rows) < 0.1, ~rule, rule).astype(int)


def accuracy(oracle):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BudgetWarning)  # trees stop growing at the end of the budget
        model = tm.SimulatedBaggingClassifier(n_estimators=20, max_depth=3, random_state=0).fit(oracle)
    return model.score(*test)


# %%
# The noise comes from the entropy of the operating system, so that nobody can reproduce it. The figure differs
# slightly in each run.

test = draw(5000, 1)
figure, ax = plt.subplots(figsize=(4.5, 3), layout="constrained", dpi=150)
for n_rows, color in zip(SIZES, ("#d55e00", "#0072b2", "#009e73")):
    oracle = ArrayOracle(*draw(n_rows, 2), categorical_features="all")
    found = [
        [accuracy(GuardedOracle(oracle, min_count=0, public="all", epsilon=budget)) for _ in range(N_REPEATS)]
        for budget in BUDGETS
    ]
    ax.plot(BUDGETS, np.mean(found, axis=1), "o-", color=color, markersize=4, label=f"{n_rows:,} rows")
    ax.axhline(accuracy(oracle), color=color, linestyle=":", linewidth=1)
ax.set(xscale="log", xlabel="privacy budget ε of the whole training", ylabel="accuracy", ylim=(None, 1))
ax.legend(frameon=False, title="dotted: without a guard", loc="lower right")
plt.show()
