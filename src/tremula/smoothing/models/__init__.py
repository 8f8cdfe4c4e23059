"""Reads fitted models of any library as sums of trees; nothing is trained again.

Open `reader.py` first: it lists who reads which model.
"""

from tremula.smoothing.models.model import TreeModel
from tremula.smoothing.models.reader import read_model
from tremula.smoothing.models.stored import store_trees

__all__ = ["TreeModel", "read_model", "store_trees"]
