"""Rows from a file, from a database or of a known name become a dataset; everything that is guessed is said.

There is one way: a place becomes a table of typed columns (`tables`), these become attributes and a target
(`inference`), and these a `Dataset`. The commands and `load_dataset` all take it.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.data.table_schema import TableSchema
from tremula.errors import InvalidParameter
from tremula.lab.datasets.catalog import bundled_dataset, find_file
from tremula.lab.datasets.check import Finding, check_table, find_ignored
from tremula.lab.datasets.checksums import confirm
from tremula.lab.datasets.column import Column
from tremula.lab.datasets.dataset import TASKS, Dataset
from tremula.lab.datasets.errors import RowsLeftOut
from tremula.lab.datasets.inference import (
    CHECK_TARGET,
    check_column,
    choose_target,
    choose_task,
    drop_empty,
    make_dataset,
    missing_target_notes,
    read_labels,
    with_target,
    wrong_task,
)
from tremula.lab.datasets.registry import KnownDataset
from tremula.lab.datasets.schema import columns_of, schema_of
from tremula.lab.datasets.tables import is_table, open_table
from tremula.parameters import check_choice


@dataclass(frozen=True, eq=False)
class Reading:
    """A dataset as read.

    Attributes
    ----------
    dataset : Dataset
    schema : TableSchema
        What its columns are.
    guesses : tuple of str
        Sentences on the target and the task, where they were guessed.
    notes : tuple of str
        What else a user should know.
    n_without_target : int
        Rows left out because their target is missing.
    findings : tuple of Finding
        What the check of the data found.
    """

    dataset: Dataset
    schema: TableSchema
    guesses: tuple[str, ...]
    notes: tuple[str, ...]
    n_without_target: int = 0
    findings: tuple[Finding, ...] = ()


def load_dataset(
    name: str, target: str | None = None, *, task: str | None = "classification", fetch: bool = True
) -> Dataset:
    """Load a dataset by its name, or from a file or database.

    A name is looked for among those bundled with scikit-learn, then in the folder that the environment variable
    ``TREMULA_DATA`` names, in the cache (``TREMULA_CACHE``), and at OpenML, from where it goes into the cache.

    Parameters
    ----------
    name : str
        A name of `dataset_names` or `known_datasets`, the path of a file, or the URL of a database with ``#table``
        behind it.
    target : str, default=None
        The column to predict. ``None`` is the column called ``target`` or ``class``, else the last. Bundled datasets
        leave no choice.
    task : {'classification', 'regression', None}, default='classification'
        What is to be predicted; ``None`` goes by the target.
    fetch : bool, default=True
        Whether a dataset that is not on this machine may be fetched.

    Returns
    -------
    Dataset

    Warns
    -----
    RowsLeftOut
        The target is missing in some rows, which the dataset does not have.
    OtherContent
        A dataset of this name is known, but this copy differs from it.
    DamagedCopy
        A file in the cache is broken; the dataset is fetched again.

    Examples
    --------
    >>> from tremula.lab.datasets import load_dataset
    >>> wine = load_dataset("wine")
    >>> wine.X.shape, len(set(wine.y))
    ((178, 13), 3)
    """
    check_choice("task", task, (*TASKS, None))
    if not isinstance(name, str | os.PathLike) or isinstance(os.fspath(name), bytes):
        raise InvalidParameter(f"name is of type {type(name).__name__}: give the name of a dataset or a file")
    reading = read_data(name, target, task=task, fetch=fetch)
    if reading.n_without_target:
        warnings.warn(next(note for note in reading.notes if "left out" in note), RowsLeftOut, stacklevel=2)
    return reading.dataset


def read_data(
    place: str,
    target: str | None = None,
    *,
    task: str | None = None,
    drop: Iterable[str] = (),
    table: str | None = None,
    fetch: bool = True,
    check: bool = False,
    use: Iterable[str] = (),
) -> Reading:
    """Read a dataset by name, file or database, and say what was guessed.

    Parameters
    ----------
    place : str
        A name of `dataset_names` or `known_datasets`, or what `open_table` opens.
    target : str, default=None
        The column to predict; None guesses.
    task : {'classification', 'regression', None}, default=None
        None guesses.
    drop : iterable of str, default=()
        Columns to leave out.
    table : str, default=None
        The table of a database.
    fetch : bool, default=True
        Whether a known dataset that is not on this machine may be fetched.
    check : bool, default=False
        Whether to look for what may mislead a learner, and to leave out columns that only do so. A dataset of a known
        name is not checked.
    use : iterable of str, default=()
        Columns that the check must not leave out.

    Returns
    -------
    Reading

    Examples
    --------
    >>> from tremula.lab.datasets.reader import read_data
    >>> reading = read_data("wine")
    >>> reading.dataset.X.shape, reading.guesses
    ((178, 13), ('Task: classification, as there are 3 classes.',))
    """
    checked = list(use) if check else None
    if is_table(place):
        return _read_table(place, table, target, task, list(drop), checked=checked)
    bundled = bundled_dataset(place, target)
    if bundled is not None:
        return _with_ignored(_as_reading(bundled, task, list(drop)), check)
    path, known = find_file(place, fetch)
    if known is None or target is not None:
        return _read_table(str(path), None, target, task, list(drop), checked=checked)
    reading = _read_table(str(path), None, None, known.task, [], known)
    confirmed = replace(reading, dataset=confirm(reading.dataset, known))
    return _with_ignored(_as_reading(confirmed.dataset, task, list(drop), confirmed), check)


def _read_table(
    place: str,
    table: str | None,
    target: str | None,
    task: str | None,
    drop: Sequence[str],
    known: KnownDataset | None = None,
    checked: Collection[str] | None = None,
) -> Reading:
    with open_table(place, table) as relation:  # closed, it gives back its memory before the matrix takes some
        for option, given in (("--drop", drop), ("--use", checked or ())):
            for name in given:
                check_column(name, relation.names, relation.source, option)
        names = [name for name in relation.names if name not in drop]
        target_name, target_guess = choose_target(names, target, relation.source)
        columns = relation.read(names, undated=[target_name])
    described = f"target {target_name!r} of {relation.source}"
    columns, n_without_target = with_target(columns, target_name, described)
    labels = read_labels(columns.pop(target_name), described)
    chosen, task_guess = choose_task(labels, task)
    y = CHECK_TARGET[chosen](labels, described)
    # The checksum of a known dataset counts all its columns.
    attributes, left_out = (columns, []) if known else drop_empty(columns)
    attributes, findings = (attributes, []) if checked is None else _check(attributes, y, chosen, checked)
    dataset, kinds, notes = make_dataset(attributes, y, chosen, relation.name, relation.source)
    missing = missing_target_notes(n_without_target, described)
    return Reading(
        dataset,
        schema_of(dataset, target_name, kinds),
        tuple(guess for guess in (target_guess, task_guess) if guess),
        (*relation.notes, *missing, *left_out, *notes),
        n_without_target,
        tuple(findings),
    )


def _check(
    columns: dict[str, Column], y: NDArray[Any], task: str, used: Collection[str]
) -> tuple[dict[str, Column], list[Finding]]:
    """Return the columns that the check does not leave out, unless it would leave none, and its findings."""
    findings = check_table(columns, y, task, used)
    gone = {name for finding in findings if finding.left_out for name in finding.columns}
    if len(gone) == len(columns):
        return columns, check_table(columns, y, task, leave_out=False)
    return {name: column for name, column in columns.items() if name not in gone}, findings


def _with_ignored(reading: Reading, check: bool) -> Reading:
    """Return the reading of a known dataset, which keeps all its columns, with those that forests leave out."""
    if not check:
        return reading
    data = reading.dataset
    return replace(reading, findings=tuple(find_ignored(columns_of(data), data.y, data.task)))


def _as_reading(dataset: Dataset, task: str | None, drop: Sequence[str], reading: Reading | None = None) -> Reading:
    """Return a dataset of a known name, whose target is not guessed."""
    if task not in (dataset.task, None):
        raise wrong_task(f"dataset {dataset.name!r}", dataset.task)
    if dataset.task == "regression":
        guess = "Task: regression, as the target holds numbers."
    else:
        guess = f"Task: classification, as there are {len(np.unique(dataset.y))} classes."
    kinds = dict(zip(reading.schema.names, reading.schema.kinds)) if reading else {}
    if drop:
        dataset = _without(dataset, drop)
    schema = schema_of(dataset)
    if kinds:
        schema = replace(schema, kinds=tuple(kinds[name] for name in schema.names))
    notes = reading.notes if reading else ()
    n_without_target = reading.n_without_target if reading else 0
    return Reading(dataset, schema, () if task else (guess,), notes, n_without_target)


def _without(dataset: Dataset, drop: Sequence[str]) -> Dataset:
    names = dataset.attribute_names
    for name in drop:
        check_column(name, names, dataset.source, "--drop")
    kept = [place for place, name in enumerate(names) if name not in drop]
    nominal = tuple(new for new, old in enumerate(kept) if old in dataset.nominal)
    dates = tuple(new for new, old in enumerate(kept) if old in dataset.dates)
    levels = tuple(dataset.levels[place] for place in kept) if nominal else ()
    attributes = tuple(names[place] for place in kept)
    return replace(dataset, X=dataset.X[:, kept], nominal=nominal, attributes=attributes, levels=levels, dates=dates)
