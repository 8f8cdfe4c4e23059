"""The methods that can be compared: a short name and how to build the estimator for a dataset.

A new method is one row of `METHODS` (classes) or of `REGRESSION_METHODS` (numbers); other libraries are in `peers`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from tremula import (
    AdaBoostM1Classifier,
    AspenClassifier,
    AspenRegressor,
    BaggingClassifier,
    BaggingRegressor,
    C45Classifier,
    CARTClassifier,
    CARTRegressor,
    DualPerturbClassifier,
    DualPerturbRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    ID3Classifier,
    M5Regressor,
    OutputSmearingClassifier,
    OutputSmearingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    RandomizedC45Classifier,
    REPTreeClassifier,
    REPTreeRegressor,
    SmearedBaggingClassifier,
    SmearedBaggingRegressor,
)
from tremula.errors import TremulaError, did_you_mean

Build = Callable[[Sequence[int], int], Any]
N_MEMBERS = 50  # of every ensemble: what is compared is the way they are made, not their size


class UnknownMethod(TremulaError, LookupError):
    """No method of the given name."""


@dataclass(frozen=True)
class Method:
    """One way to learn.

    Attributes
    ----------
    name : str
        The short name, as given to ``tremula compare --methods``.
    label : str
        What tables, figures and sentences call it.
    build : callable
        ``build(nominal, seed)`` gives a fresh estimator, told which attributes are nominal.
    usual : bool
        Whether it takes part when no methods are named.
    library : str
        Where it comes from.
    family : {'tree', 'ensemble', 'peer'}
    """

    name: str
    label: str
    build: Build
    usual: bool = False
    library: str = "tremula"
    family: str = "ensemble"


def learner(estimator_class: Callable[..., Any], **options: Any) -> Build:
    """Build one of tremula's learners with the options that make it this method."""

    def build(nominal: Sequence[int], seed: int) -> Any:
        estimator = estimator_class(**options, categorical_features=list(nominal) or "from_dtype")
        return estimator.set_params(random_state=seed) if hasattr(estimator, "random_state") else estimator

    return build


def _softened(wrapper: Callable[..., Any], build: Build) -> Build:
    """Build dual perturb and combine around another method."""
    return lambda nominal, seed: wrapper(build(nominal, seed), random_state=seed)


def one_hot(build: Callable[[int], Any]) -> Build:
    """Build an estimator that knows numbers only: nominal attributes become one column a level."""

    def build_pipeline(nominal: Sequence[int], seed: int) -> Any:
        if not nominal:
            return build(seed)
        levels = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
        return make_pipeline(make_column_transformer((levels, list(nominal)), remainder="passthrough"), build(seed))

    return build_pipeline


def _fifty(estimator_class: Callable[..., Any]) -> Build:
    """Build an ensemble of as many members as all others have."""
    return learner(estimator_class, n_estimators=N_MEMBERS)


def _by_name(*methods: Method) -> dict[str, Method]:
    return {method.name: method for method in methods}


SYMMETRIC_UNCERTAINTY = {"criterion": "symmetric_uncertainty", "ccp_alpha": "cv"}
FOREST, REGRESSION_FOREST = _fifty(RandomForestClassifier), _fifty(RandomForestRegressor)

METHODS: dict[str, Method] = _by_name(
    Method("aspen", "Aspen", learner(AspenClassifier), usual=True),
    Method("smeared-bagging", "smeared bagging", _fifty(SmearedBaggingClassifier), usual=True),
    Method("softened-forest", "dual-perturbed forest", _softened(DualPerturbClassifier, FOREST), usual=True),
    Method("random-forest", "random forest", FOREST, usual=True),
    Method("extra-trees", "extra trees", _fifty(ExtraTreesClassifier), usual=True),
    Method("bagging", "bagging", _fifty(BaggingClassifier), usual=True),
    Method("adaboost", "AdaBoost.M1", _fifty(AdaBoostM1Classifier)),
    Method("randomized", "randomized C4.5", _fifty(RandomizedC45Classifier)),
    Method("output-flipping", "output flipping", _fifty(OutputSmearingClassifier)),
    Method("c45", "C4.5", learner(C45Classifier), usual=True, family="tree"),
    Method("c45-unpruned", "C4.5, unpruned", learner(C45Classifier, confidence=None), family="tree"),
    Method("c45-release1", "C4.5, release 1", learner(C45Classifier, release=1), family="tree"),
    Method("j48", "J48, Weka's C4.5", learner(C45Classifier, release="J48"), family="tree"),
    Method("c45-randomized", "C4.5, one of 20 best splits", learner(C45Classifier, n_best_splits=20), family="tree"),
    Method("reptree", "REPTree", learner(REPTreeClassifier), family="tree"),
    Method("reptree-unpruned", "REPTree, unpruned", learner(REPTreeClassifier, prune=False), family="tree"),
    Method("cart", "CART, entropy", learner(CARTClassifier, criterion="entropy", ccp_alpha="cv"), family="tree"),
    Method("cart-unpruned", "CART, entropy, unpruned", learner(CARTClassifier, criterion="entropy"), family="tree"),
    Method("cart-su", "CART, symmetric uncertainty", learner(CARTClassifier, **SYMMETRIC_UNCERTAINTY), family="tree"),
    Method("id3", "ID3 (nominal attributes only)", learner(ID3Classifier), family="tree"),
    Method(
        "sklearn-tree",
        "sklearn tree",
        one_hot(lambda seed: DecisionTreeClassifier(random_state=seed)),
        library="scikit-learn",
        family="peer",
    ),
)

REGRESSION_METHODS: dict[str, Method] = _by_name(
    Method("aspen", "Aspen", learner(AspenRegressor), usual=True),
    Method("smeared-bagging", "smeared bagging", _fifty(SmearedBaggingRegressor), usual=True),
    Method("softened-forest", "dual-perturbed forest", _softened(DualPerturbRegressor, REGRESSION_FOREST), usual=True),
    Method("random-forest", "random forest", REGRESSION_FOREST, usual=True),
    Method("extra-trees", "extra trees", _fifty(ExtraTreesRegressor), usual=True),
    Method("bagging", "bagging", _fifty(BaggingRegressor), usual=True),
    Method("output-smearing", "output smearing", _fifty(OutputSmearingRegressor)),
    Method("m5", "M5 model tree", learner(M5Regressor), usual=True, family="tree"),
    Method("reptree", "REPTree", learner(REPTreeRegressor), family="tree"),
    Method("reptree-unpruned", "REPTree, unpruned", learner(REPTreeRegressor, prune=False), family="tree"),
    Method("cart", "CART", learner(CARTRegressor, ccp_alpha="cv"), usual=True, family="tree"),
    Method("cart-unpruned", "CART, unpruned", learner(CARTRegressor), family="tree"),
    Method(
        "sklearn-tree",
        "sklearn tree",
        one_hot(lambda seed: DecisionTreeRegressor(random_state=seed)),
        library="scikit-learn",
        family="peer",
    ),
)

METHODS_OF: Mapping[str, Mapping[str, Method]] = {"classification": METHODS, "regression": REGRESSION_METHODS}


def choose_methods(names: Iterable[str] = (), task: str = "classification") -> list[Method]:
    """Return methods by their names, or the default methods if no name is given.

    Parameters
    ----------
    names : iterable of str, default=()
        Names of methods; duplicates are ignored.
    task : {'classification', 'regression'}, default='classification'
        The task.

    Returns
    -------
    list of Method

    Examples
    --------
    >>> from tremula.lab.comparison.methods import choose_methods
    >>> [method.label for method in choose_methods(["c45", "reptree"])]
    ['C4.5', 'REPTree']
    >>> [method.label for method in choose_methods(["m5"], task="regression")]
    ['M5 model tree']
    """
    known = METHODS_OF[task]
    wanted = list(dict.fromkeys(names))
    for name in wanted:
        if name not in known:
            raise UnknownMethod(_unknown(name, task))
    return [known[name] for name in wanted] or [method for method in known.values() if method.usual]


def _unknown(name: str, task: str) -> str:
    known = METHODS_OF[task]
    for other, methods in METHODS_OF.items():
        if name in methods and other != task:
            return f"method {name!r} is for {other}, but this is {task} (there are {', '.join(known)}): give others"
    hint = did_you_mean(name, known) or ": give some of these, comma-separated"
    return f"no method {name!r} for {task} (there are {', '.join(known)}){hint}"
