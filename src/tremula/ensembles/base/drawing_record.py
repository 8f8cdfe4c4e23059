"""Records how a fitted ensemble drew the rows of its members, so that the same rows can be drawn again.

No row is stored: those of `fit` are given again, and recognised by their number and a checksum.
"""

from __future__ import annotations

import zlib
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from tremula.data.sparse_rows import SparseRows
from tremula.data.take import take_rows
from tremula.ensembles.base.member import Trainer
from tremula.ensembles.base.training import Drawing, checksum
from tremula.errors import InvalidInput, InvalidParameter
from tremula.persistence.soundness import require, require_numbers
from tremula.perturb.inputs import SmearedInputs
from tremula.perturb.sample import Perturbation, Sample

RowsOfFit = tuple[int, ...]  # their number, and checksums of targets and of values
MOST_COMPARED = 1000  # rows whose values are compared, spread over the table


def rows_of_fit(sample: Sample, rows: Callable[[NDArray[np.int64]], Any]) -> RowsOfFit:
    """Return what the rows given to `fit` are recognised by.

    Parameters
    ----------
    sample : Sample
        Their targets and weights.
    rows : callable
        From numbers of rows to a table of these rows.
    """
    compared = np.linspace(0, sample.n_rows - 1, min(sample.n_rows, MOST_COMPARED)).astype(np.int64)
    return sample.n_rows, checksum(sample), values_checksum(rows(compared))


def values_checksum(table: Any) -> int:
    """Return a checksum of the values of an array, a sparse matrix or a frame.

    Sparse rows of trees have that of the same rows as an array.

    Examples
    --------
    >>> values_checksum(np.eye(2)) == values_checksum(np.eye(2)[::-1])
    False
    """
    if issparse(table):
        return zlib.crc32(table.indices.tobytes(), zlib.crc32(table.data.tobytes()))
    if isinstance(table, SparseRows):
        sum_so_far = 0
        for _, block in table.blocks():
            sum_so_far = zlib.crc32(block.tobytes(), sum_so_far)
        return sum_so_far
    frame = nw.from_native(table, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        return zlib.crc32(repr(frame.rows()).encode())
    values = np.asarray(table)
    if values.dtype.kind in "biuf":
        return zlib.crc32(np.ascontiguousarray(values, dtype=np.float64).tobytes())
    return zlib.crc32(repr(values.tolist()).encode())


def is_same(rows: RowsOfFit, recorded: RowsOfFit | None) -> bool:
    """Whether rows are those recorded; files of earlier releases hold no checksum of the values."""
    return recorded is not None and rows[: len(recorded)] == tuple(recorded)


def require_record(recorded: RowsOfFit | None) -> None:
    """Refuse a stored record that is none."""
    require(recorded is None or len(recorded) in (2, 3), "the rows of fit are not described")


def check_rows_of_fit(sample: Sample, table: Any, recorded: RowsOfFit | None) -> None:
    """Refuse rows other than those of `fit`; None is recorded where a warm start was given other rows."""
    if recorded is None:
        raise InvalidParameter(
            "warm_start=True has added members that drew their rows in another way, or from other rows, than those "
            "before them: fit again with warm_start=False"
        )
    if sample.n_rows != recorded[0]:
        raise InvalidInput(
            f"X has {sample.n_rows} rows, but the members were trained on rows drawn from {recorded[0]}: give the rows "
            "of fit again"
        )
    if not is_same(rows_of_fit(sample, lambda chosen: take_rows(table, chosen)), recorded):
        raise InvalidInput(
            "X, y or sample_weight are not those of fit: give the rows of fit again, in the same order, with the "
            "same target and weights"
        )


class DrawingRecordMixin:
    """Mixin for ensembles that draw rows by perturbations; the attributes are set where some row may be out of bag."""

    _root_seed: int
    _drawn_by: list[Perturbation] | None
    _drawn_for: int
    _drawn_from: RowsOfFit | None
    _row_groups: NDArray[np.int32]  # numbers of the groups given to `fit`, if any

    def _check_stored(self) -> None:
        names = ("_drawn_by", "_drawn_from", "_drawn_for")
        require(len({hasattr(self, name) for name in names}) == 1, "how rows were drawn is not known in full")
        require(getattr(self, "_drawn_for", 1) >= 1, "rows were drawn for no member")
        seed = getattr(self, "_root_seed", -1 if self._draws_rows() else 0)
        require(seed >= 0, "rows were drawn without a seed")
        drawn_from = getattr(self, "_drawn_from", None)
        require_record(drawn_from)
        drawn_by = getattr(self, "_drawn_by", None) or ()
        amounts = [each.noise for each in drawn_by if isinstance(each, SmearedInputs)]
        n_attributes = getattr(self, "n_features_in_", 0)
        is_even = all(not isinstance(noise, tuple) or len(noise) == n_attributes for noise in amounts)
        require(is_even, "rows were drawn with noise of other attributes")
        is_divided = any(each.depends_on_n_members for each in drawn_by)
        n_members = len(getattr(self, "members_", ()))
        require(not is_divided or n_members <= self._drawn_for, "rows were divided among fewer members")
        groups = getattr(self, "_row_groups", None)
        if groups is not None:
            require_numbers("_row_groups", groups, (None if drawn_from is None else drawn_from[0],), "i", 0)
            require((groups < len(groups)).all(), "a group has no number")

    @abstractmethod
    def _read_table(self, X: Any) -> Any:
        """Return a table in the form that members take."""

    @abstractmethod
    def _read_known_sample(self, y: Any, sample_weight: Any, n_rows: int) -> Sample:
        """Read the target of `fit` once more."""

    @property
    def can_count_inbag(self) -> bool:
        """Whether `count_inbag` can tell which rows each member was trained on."""
        return hasattr(self, "inbag_counts_") or getattr(self, "_drawn_by", None) is not None

    def _draws_rows(self) -> bool:
        return hasattr(self, "_drawn_for")

    def _record_drawing(self, drawing: Drawing, trainer: Trainer, n_kept: int) -> None:
        """Record how rows were drawn, if some are out of bag."""
        before_by, before_from = getattr(self, "_drawn_by", None), getattr(self, "_drawn_from", None)
        for name in ("_drawn_by", "_drawn_from", "_drawn_for"):
            if hasattr(self, name):
                delattr(self, name)
        if not any(perturbation.leaves_rows_out for perturbation in drawing.perturbations):
            return
        perturbations, rows = list(drawing.perturbations), rows_of_fit(drawing.sample, trainer.rows)
        # Rows of earlier members can be drawn again only if they were drawn in the same way, from the same rows.
        self._drawn_by = perturbations if not n_kept or before_by == perturbations else None
        self._drawn_from = rows if not n_kept or is_same(rows, before_from) else None
        self._drawn_for = drawing.n_members

    def _read_rows_of_fit(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Drawing]:
        table = self._read_table(X)
        sample = self._read_known_sample(y, sample_weight, table.shape[0])
        sample = replace(sample, groups=getattr(self, "_row_groups", None))
        is_known = self._drawn_by is not None or hasattr(self, "inbag_counts_")
        check_rows_of_fit(sample, table, self._drawn_from if is_known else None)
        return table, Drawing(sample, self._drawn_by or [], self._drawn_for, self._root_seed)
