"""Answers from arrays in memory: values are coded as numbers, and a compiled loop counts them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import type_of_target

import tremula._kernels.counts as kernel
from tremula.data.encoding import ColumnEncoder
from tremula.data.names import attribute_names
from tremula.data.target import read_classes, read_target
from tremula.errors import InvalidInput
from tremula.parameters import check_choice, check_number
from tremula.queries.contributions import check_bounds, limit_table, places_on_grid
from tremula.queries.domains import check_cuts, check_domain_names, describe_stated, stated_levels
from tremula.queries.oracle import MOST_BINS
from tremula.queries.question import EVERYWHERE, Attribute, Path, Question, Schema, is_within, joint_shape

CODE_TYPES = (np.uint8, np.uint16, np.int32)
DEFAULT_BINS = 32
TASKS = ("auto", "classification", "regression")


def quantile_cuts(values: NDArray[np.float64], n_bins: int) -> tuple[float, ...]:
    """Return cuts between `n_bins` bins of about equally many known values; fewer if there are few distinct values.

    Examples
    --------
    >>> quantile_cuts(np.array([1.0, 2.0, 3.0, 4.0, np.nan]), 2)
    (2.0,)
    """
    distinct, counts = np.unique(values[~np.isnan(values)], return_counts=True)
    if not len(distinct):
        return ()
    # The j-th cut is the smallest value such that at least j / n_bins of the rows do not exceed it.
    cumulative = np.cumsum(counts)
    bins, bins_before = cumulative * n_bins // cumulative[-1], (cumulative - counts) * n_bins // cumulative[-1]
    cuts = distinct[:-1][(bins > bins_before)[:-1]] + 0.0  # never -0.0: engines differ in which zero they return
    return tuple(cuts.tolist())


def describe_columns(
    encoder: ColumnEncoder,
    values: NDArray[np.float64],
    n_bins: int,
    cuts: Mapping[str, Sequence[float]] | None = None,
    domains: Mapping[str, Any] | None = None,
) -> tuple[Attribute, ...]:
    """Describe columns as attributes, by their domains; else numeric ones have the given cuts, or bins by quantiles."""
    names = attribute_names(encoder.names, values.shape[1])
    stated = check_domain_names(domains, names)
    described = []
    for number, levels in enumerate(encoder.levels):
        if names[number] in stated and names[number] not in (cuts or {}):
            described.append(describe_stated(names[number], levels is not None, stated[names[number]], n_bins))
        elif levels is not None:
            described.append(Attribute(names[number], levels=tuple(levels.tolist())))
        else:
            given = (cuts or {}).get(names[number])
            own_cuts = quantile_cuts(values[:, number], n_bins) if given is None else tuple(map(float, given))
            described.append(Attribute(names[number], cuts=own_cuts))
    return tuple(described)


def encode_values(attributes: Sequence[Attribute], values: NDArray[np.float64]) -> NDArray[Any]:
    """Return the value numbers of all rows, shape (n_attributes, n_rows); missing is the number after the last."""
    largest = max(attribute.n_values for attribute in attributes)
    dtype = next(dtype for dtype in CODE_TYPES if largest <= np.iinfo(dtype).max)
    codes = np.empty((len(attributes), len(values)), dtype=dtype)
    for number, attribute in enumerate(attributes):
        column = values[:, number]
        known = column if attribute.is_nominal else np.searchsorted(np.asarray(attribute.cuts), column, side="left")
        codes[number] = np.where(np.isnan(column), attribute.n_values, known)
    return codes


def recode_levels(
    encoder: ColumnEncoder, attributes: Sequence[Attribute], values: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return values whose codes are those of stated levels; a level that was not stated is missing."""
    recoded = values.copy()
    for number, (own, attribute) in enumerate(zip(encoder.levels, attributes)):
        if own is None or attribute.levels is None or tuple(own.tolist()) == attribute.levels:
            continue
        number_of = {level: float(place) for place, level in enumerate(attribute.levels)}
        codes = np.array([*(number_of.get(level, np.nan) for level in own.tolist()), np.nan])
        column = values[:, number]
        recoded[:, number] = codes[np.where(np.isnan(column), len(own), column).astype(np.int64)]
    return recoded


def _class_codes(y: Any, classes: Sequence[Any], n_rows: int) -> NDArray[np.int64]:
    """Return the numbers of stated classes; -1 for any other label."""
    labels = list(np.asarray(y).tolist())
    if len(labels) != n_rows:
        raise InvalidInput(f"y has {len(labels)} values, but X has {n_rows} rows: give one value for each row")
    number_of = {label: number for number, label in enumerate(classes)}
    return np.array([number_of.get(label, -1) for label in labels], dtype=np.int64)


def encode_table(
    X: Any,
    y: Any,
    categorical_features: Any,
    n_bins: int,
    task: str = "auto",
    cuts: Mapping[str, Sequence[float]] | None = None,
    target_bounds: Sequence[float] | None = None,
    domains: Mapping[str, Any] | None = None,
    classes: Sequence[Any] | None = None,
) -> tuple[Schema, NDArray[Any], NDArray[Any]]:
    """Encode rows for counting: return the schema, the value numbers, and the target as class codes or numbers."""
    check_number("n_bins", n_bins, 2, MOST_BINS, whole=True)
    check_choice("task", task, TASKS)
    check_cuts(cuts)
    encoder, values = ColumnEncoder.learn(X, categorical_features)
    attributes = describe_columns(encoder, values, n_bins, cuts, domains)
    values = recode_levels(encoder, attributes, values)
    bounds = None if target_bounds is None else check_bounds(target_bounds)
    if bounds is not None and (task == "classification" or classes is not None):
        raise InvalidInput(
            "target_bounds was given, but classes have no bounds: leave it out, or use task='regression'"
        )
    stated = None if classes is None else stated_levels("target", classes)
    labels, target = _read_target(y, len(values), task, bounds, stated)
    known = target >= 0 if stated is not None else np.ones(len(target), dtype=bool)
    read = [a.name for a in attributes if a.name not in {**(cuts or {}), **(domains or {})}]
    schema = Schema(
        attributes,
        "target",
        labels,
        has_names=encoder.names is not None,
        target_bounds=bounds,
        from_rows=tuple(read if labels is None or stated is not None else [*read, "target"]),
    )
    return schema, encode_values(attributes, values[known]), target[known]


def _read_target(
    y: Any, n_rows: int, task: str, bounds: tuple[float, float] | None, classes: tuple[Any, ...] | None
) -> tuple[tuple[Any, ...] | None, NDArray[Any]]:
    """Return the class labels, None for a numeric target, and the target as class codes or numbers."""
    if classes is not None:
        return classes, _class_codes(y, classes, n_rows)
    if bounds is not None or task == "regression" or (task == "auto" and _is_continuous(y)):
        target = read_target(y, n_rows, None)
        return None, target if bounds is None else places_on_grid(target, bounds)
    labels, codes = read_classes(y, n_rows, None)
    return tuple(labels.tolist()), codes


def _is_continuous(y: Any) -> bool:
    """Whether a target has numbers with decimals; what scikit-learn cannot tell is refused where it is read."""
    try:
        return bool(type_of_target(y).startswith("continuous"))
    except (TypeError, ValueError):
        return False


class ArrayOracle:
    """Answers from a table in memory.

    Parameters
    ----------
    X : array, data frame or table of shape (n_rows, n_attributes)
        Numbers and, in frames, nominal columns; NaN and null are missing values.
    y : array of shape (n_rows,)
        Class labels, or numbers.
    categorical_features : "from_dtype", "all", list, mask or None, default="from_dtype"
        Which columns are nominal.
    n_bins : int, default=32
        Number of bins of a numeric column, with about equally many rows in each.
    task : {"auto", "classification", "regression"}, default="auto"
        "auto" treats real numbers as a numeric target, and all other targets as classes.
    cuts : mapping of str to sequence of float or None, default=None
        Cuts of numeric columns, instead of quantiles. The columns of an array are named "x0", "x1", ...
    person_id : str, array of shape (n_rows,) or None, default=None
        The person that each row belongs to, or the name of the column that says it, which is not an attribute then.
    rows_per_person : int, default=1
        With `person_id`, only so many rows of each person are counted: always the same ones, as `limit_rows` chooses
        them.
    target_bounds : pair of float or None, default=None
        A numeric target is clamped to these bounds, which must not depend on the rows. A privacy budget needs them.
    domains : mapping of str to sequence or None, default=None
        Public knowledge of columns, instead of what the rows show: the levels of a nominal column, or the bounds
        ``(lowest, highest)`` of a numeric one, between which the bins are equally wide. Other levels count as missing.
    classes : sequence or None, default=None
        The classes of the target, from public knowledge. Rows of other classes are not counted.

    Examples
    --------
    >>> import numpy as np
    >>> from tremula.queries import ArrayOracle, Question
    >>> oracle = ArrayOracle([["sun"], ["rain"], ["sun"]], ["play", "stay", "play"], categorical_features=[0])
    >>> oracle.schema.attributes[0].levels
    ('rain', 'sun')
    >>> oracle.count([Question((), (0,))])[0]
    array([[0, 1],
           [2, 0],
           [0, 0]])
    """

    def __init__(
        self,
        X: Any,
        y: Any,
        *,
        categorical_features: Any = "from_dtype",
        n_bins: int = DEFAULT_BINS,
        task: str = "auto",
        cuts: Mapping[str, Sequence[float]] | None = None,
        person_id: Any = None,
        rows_per_person: int = 1,
        target_bounds: Sequence[float] | None = None,
        domains: Mapping[str, Any] | None = None,
        classes: Sequence[Any] | None = None,
    ) -> None:
        name = None
        if person_id is not None:
            X, y, name = limit_table(X, y, person_id, rows_per_person)
        schema, codes, target = encode_table(
            X, y, categorical_features, n_bins, task, cuts, target_bounds, domains, classes
        )
        if name is not None:
            schema = replace(schema, person_id=name, rows_per_person=rows_per_person)
        self._start(schema, codes, target)

    @classmethod
    def from_codes(cls, schema: Schema, codes: NDArray[Any], target: NDArray[Any]) -> ArrayOracle:
        """Make an oracle from value numbers of shape (n_attributes, n_rows) that fit a schema."""
        oracle = cls.__new__(cls)
        oracle._start(schema, codes, target)
        return oracle

    def _start(self, schema: Schema, codes: NDArray[Any], target: NDArray[Any]) -> None:
        self._schema = schema
        self._codes = np.ascontiguousarray(codes)
        self._target = np.ascontiguousarray(target, dtype=np.float64 if schema.classes is None else np.int32)
        self._rows_on: dict[Path, NDArray[np.int32]] = {EVERYWHERE: np.arange(codes.shape[1], dtype=np.int32)}
        self._rows_before: dict[Path, NDArray[np.int32]] = {}

    @property
    def schema(self) -> Schema:
        """The attributes, their values and the classes."""
        return self._schema

    def count(self, questions: Sequence[Question]) -> list[NDArray[Any]]:
        """Answer a batch of questions, in their order."""
        # The rows on the paths of the last batch are kept, since the paths of the next batch extend them.
        if any(question.path not in self._rows_on for question in questions):
            self._rows_before, self._rows_on = self._rows_on, {EVERYWHERE: self._rows_on[EVERYWHERE]}
        return [self._joint(question) if question.joint else self._margins(question) for question in questions]

    def _margins(self, question: Question) -> NDArray[Any]:
        answer = self._schema.empty_answer()
        add = kernel.add_moments if self._schema.classes is None else kernel.count_classes
        attributes = np.array(question.attributes, dtype=np.int32)
        add(self._codes, self._target, self._rows(question), attributes, self._schema.starts, answer)
        return answer

    def _joint(self, question: Question) -> NDArray[Any]:
        shape = joint_shape(self._schema, question.attributes)
        rows = self._rows(question)
        cells = np.zeros(len(rows), dtype=np.int64)
        for size, attribute in zip(shape, question.attributes):
            cells = cells * size + self._codes[attribute, rows]
        n_cells = int(np.prod(shape[:-1]))
        target: NDArray[Any] = self._target[rows]
        if self._schema.classes is not None:
            return np.bincount(cells * shape[-1] + target, minlength=n_cells * shape[-1]).reshape(shape)
        moments = [np.bincount(cells, weights=target**power, minlength=n_cells) for power in range(shape[-1])]
        return np.stack(moments, axis=-1).reshape(shape)

    def _rows(self, question: Question) -> NDArray[np.int32]:
        path = question.path
        if path in self._rows_on:
            return self._rows_on[path]
        rows = self._rows_before[path] if path in self._rows_before else self._rows_below(question)
        self._rows_on[path] = rows
        return rows

    def _rows_below(self, question: Question) -> NDArray[np.int32]:
        """Return the rows on a path, searched among the rows on its parent if these are kept."""
        wider = question.parent if is_within(question.path, question.parent) else EVERYWHERE
        if wider not in self._rows_before:
            wider = EVERYWHERE
        rows = self._rows_before[wider]
        for condition in question.path:
            if condition not in wider:
                kept = np.empty(len(rows) + 1, dtype=np.int32)
                n_kept = kernel.keep_rows(self._codes, rows, *condition, kept)
                rows = kept[:n_kept].copy()
        return rows
