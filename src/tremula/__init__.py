"""Perturb-and-combine tree ensembles: shake the data, the tree or the case to be predicted, and combine the answers."""

from importlib.metadata import version as _version

from tremula.trees.c45 import C45Classifier
from tremula.trees.cart import CARTClassifier, CARTRegressor
from tremula.trees.id3 import ID3Classifier
from tremula.trees.reptree import REPTreeClassifier, REPTreeRegressor
from tremula.trees.tree import Tree

__all__ = [
    "C45Classifier",
    "CARTClassifier",
    "CARTRegressor",
    "ID3Classifier",
    "REPTreeClassifier",
    "REPTreeRegressor",
    "Tree",
]

__version__ = _version("tremula")
