"""Trained models taken as they are: from a fitted estimator of any library to a sum of trees, without retraining."""

from tremula.smoothing.models.model import ForeignModel
from tremula.smoothing.models.reader import read_model
from tremula.smoothing.models.stored import keep_trees

__all__ = ["ForeignModel", "keep_trees", "read_model"]
