"""The methods that can be compared: a short name and how to build the estimator for a dataset.

A new method is one row of `METHODS`.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from tremula import (
    AdaBoostM1Classifier,
    BaggingClassifier,
    C45Classifier,
    CARTClassifier,
    ID3Classifier,
    RandomForestClassifier,
    RandomizedC45Classifier,
    REPTreeClassifier,
)
from tremula.errors import TremulaError, did_you_mean


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
        What tables and figures call it.
    build : callable
        ``build(nominal, seed)`` gives a fresh estimator, told which attributes are nominal.
    usual : bool
        Whether it takes part when no methods are named.
    """

    name: str
    label: str
    build: Callable[[Sequence[int], int], Any]
    usual: bool = True


def _learner(estimator_class: Callable[..., Any], **options: Any) -> Callable[[Sequence[int], int], Any]:
    """Build one of tremula's learners with the options that make it this method."""

    def build(nominal: Sequence[int], seed: int) -> Any:
        estimator = estimator_class(**options, categorical_features=list(nominal) or "from_dtype")
        return estimator.set_params(random_state=seed) if hasattr(estimator, "random_state") else estimator

    return build


def _scikit_learn_tree(nominal: Sequence[int], seed: int) -> Any:
    """Build scikit-learn's tree; it knows numbers only, so nominal attributes become one column a level."""
    tree = DecisionTreeClassifier(criterion="entropy", random_state=seed)
    if not nominal:
        return tree
    levels = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    return make_pipeline(make_column_transformer((levels, list(nominal)), remainder="passthrough"), tree)


SYMMETRIC_UNCERTAINTY = {"criterion": "symmetric_uncertainty", "ccp_alpha": "cv"}

METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method("c45", "C4.5", _learner(C45Classifier)),
        Method("c45-unpruned", "C4.5, unpruned", _learner(C45Classifier, confidence=None)),
        Method("c45-release1", "C4.5, release 1", _learner(C45Classifier, release=1)),
        Method("j48", "J48, Weka's C4.5", _learner(C45Classifier, release="J48"), usual=False),
        Method("c45-randomized", "C4.5, one of 20 best splits", _learner(C45Classifier, n_best_splits=20), usual=False),
        Method("reptree", "REPTree", _learner(REPTreeClassifier)),
        Method("reptree-unpruned", "REPTree, unpruned", _learner(REPTreeClassifier, prune=False)),
        Method("cart", "CART, entropy", _learner(CARTClassifier, criterion="entropy", ccp_alpha="cv")),
        Method("cart-unpruned", "CART, entropy, unpruned", _learner(CARTClassifier, criterion="entropy")),
        Method("cart-su", "CART, symmetric uncertainty", _learner(CARTClassifier, **SYMMETRIC_UNCERTAINTY)),
        Method("id3", "ID3 (nominal attributes only)", _learner(ID3Classifier), usual=False),
        Method("bagging", "bagging of 50 C4.5 trees", _learner(BaggingClassifier, n_estimators=50)),
        Method("adaboost", "AdaBoost.M1 of 50 C4.5 trees", _learner(AdaBoostM1Classifier, n_estimators=50)),
        Method("randomized", "50 randomized C4.5 trees", _learner(RandomizedC45Classifier, n_estimators=50)),
        Method("random-forest", "random forest of 50 trees", _learner(RandomForestClassifier, n_estimators=50)),
        Method("sklearn", "scikit-learn's tree, entropy", _scikit_learn_tree),
    )
}


def choose_methods(names: Iterable[str] = ()) -> list[Method]:
    """Look methods up by their short names; no names are the usual ones.

    Examples
    --------
    >>> from tremula.lab.methods import choose_methods
    >>> [method.label for method in choose_methods(["c45", "reptree"])]
    ['C4.5', 'REPTree']
    """
    wanted = list(dict.fromkeys(names))
    for name in wanted:
        if name not in METHODS:
            hint = did_you_mean(name, METHODS) or ": give some of these, separated by commas"
            raise UnknownMethod(f"no method {name!r} (there are {', '.join(METHODS)}){hint}")
    return [METHODS[name] for name in wanted] or [method for method in METHODS.values() if method.usual]
