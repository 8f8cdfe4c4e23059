"""Intervals, quantiles and sets of classes for ``tremula predict``, from the rows that the model was trained on.

A model file contains no rows: they are read again from where the model says, or from where the user says, and other
rows are refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import tremula as tm
from tremula.cli.options import split_words
from tremula.data.table_schema import TableSchema
from tremula.errors import InvalidInput, InvalidParameter, counted
from tremula.lab.comparison.refit import SCHEMA_ATTRIBUTE
from tremula.lab.datasets.column import Column
from tremula.lab.datasets.dataset import Dataset
from tremula.lab.datasets.errors import UnknownDataset
from tremula.lab.datasets.reader import read_data
from tremula.lab.datasets.schema import check_names, table_of
from tremula.lab.datasets.tables import is_table, open_table

LOWER, UPPER, SET = "lower", "upper", "set"
SEPARATOR = " | "  # between the classes of a set
TRAINING = "--training"


@dataclass(frozen=True)
class UncertainAnswers:
    """What is asked for beside a prediction.

    Attributes
    ----------
    interval : float or None
        Coverage of an interval for a number.
    label_set : float or None
        Coverage of a set of classes.
    quantiles : tuple of float
    training : str or None
        Where the training rows are; None if the model says it.
    """

    interval: float | None
    label_set: float | None
    quantiles: tuple[float, ...]
    training: str | None

    @classmethod
    def of(
        cls, interval: float | None, label_set: float | None, quantiles: str | None, training: str | None
    ) -> UncertainAnswers:
        """Read the options."""
        for option, coverage in (("--interval", interval), ("--set", label_set)):
            if coverage is not None and not 0.0 < coverage < 1.0:
                raise InvalidParameter(f"{option} {coverage:g}: give a coverage between 0 and 1, such as 0.9")
        asked = cls(interval, label_set, _read_quantiles(quantiles), training)
        if training is not None and not asked.are_wanted:
            raise InvalidParameter(f"{TRAINING} is for intervals: give --interval, --quantiles or --set too")
        return asked

    @property
    def are_wanted(self) -> bool:
        """Whether anything is asked for."""
        return self.interval is not None or self.label_set is not None or bool(self.quantiles)

    @property
    def names(self) -> list[str]:
        """Names of the columns that are added."""
        bounds = [] if self.interval is None else [LOWER, UPPER]
        sets = [] if self.label_set is None else [SET]
        return [*bounds, *(f"quantile {quantile:g}" for quantile in self.quantiles), *sets]

    def ask(self, model: Any, rows: Any) -> list[list[Any]]:
        """Return the columns that are added."""
        if not self.are_wanted:
            return []
        self._check_task(model)
        uncertainty, columns = training_of(model, self.training), []
        if self.interval is not None:
            columns += uncertainty.predict_interval(rows, self.interval).T.tolist()
        if self.quantiles:
            columns += uncertainty.predict_quantiles(rows, self.quantiles).T.tolist()
        if self.label_set is not None:
            labels = list(map(str, model.classes_))
            sets = uncertainty.predict_set(rows, self.label_set)
            columns.append([SEPARATOR.join(np.array(labels, dtype=object)[each]) for each in sets])
        return columns

    def _check_task(self, model: Any) -> None:
        if hasattr(model, "classes_") and (self.interval is not None or self.quantiles):
            option = "--quantiles" if self.interval is None else "--interval"
            raise InvalidParameter(f"the model predicts classes, and {option} is for numbers: use --set")
        if not hasattr(model, "classes_") and self.label_set is not None:
            raise InvalidParameter("the model predicts numbers, and --set is for classes: use --interval")

    def judge(self, model: Any, columns: Mapping[str, Column], answers: Mapping[str, Sequence[Any]]) -> list[str]:
        """Return how often the answers contain the target, if the rows have it."""
        schema: TableSchema | None = getattr(model, SCHEMA_ATTRIBUTE, None)
        truth = columns.get(schema.target) if schema else None
        if schema is None or truth is None or truth.is_missing.all():
            return []
        is_known, sentences = ~truth.is_missing, []
        if self.interval is not None and truth.kind == "number":
            low, high = np.asarray(answers[LOWER]), np.asarray(answers[UPPER])
            sentences.append(_share("interval", (low <= truth.values) & (truth.values <= high), is_known))
        if self.label_set is not None:
            levels, codes = truth.as_levels()
            labels = np.array([*levels, ""], dtype=object)[codes]
            is_in = [str(label) in given.split(SEPARATOR) for label, given in zip(labels, answers[SET])]
            sentences.append(_share("set", np.array(is_in), is_known))
        return sentences


def _share(noun: str, is_in: Any, is_known: Any) -> str:
    share = float(np.mean(is_in[is_known]))
    return f"The {noun} contains the target in {100 * share:.1f} % of {counted(int(is_known.sum()), 'row')}."


def _read_quantiles(text: str | None) -> tuple[float, ...]:
    try:
        quantiles = tuple(float(word) for word in split_words(text))
    except ValueError as error:
        raise InvalidParameter(f"--quantiles {text}: give numbers, such as 0.05,0.5,0.95") from error
    if not all(0.0 <= quantile <= 1.0 for quantile in quantiles) or (text is not None and not quantiles):
        raise InvalidParameter(f"--quantiles {text}: give numbers between 0 and 1, such as 0.05,0.5,0.95")
    return quantiles


def training_of(model: Any, place: str | None) -> tm.Uncertainty:
    """Read the rows that a model was trained on, and return its uncertainty."""
    schema: TableSchema | None = getattr(model, SCHEMA_ATTRIBUTE, None)
    if schema is None:
        raise InvalidInput(
            "the model does not say what its columns and its target are: use a model of tremula fit or tremula "
            "compare, or tm.Uncertainty in Python"
        )
    source = schema.source if place is None else place
    try:
        dataset = _read_training(source, schema)
    except UnknownDataset as error:
        raise InvalidInput(
            f"the training rows of the model are not at {source!r}: give {TRAINING}, a file with these rows"
        ) from error
    try:
        return tm.Uncertainty(model, table_of(dataset), dataset.y)
    except InvalidInput as error:
        raise InvalidInput(f"{source} does not have the training rows of the model ({TRAINING}): {error}") from error


def _read_training(source: str, schema: TableSchema) -> Dataset:
    """Read the columns that a model was trained on, and its target."""
    if not is_table(source):
        return read_data(source, task=schema.task, fetch=False).dataset
    with open_table(source) as relation:
        check_names(relation.names, schema, relation.source)
        further = [name for name in relation.names if name not in {*schema.names, schema.target}]
    return read_data(source, schema.target, task=schema.task, drop=further).dataset
