"""
Why a forest predicts what it does
==================================

One row of the diabetes data: which attributes push its prediction away from the mean, which training rows the forest
averages, and how the prediction moves with the attributes that push most; for the forest and for its smoothed form.
"""

import os

import matplotlib.pyplot as plt
from sklearn.datasets import load_diabetes

import tremula as tm
from tremula.diagnostics import CaseDisplay

plt.rcParams["font.size"] = 8
QUICK = bool(os.environ.get("TREMULA_QUICK"))  # few members, to check that the script runs

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
train, new = X[:400], X[400:]
forest = tm.RandomForestRegressor(10 if QUICK else 300, min_samples_leaf=3, random_state=0).fit(train, y[:400])

# %%
# Values of all new rows, and what they sum to.

explanation = tm.explain(forest, new)
print(explanation)
print("largest error of a sum:", abs(explanation.sums - forest.predict(new)).max())

# %%
# One row in three parts. The diamonds are its own values.

figure, axes = plt.subplots(2, 3, figsize=(9, 5), layout="constrained")
case = new[11:12]
CaseDisplay.from_estimator(forest, case, train, y[:400], axes=axes[0])

# %%
# Under noise of a quarter of a standard deviation the curves have no jumps, and more training rows stand behind the
# prediction, each by the probability of its leaf.

smooth = tm.DualPerturbRegressor(forest, noise=0.25).fit(train)
CaseDisplay.from_estimator(smooth, case, train, y[:400], axes=axes[1])
axes[0, 0].set_title(f"forest: {axes[0, 0].get_title()}")
axes[1, 0].set_title(f"smoothed: {axes[1, 0].get_title()}")

if picture := os.environ.get("TREMULA_PICTURE"):
    figure.savefig(picture, dpi=110)
plt.show()
