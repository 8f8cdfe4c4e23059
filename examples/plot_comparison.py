"""
Three ensembles and a tree on several datasets
==============================================

Which method is better, by how much, and is the difference real? C4.5 and three ensembles of it are cross-validated
on the same folds of several small datasets; then differences are tested on each dataset, and over all of them.
"""

import os

import matplotlib.pyplot as plt
from sklearn import datasets

import tremula as tm

QUICK = bool(os.environ.get("TREMULA_QUICK"))  # few members and folds: to see whether the script runs
N_MEMBERS, N_FOLDS = (3, 2) if QUICK else (25, 10)

# %%
# The datasets come with scikit-learn, or are made by it.

options = {"n_samples": 300, "random_state": 0}
data = {
    "iris": datasets.load_iris(return_X_y=True),
    "wine": datasets.load_wine(return_X_y=True),
    "breast cancer": datasets.load_breast_cancer(return_X_y=True),
    "digits (a third)": tuple(part[::3] for part in datasets.load_digits(return_X_y=True)),
    "moons": datasets.make_moons(noise=0.3, **options),
    "circles": datasets.make_circles(noise=0.2, factor=0.5, **options),
    "blobs": datasets.make_blobs(centers=4, cluster_std=2.5, **options),
    "clusters": datasets.make_classification(n_features=10, n_informative=6, n_clusters_per_class=3, **options),
}
methods = {
    "C4.5": tm.C45Classifier(),
    "bagging": tm.BaggingClassifier(n_estimators=N_MEMBERS),
    "boosting": tm.AdaBoostM1Classifier(n_estimators=N_MEMBERS),
    "randomized": tm.RandomizedC45Classifier(n_estimators=N_MEMBERS),
}
results = {name: tm.diagnostics.compare(methods, X, y, cv=N_FOLDS, random_state=0) for name, (X, y) in data.items()}

# %%
# On one dataset: a sentence for each pair, with p-values adjusted for the number of pairs. The digits were picked
# because some pairs do differ there; on moons none is shown to.

for verdict in results["digits (a third)"].verdicts():
    print(verdict)

# %%
# On each of them: a Kohavi plot. Differences are divided by the error of C4.5, and the intervals are those of the
# corrected t test.

tm.diagnostics.KohaviDisplay.from_results(results, "boosting", "bagging", baseline="C4.5")

# %%
# Wins, losses and ties of the method in the row against that in the column.

print(tm.diagnostics.win_loss_tie(results))

# %%
# Over all of them: mean ranks, and a bar over methods that Nemenyi's test does not tell apart.

ranking = tm.diagnostics.compare_over_datasets(results)
print(ranking)
tm.diagnostics.CriticalDifferenceDisplay.from_results(ranking)
plt.show()
