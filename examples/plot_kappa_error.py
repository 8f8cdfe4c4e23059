"""
Diversity and error of the members of three ensembles
=====================================================

Kappa-error diagrams of bagged, randomized and boosted C4.5 on ``sick``, without and with 20 % wrong labels
(Dietterich 2000). Each point is a pair of trees: their agreement beyond chance (kappa), and their mean error.
On ``sick`` randomized trees are more diverse than bagged trees, and have a somewhat higher error. Boosting has the most
diverse members; with wrong labels their error is high as well.
"""

import os

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import train_test_split

import tremula as tm
from tremula.lab.datasets import UnknownDataset, load_dataset

plt.rcParams["font.size"] = 8
QUICK = bool(os.environ.get("TREMULA_QUICK"))  # few members, to check that the script runs
N_MEMBERS = 5 if QUICK else 50
WANTED, INSTEAD, N_TRAIN = "sick", "breast-cancer-wisconsin", 2800

# %%
# The data: ``sick`` comes with 2800 training rows and 972 test rows. The paper cross-validates ensembles of 200
# members (100 for boosting); here there are 50 members and one split.

try:
    data = load_dataset(WANTED)
    train, test = np.split(np.arange(len(data.y)), [N_TRAIN])
    name = WANTED
except UnknownDataset:
    print(f"TREMULA_DATA names no folder with {WANTED}.parquet: {INSTEAD} of scikit-learn is used instead.")
    data = load_dataset(INSTEAD)
    train, test = train_test_split(np.arange(len(data.y)), test_size=0.5, stratify=data.y, random_state=0)
    name = f"{INSTEAD} (in place of {WANTED})"

# %%
# Three ensembles of unpruned trees, without and with wrong labels. As in the paper, the same share of test labels is
# wrong, so that errors below 20 % are chance.

tree = tm.C45Classifier(confidence=None, release=1)
options = {"n_estimators": N_MEMBERS, "categorical_features": list(data.nominal), "random_state": 0}
ensembles = {
    "bagged": tm.BaggingClassifier(tree, **options),
    "randomized": tm.RandomizedC45Classifier(tree, **options),
    "boosted": tm.AdaBoostM1Classifier(tree, **options),
}
figure, axes = plt.subplots(2, 3, figsize=(7, 5), sharex=True, sharey="row", layout="constrained", dpi=150)
for row, rate in zip(axes, (0.0, 0.2)):
    y = tm.diagnostics.add_class_noise(data.y, rate, random_state=0)[0] if rate else data.y
    for ax, (method, ensemble) in zip(row, ensembles.items()):
        ensemble.fit(data.X[train], y[train])
        found = tm.diagnostics.kappa_error(ensemble, data.X[test], y[test])
        tm.diagnostics.KappaErrorDisplay.from_results(found, ax=ax, marginals=False)
        ax.set(title=f"{method}, {rate:.0%} wrong labels", xlabel="kappa", ylabel="mean error")
        ax.label_outer()
        print(f"{method}, {rate:.0%} wrong labels: {found}")
figure.suptitle(name)

# %%
# A single diagram shows the distributions of kappa and error along its edges.

display = tm.diagnostics.KappaErrorDisplay.from_estimator(
    ensembles["randomized"], data.X[test], y[test], name="randomized"
)
tm.diagnostics.KappaErrorDisplay.from_estimator(
    ensembles["bagged"], data.X[test], y[test], name="bagged", color="#d55e00", ax=display.ax_
)
display.figure_.suptitle(f"{name}\n20 % wrong labels")
plt.show()
