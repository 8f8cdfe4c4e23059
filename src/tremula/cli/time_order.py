"""Rows in the order of time, for folds that test each model on its future only."""

from dataclasses import replace

import numpy as np

from tremula.errors import InvalidInput, listed
from tremula.lab.datasets.reader import Reading

TIME_ORDER = "time order"  # the finding of the data check
PROPOSAL = "The rows are in time order: --cv time tests each method on the future of the rows that it is trained on."
COVERED = "In time order, worse means worse in the time that the rows cover; the guide has the level of the tests."
KEPT = "The folds are in the order of the rows, which is taken for that of time, as there are no dates."


def propose_time(reading: Reading) -> list[str]:
    """Return a note that proposes folds in time order if the data check found one."""
    return [PROPOSAL] if any(finding.kind == TIME_ORDER for finding in reading.findings) else []


def in_time_order(reading: Reading) -> tuple[Reading, list[str]]:
    """Return the rows sorted by their dates, the oldest first, with a note on what was done."""
    dates = _time_columns(reading)
    reading = replace(reading, findings=tuple(each for each in reading.findings if each.kind != TIME_ORDER))
    if not dates:
        return reading, [KEPT]
    if len(dates) > 1:
        raise InvalidInput(
            f"--cv time: the rows are in the order of none of their dates {listed(dates)}: sort the file by one of "
            "them, the oldest first"
        )
    days = reading.dataset.X[:, reading.dataset.attribute_names.index(dates[0])]
    if np.isnan(days).any():
        raise InvalidInput(f"--cv time: {int(np.isnan(days).sum())} rows have no {dates[0]!r}: fill it in, or drop it")
    order = np.argsort(days, kind="stable")
    if (order == np.arange(len(order))).all():
        return reading, [f"The folds are in the order of {dates[0]!r}."]
    sorted_rows = replace(reading, dataset=reading.dataset.take(order))
    return sorted_rows, [f"The rows were sorted by {dates[0]!r}, the oldest first; row numbers are in this order."]


def _time_columns(reading: Reading) -> list[str]:
    """Return the date that the rows are in the order of, or all dates."""
    ordered = [finding.columns[0] for finding in reading.findings if finding.kind == TIME_ORDER]
    kinds = zip(reading.schema.names, reading.schema.kinds)
    dates = [name for name, kind in kinds if kind.partition(" ")[0] == "date"]  # its form may stand behind
    return [name for name in ordered[:1] if name in dates] or dates
