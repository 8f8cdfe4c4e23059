"""Trained models taken as they are: from a fitted estimator of any library to a sum of trees, without retraining."""

from tremula.smoothing.models.model import TreeModel
from tremula.smoothing.models.reader import read_model
from tremula.smoothing.models.stored import store_trees

__all__ = ["TreeModel", "read_model", "store_trees"]
