"""Tells scikit-learn's callbacks of every member that is trained, where scikit-learn has callbacks (since 1.9).

A callback sees the ensemble as far as it is trained and may end the training; it never changes a member. scikit-learn
calls its interface experimental: all that tremula uses of it is in this file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Adds nothing: this scikit-learn has no callbacks."""

    def with_callbacks(method: Any) -> Any:
        """Return the method as it is: this scikit-learn has no callbacks."""
        return method


__all__ = ["CallbackSupportMixin", "MemberTasks", "with_callbacks"]

Result = TypeVar("Result")


class MemberTasks:
    """The training of an ensemble as callbacks see it: one task with a subtask for each member.

    Parameters
    ----------
    estimator : ensemble
        What is trained; its `fit` runs under `with_callbacks`.
    X, y : as given to fit
    sample_weight : array or None
    """

    def __init__(self, estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> None:
        metadata = None if sample_weight is None else {"sample_weight": sample_weight}
        self._given = {"estimator": estimator, "X": X, "y": y, "metadata": metadata}
        self._whole: Any = None
        self._member: Any = None

    def begin(self, n_members: int) -> None:
        """Begin to train at most so many members."""
        start = getattr(self._given["estimator"], "_init_callback_context", None)
        if start is not None:
            self._whole = start(max_subtasks=n_members).call_on_fit_task_begin(**self._given)

    def begin_member(self) -> None:
        """Begin with the next member."""
        if self._whole is not None:
            self._member = self._whole.subcontext(task_name="member").call_on_fit_task_begin(**self._given)

    def each(self, results: Iterator[Result], n_members: int) -> Iterator[Result]:
        """Yield results, each a member that is begun when it is asked for."""
        for _ in range(n_members):
            self.begin_member()
            yield next(results)
        yield from results  # none is left, but joblib wants to be asked

    def end_member(self, fitted: Callable[[], dict[str, Any]]) -> bool:
        """End with a member; return whether a callback wants no more of them.

        Parameters
        ----------
        fitted : callable
            Gives the attributes that make the ensemble one of the members trained so far; asked where a callback wants
            to see it.
        """
        if self._member is None:
            return False
        return bool(self._member.call_on_fit_task_end(**self._given, reconstruction_attributes=fitted))

    def end(self) -> None:
        """End the training: the ensemble has its members."""
        if self._whole is not None:
            self._whole.call_on_fit_task_end(**self._given, reconstruction_attributes={})
