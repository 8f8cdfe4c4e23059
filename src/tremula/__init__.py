"""Perturb-and-combine tree ensembles: perturb the data, the tree or the row to predict, and combine the predictions."""

from importlib.metadata import version as _version
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from tremula import diagnostics, queries
from tremula.aspen.classifier import AspenClassifier
from tremula.aspen.regressor import AspenRegressor
from tremula.ensembles.adaboost import AdaBoostM1Classifier
from tremula.ensembles.bagging import (
    BaggingClassifier,
    BaggingRegressor,
    DaggingClassifier,
    RandomSubspaceClassifier,
)
from tremula.ensembles.composed import PerturbCombineClassifier, PerturbCombineRegressor
from tremula.ensembles.decorate import DecorateClassifier
from tremula.ensembles.forest import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from tremula.ensembles.input_smearing import SmearedBaggingClassifier, SmearedBaggingRegressor
from tremula.ensembles.output_smearing import OutputSmearingClassifier, OutputSmearingRegressor
from tremula.ensembles.pruning import prune_each, prune_together
from tremula.ensembles.randomized_c45 import RandomizedC45Classifier
from tremula.ensembles.three_boost import ThreeBoostClassifier
from tremula.export.onnx.model import to_onnx
from tremula.export.page.model import to_html
from tremula.export.scikit_learn import to_sklearn
from tremula.export.sql.model import to_sql
from tremula.export.treelite import to_treelite
from tremula.persistence.archive import load, save
from tremula.queries.simulated import SimulatedBaggingClassifier, SimulatedBaggingRegressor
from tremula.smoothing.classifier import DualPerturbClassifier
from tremula.smoothing.hard_certificate import certify
from tremula.smoothing.noise.joint_tuning import tune_together
from tremula.smoothing.regressor import DualPerturbRegressor
from tremula.trees.c45 import C45Classifier
from tremula.trees.cart import CARTClassifier, CARTRegressor
from tremula.trees.id3 import ID3Classifier
from tremula.trees.m5.regressor import M5Regressor
from tremula.trees.reptree import REPTreeClassifier, REPTreeRegressor
from tremula.trees.tree import Tree

# Imported because they register storable classes, which `load` must know.
from tremula.data import table_schema as _table_schema  # noqa: F401  # isort: skip
from tremula.trees import packing as _packing  # noqa: F401  # isort: skip

__all__ = [
    "AdaBoostM1Classifier",
    "AspenClassifier",
    "AspenRegressor",
    "BaggingClassifier",
    "BaggingRegressor",
    "C45Classifier",
    "CARTClassifier",
    "CARTRegressor",
    "DaggingClassifier",
    "DecorateClassifier",
    "DualPerturbClassifier",
    "DualPerturbRegressor",
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "ID3Classifier",
    "M5Regressor",
    "OutputSmearingClassifier",
    "OutputSmearingRegressor",
    "PerturbCombineClassifier",
    "PerturbCombineRegressor",
    "REPTreeClassifier",
    "REPTreeRegressor",
    "RandomForestClassifier",
    "RandomForestRegressor",
    "RandomSubspaceClassifier",
    "RandomizedC45Classifier",
    "SimulatedBaggingClassifier",
    "SimulatedBaggingRegressor",
    "SmearedBaggingClassifier",
    "SmearedBaggingRegressor",
    "ThreeBoostClassifier",
    "Tree",
    "Uncertainty",
    "certify",
    "diagnostics",
    "explain",
    "load",
    "proximity",
    "prune_each",
    "prune_together",
    "queries",
    "row_weights",
    "save",
    "to_html",
    "to_onnx",
    "to_sklearn",
    "to_sql",
    "to_treelite",
    "tune_together",
]

__version__ = _version("tremula")

if _TYPE_CHECKING:
    from tremula.explanations.explain import explain
    from tremula.explanations.proximity import proximity
    from tremula.explanations.row_weights import row_weights
    from tremula.uncertainty.uncertainty import Uncertainty

_MODULE_OF = {
    "Uncertainty": "tremula.uncertainty.uncertainty",
    "explain": "tremula.explanations.explain",
    "proximity": "tremula.explanations.proximity",
    "row_weights": "tremula.explanations.row_weights",
}


def __getattr__(name: str) -> _Any:
    """Import on first use what training and predicting do not need, so that ``import tremula`` stays fast."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_MODULE_OF[name]), name)
