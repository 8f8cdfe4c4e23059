"""scikit-learn's own checks, for every ensemble and for ensembles of other libraries' estimators."""

from __future__ import annotations

import inspect
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

import tremula as tm
from tremula.aspen.base import Aspen
from tremula.ensembles.base.ensemble import Ensemble
from tremula.perturb import AttributeSubset, Bootstrap, RandomSplits

FEW: dict[str, Any] = {"n_estimators": 4, "random_state": 0}
WEIGHTS_AS_ROWS = ("check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data")
DRAWS_ROWS = "which rows are drawn depends on their number, and a row of weight 2 is one row"
DRAWS_TARGETS = "each row's target is drawn: once for a row of weight 2, twice for a row given twice"

# Why weights are not the same as repeated rows.
REASONS = {
    "AdaBoostM1Classifier(resample)": DRAWS_ROWS,
    "AspenClassifier": DRAWS_ROWS,
    "AspenRegressor": DRAWS_ROWS,
    "BaggingClassifier": DRAWS_ROWS,
    "BaggingRegressor": DRAWS_ROWS,
    "DaggingClassifier": DRAWS_ROWS,
    "DecorateClassifier": "artificial rows are drawn, as many as there are rows",
    "OutputSmearingClassifier": DRAWS_TARGETS,
    "OutputSmearingRegressor": DRAWS_TARGETS,
    "PerturbCombineClassifier": DRAWS_ROWS,
    "PerturbCombineRegressor": DRAWS_ROWS,
    "RandomForestClassifier": DRAWS_ROWS,
    "RandomForestRegressor": DRAWS_ROWS,
    "SmearedBaggingClassifier": DRAWS_ROWS,
    "SmearedBaggingRegressor": DRAWS_ROWS,
    "ThreeBoostClassifier": DRAWS_ROWS,
}


def name_of(estimator: BaseEstimator) -> str:
    return type(estimator).__name__ + ("(resample)" if getattr(estimator, "resample", False) else "")


def expected_to_fail(estimator: BaseEstimator) -> dict[str, str]:
    reason = REASONS.get(name_of(estimator))
    known = dict.fromkeys(WEIGHTS_AS_ROWS, reason) if reason else {}
    if getattr(estimator, "criterion", None) == "poisson":
        known["check_regressor_multioutput"] = "its targets are below 0"
    return known


def every_ensemble() -> list[Ensemble | Aspen]:
    """One of each public ensemble, with few members and otherwise as it comes."""
    made = []
    for name in tm.__all__:
        kind = getattr(tm, name)
        if inspect.isclass(kind) and issubclass(kind, Ensemble | Aspen) and not name.startswith("PerturbCombine"):
            parameters = inspect.signature(kind).parameters
            made.append(kind(**{key: value for key, value in FEW.items() if key in parameters}))
    return made


VARIANTS = [
    tm.AdaBoostM1Classifier(resample=True, **FEW),
    tm.AdaBoostM1Classifier(GaussianNB(), **FEW),
    tm.BaggingClassifier(oob_score=True, combine="vote", **FEW),
    tm.BaggingClassifier(DecisionTreeClassifier(max_depth=3, min_weight_fraction_leaf=0.01), **FEW),
    tm.BaggingRegressor(block_length=2, **FEW),
    tm.BaggingRegressor(Ridge(), oob_score=True, n_estimators=8, random_state=0),
    tm.DecorateClassifier(LogisticRegression(), **FEW),
    tm.RandomForestRegressor(8, criterion="poisson", random_state=0),
    tm.ExtraTreesRegressor(8, "absolute_error", max_leaf_nodes=20, random_state=0),
    tm.OutputSmearingClassifier(method="smear", n_estimators=10, random_state=0),
    tm.PerturbCombineClassifier(perturb=[Bootstrap(), AttributeSubset(0.5), RandomSplits(3)], **FEW),
    tm.PerturbCombineClassifier(LogisticRegression(), [Bootstrap(0.8)], combine="vote", **FEW),
    tm.RandomForestClassifier(bootstrap="balanced", class_weight="balanced_subsample", **FEW),
    tm.PerturbCombineRegressor(DecisionTreeRegressor(), [Bootstrap(0.5, bootstrap=False)], n_jobs=2, **FEW),
]


@parametrize_with_checks([*every_ensemble(), *VARIANTS], expected_failed_checks=expected_to_fail)
def test_scikit_learns_checks(estimator: BaseEstimator, check: Any) -> None:
    check(estimator)


def test_no_exception_is_made_for_what_is_not_tested() -> None:
    assert set(REASONS) <= {name_of(estimator) for estimator in [*every_ensemble(), *VARIANTS]}
