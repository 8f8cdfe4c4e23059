"""Perturb-and-combine tree ensembles: perturb the data, the tree or the row to predict, and combine the predictions.

Names are imported on first use, so that ``import tremula`` and ``tremula --help`` wait for no other library. This file
imports nothing else either: before it was read, Ctrl-C cannot be caught.
"""

from importlib import import_module as _import_module

TYPE_CHECKING = False  # type checkers take it for true; the module `typing` takes long to import

if TYPE_CHECKING:
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
    from tremula.ensembles.extra_trees import ExtraTreesClassifier, ExtraTreesRegressor
    from tremula.ensembles.forest import RandomForestClassifier, RandomForestRegressor
    from tremula.ensembles.imitation import imitate
    from tremula.ensembles.input_smearing import SmearedBaggingClassifier, SmearedBaggingRegressor
    from tremula.ensembles.output_smearing import OutputSmearingClassifier, OutputSmearingRegressor
    from tremula.ensembles.pruning import prune_each, prune_together
    from tremula.ensembles.randomized_c45 import RandomizedC45Classifier
    from tremula.ensembles.three_boost import ThreeBoostClassifier
    from tremula.explanations.explain import explain
    from tremula.explanations.leaf_distribution import leaf_distribution
    from tremula.explanations.proximity import proximity
    from tremula.explanations.row_weights import row_weights
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
    from tremula.uncertainty.uncertainty import Uncertainty

# The module of each public name.
MODULE_OF = {
    "AdaBoostM1Classifier": "ensembles.adaboost",
    "AspenClassifier": "aspen.classifier",
    "AspenRegressor": "aspen.regressor",
    "BaggingClassifier": "ensembles.bagging",
    "BaggingRegressor": "ensembles.bagging",
    "C45Classifier": "trees.c45",
    "CARTClassifier": "trees.cart",
    "CARTRegressor": "trees.cart",
    "DaggingClassifier": "ensembles.bagging",
    "DecorateClassifier": "ensembles.decorate",
    "DualPerturbClassifier": "smoothing.classifier",
    "DualPerturbRegressor": "smoothing.regressor",
    "ExtraTreesClassifier": "ensembles.extra_trees",
    "ExtraTreesRegressor": "ensembles.extra_trees",
    "ID3Classifier": "trees.id3",
    "M5Regressor": "trees.m5.regressor",
    "OutputSmearingClassifier": "ensembles.output_smearing",
    "OutputSmearingRegressor": "ensembles.output_smearing",
    "PerturbCombineClassifier": "ensembles.composed",
    "PerturbCombineRegressor": "ensembles.composed",
    "REPTreeClassifier": "trees.reptree",
    "REPTreeRegressor": "trees.reptree",
    "RandomForestClassifier": "ensembles.forest",
    "RandomForestRegressor": "ensembles.forest",
    "RandomSubspaceClassifier": "ensembles.bagging",
    "RandomizedC45Classifier": "ensembles.randomized_c45",
    "SimulatedBaggingClassifier": "queries.simulated",
    "SimulatedBaggingRegressor": "queries.simulated",
    "SmearedBaggingClassifier": "ensembles.input_smearing",
    "SmearedBaggingRegressor": "ensembles.input_smearing",
    "ThreeBoostClassifier": "ensembles.three_boost",
    "Tree": "trees.tree",
    "Uncertainty": "uncertainty.uncertainty",
    "certify": "smoothing.hard_certificate",
    "explain": "explanations.explain",
    "imitate": "ensembles.imitation",
    "load": "persistence.archive",
    "proximity": "explanations.proximity",
    "prune_each": "ensembles.pruning",
    "prune_together": "ensembles.pruning",
    "leaf_distribution": "explanations.leaf_distribution",
    "row_weights": "explanations.row_weights",
    "save": "persistence.archive",
    "to_html": "export.page.model",
    "to_onnx": "export.onnx.model",
    "to_sklearn": "export.scikit_learn",
    "to_sql": "export.sql.model",
    "to_treelite": "export.treelite",
    "tune_together": "smoothing.noise.joint_tuning",
}
# They register further classes that a file may hold.
STORABLE_MODULES = ("data.table_schema", "trees.packing")
PACKAGES = (
    "aspen",
    "cli",
    "data",
    "diagnostics",
    "ensembles",
    "explanations",
    "export",
    "lab",
    "parameters",
    "persistence",
    "perturb",
    "queries",
    "report",
    "smoothing",
    "trees",
    "uncertainty",
)

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
    "imitate",
    "leaf_distribution",
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


def __getattr__(name: str) -> "_Any":
    """Import a public name, or a package, on first use."""
    if name == "__version__":
        return _import_module("importlib.metadata").version(__name__)
    if name in PACKAGES:
        return _import_module(f"{__name__}.{name}")
    if name not in MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    named = getattr(_import_module(f"{__name__}.{MODULE_OF[name]}"), name)
    globals()[name] = named
    return named


def __dir__() -> list[str]:
    return [*__all__, *PACKAGES, "__version__"]
