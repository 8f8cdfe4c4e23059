"""Trained models taken as they are: from a fitted estimator of any library to a sum of trees, without retraining."""

from tremula.smoothing.foreign.kept import keep_trees
from tremula.smoothing.foreign.model import ForeignModel
from tremula.smoothing.foreign.reading import read_model

__all__ = ["ForeignModel", "keep_trees", "read_model"]
