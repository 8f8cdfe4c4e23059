"""Answers from the frequencies of itemsets above a minimum support, as association miners write them.

A count that is not listed is inferred if the sums allow only one value. If they do not, its attribute is unknown.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path as FilePath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.errors import InvalidInput, MissingLibrary, QueryRefused
from tremula.parameters import check_number
from tremula.persistence.atomic_write import write_atomically
from tremula.queries.arrays import DEFAULT_BINS, encode_table
from tremula.queries.question import UNKNOWN, Attribute, Path, Question, Schema

Item = tuple[int, int]  # an attribute and its value; the class is one more attribute, after the last
Itemset = frozenset[Item]


class ItemsetOracle:
    """Answers from itemset frequencies.

    Parameters
    ----------
    schema : Schema
        Nominal attributes and the classes.
    frequencies : mapping of frozenset of (attribute, value) to int
        Attributes and values are given by their numbers. The class is the attribute after the last, and missing is the
        value after the last. The frequency of the empty set is the number of rows.

    Notes
    -----
    P. Panov and others, Predictive data mining using itemset frequencies, 2005. An attribute can be used at a node if
    every cell of its table of values and classes is known, or follows from the sum of its row or column.

    Examples
    --------
    >>> from tremula.queries import ItemsetOracle, Question
    >>> X, y = [["sun"]] * 6 + [["rain"]] * 4, ["play"] * 6 + ["stay"] * 3 + ["play"]
    >>> oracle = ItemsetOracle.mine(X, y, categorical_features=[0], min_support=0.2)
    >>> oracle.count([Question((), (0,))])[0]
    array([[1, 3],
           [6, 0],
           [0, 0]])
    """

    leaves_unknown = True  # by what the rows are, so that no privacy budget can protect it

    def __init__(self, schema: Schema, frequencies: Mapping[Itemset, int]) -> None:
        if schema.classes is None or not all(attribute.is_nominal for attribute in schema.attributes):
            raise InvalidInput("itemsets need nominal attributes and a nominal target: discretise numbers first")
        if frozenset() not in frequencies:
            raise InvalidInput("the frequencies lack the empty itemset: give the number of rows under frozenset()")
        self._schema = schema
        self._frequencies = {**_values_without_rows(schema, frequencies), **frequencies}

    @classmethod
    def mine(
        cls,
        X: Any,
        y: Any,
        *,
        categorical_features: Any = "from_dtype",
        min_support: float = 0.01,
        max_length: int | None = None,
    ) -> ItemsetOracle:
        """Mine the frequent itemsets of a table with mlxtend's FP-growth.

        Parameters
        ----------
        X : array, data frame or table of shape (n_rows, n_attributes)
            As `ArrayOracle` takes it; all columns must be nominal.
        y : array of shape (n_rows,)
            Class labels.
        categorical_features : "from_dtype", "all", list, mask or None, default="from_dtype"
            Which columns are nominal.
        min_support : float, default=0.01
            Minimum share of the rows that an itemset must have.
        max_length : int or None, default=None
            Maximum number of items of an itemset, the class included.
        """
        check_number("min_support", min_support, 0.0, 1.0, above=True)
        schema, codes, classes = encode_table(X, y, categorical_features, DEFAULT_BINS, "classification")
        columns = np.vstack([codes, classes]).astype(np.int64)
        frequencies = _mine(columns, min_support, max_length)
        for number, attribute in enumerate(schema.attributes):
            if not (columns[number] == attribute.n_values).any():
                frequencies[frozenset([(number, attribute.n_values)])] = 0  # nothing is missing: one unknown cell less
        return cls(schema, frequencies)

    @classmethod
    def from_file(cls, path: str | os.PathLike[str], target: str) -> ItemsetOracle:
        """Read itemsets from a file: lines of JSON such as ``{"items": {"sky": "sun", "play": "yes"}, "count": 6}``."""
        listed = _read_lines(path)
        schema = _schema_of([entry["items"] for entry in listed], target)
        names = [*(attribute.name for attribute in schema.attributes), target]
        levels = [*(attribute.levels or () for attribute in schema.attributes), schema.classes or ()]
        number_of = {name: number for number, name in enumerate(names)}
        value_of = [{level: value for value, level in enumerate((*own_levels, None))} for own_levels in levels]
        frequencies = {}
        for entry in listed:
            items = [(number_of[name], level) for name, level in entry["items"].items()]
            frequencies[frozenset((number, value_of[number][level]) for number, level in items)] = entry["count"]
        return cls(schema, frequencies)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the itemsets to a file that `from_file` reads; the file is replaced in one step."""
        names = [*(attribute.name for attribute in self._schema.attributes), self._schema.target]
        levels = [*(attribute.levels or () for attribute in self._schema.attributes), self._schema.classes or ()]
        lines = []
        for itemset, count in self._frequencies.items():
            items = {names[number]: (*levels[number], None)[value] for number, value in sorted(itemset)}
            lines.append(json.dumps({"items": items, "count": int(count)}, ensure_ascii=False))
        write_atomically(path, ("\n".join(lines) + "\n").encode())

    @property
    def schema(self) -> Schema:
        """The attributes, their values and the classes."""
        return self._schema

    def count(self, questions: Sequence[Question]) -> list[NDArray[Any]]:
        """Answer a batch of questions, in their order; attributes that cannot be inferred are UNKNOWN."""
        if any(question.joint for question in questions):
            raise QueryRefused("itemsets do not answer joint questions: set n_joint_features=1")
        return [self._margins(question) for question in questions]

    def _margins(self, question: Question) -> NDArray[np.int64]:
        answer = self._schema.empty_answer()
        path = _items_of(question.path)
        for attribute in question.attributes:
            table = np.full((self._schema.attributes[attribute].n_values + 1, self._schema.n_outputs), UNKNOWN)
            if path is not None:
                table = self._table(path, attribute)
            answer[self._schema.cells(attribute)] = table
        return answer

    def _has_no_row(self, attribute: int, value: int) -> bool:
        return self._frequencies.get(frozenset([(attribute, value)])) == 0

    def _table(self, path: Itemset, attribute: int) -> NDArray[np.int64]:
        """Return the counts of an attribute by class among the rows of an itemset; all UNKNOWN if one of them is."""
        n_values, n_classes = self._schema.attributes[attribute].n_values + 1, self._schema.n_outputs
        target = len(self._schema.attributes)
        fixed = dict(path)
        table = np.full((n_values + 1, n_classes + 1), UNKNOWN, dtype=np.int64)
        for value in range(n_values + 1):
            for label in range(n_classes + 1):
                items = set(path)
                if value < n_values:
                    if fixed.get(attribute, value) != value or self._has_no_row(attribute, value):
                        table[value, label] = 0
                        continue
                    items.add((attribute, value))
                if label < n_classes:
                    items.add((target, label))
                table[value, label] = self._frequencies.get(frozenset(items), UNKNOWN)
        complete(table)
        counts = table[:-1, :-1]
        return np.full_like(counts, UNKNOWN) if (counts == UNKNOWN).any() else counts


def _values_without_rows(schema: Schema, frequencies: Mapping[Itemset, int]) -> dict[Itemset, int]:
    """Return frequency 0 for values without rows: if the listed values of an attribute have all rows, the others."""
    zeros: dict[Itemset, int] = {}
    for number, attribute in enumerate(schema.attributes):
        items = [frozenset([(number, value)]) for value in range(attribute.n_values + 1)]
        if sum(frequencies.get(item, 0) for item in items) == frequencies[frozenset()]:
            zeros.update((item, 0) for item in items if item not in frequencies)
    return zeros


def complete(table: NDArray[np.int64]) -> None:
    """Fill in the unknown cells that follow from the sums, which are the last cell of each row and column.

    Examples
    --------
    >>> table = np.array([[2, -1, 5], [-1, 4, 4], [2, 7, 9]])
    >>> complete(table)
    >>> table
    array([[2, 3, 5],
           [0, 4, 4],
           [2, 7, 9]])
    """
    changed = True
    while changed:
        changed = False
        for line in (*table, *table.T):
            changed |= _complete_line(line)


def _complete_line(line: NDArray[np.int64]) -> bool:
    unknown = np.flatnonzero(line == UNKNOWN)
    if not len(unknown):
        return False
    known_sum = int(line[:-1][line[:-1] != UNKNOWN].sum())
    if unknown[-1] == len(line) - 1:  # the sum itself
        if len(unknown) > 1:
            return False
        line[-1] = known_sum
    elif len(unknown) == 1 or known_sum == line[-1]:
        line[unknown] = line[-1] - known_sum
    else:
        return False
    return True


def _items_of(path: Path) -> Itemset | None:
    """Return a path as items; None if a condition allows several values."""
    if any(condition.first != condition.last for condition in path):
        return None
    return frozenset((condition.attribute, condition.first) for condition in path)


def _mine(columns: NDArray[np.int64], min_support: float, max_length: int | None) -> dict[Itemset, int]:
    try:
        import pandas as pd
        from mlxtend.frequent_patterns import fpgrowth
    except ImportError as error:
        raise MissingLibrary("mining itemsets needs mlxtend and pandas: pip install 'tremula[itemsets]'") from error
    items = [(number, value) for number, column in enumerate(columns) for value in np.unique(column).tolist()]
    has_item = np.stack([columns[number] == value for number, value in items], axis=1)
    n_rows = columns.shape[1]
    mined = fpgrowth(pd.DataFrame(has_item), min_support=min_support, max_len=max_length)
    frequencies: dict[Itemset, int] = {frozenset(): n_rows}
    for support, itemset in zip(mined["support"], mined["itemsets"]):
        frequencies[frozenset(items[number] for number in itemset)] = round(support * n_rows)
    return frequencies


def _read_lines(path: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """Read the itemsets of a file, each with its items and its count."""
    listed = []
    for number, line in enumerate(FilePath(path).read_text(encoding="utf-8").splitlines(), start=1):
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
            listed.append({"items": dict(entry["items"]), "count": int(entry["count"])})
        except (KeyError, TypeError, ValueError) as error:
            raise InvalidInput(
                f"line {number} of {os.fspath(path)!r} is not an itemset ({error}): write lines such as "
                '{"items": {"sky": "sun", "play": "yes"}, "count": 6}'
            ) from error
    return listed


def _schema_of(itemsets: Iterable[Mapping[str, Any]], target: str) -> Schema:
    levels: dict[str, set[Any]] = {}
    for items in itemsets:
        for name, level in items.items():
            levels.setdefault(name, set())
            if level is not None:
                levels[name].add(level)
    if target not in levels:
        raise InvalidInput(
            f"no itemset has an item of target {target!r} (they have {sorted(levels)}): give one of these as target"
        )
    classes = tuple(sorted(levels.pop(target)))
    attributes = tuple(Attribute(name, levels=tuple(sorted(own))) for name, own in sorted(levels.items()))
    read = (*(attribute.name for attribute in attributes), target)
    return Schema(attributes, target, classes, from_rows=read)
