"""Runs scikit-learn's callbacks for every member that is trained; scikit-learn has callbacks since 1.9.

A callback sees the ensemble with the members trained so far and may stop the training; it never changes a member. The
interface is experimental in scikit-learn: tremula uses it in this file only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Empty: this scikit-learn has no callbacks."""

    def with_callbacks(method: Any) -> Any:
        """Return the method unchanged: this scikit-learn has no callbacks."""
        return method


__all__ = ["CallbackSupportMixin", "MemberTasks", "with_callbacks"]

Result = TypeVar("Result")


class MemberTasks:
    """The training of an ensemble as callbacks see it: one task with a subtask for each member.

    Parameters
    ----------
    estimator : ensemble
        The estimator that is fitted, in a method decorated by `with_callbacks`.
    X, y : as given to fit
    sample_weight : array or None
    """

    def __init__(self, estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> None:
        metadata = None if sample_weight is None else {"sample_weight": sample_weight}
        self._given = {"estimator": estimator, "X": X, "y": y, "metadata": metadata}
        self._whole: Any = None
        self._member: Any = None

    def begin(self, n_members: int) -> None:
        """Start the training of at most `n_members` members."""
        start = getattr(self._given["estimator"], "_init_callback_context", None)
        if start is not None:
            self._whole = start(max_subtasks=n_members).call_on_fit_task_begin(**self._given)

    def begin_member(self) -> None:
        """Start the next member."""
        if self._whole is not None:
            self._member = self._whole.subcontext(task_name="member").call_on_fit_task_begin(**self._given)

    def each(self, results: Iterator[Result], n_members: int) -> Iterator[Result]:
        """Yield results, and start a member before each."""
        for _ in range(n_members):
            self.begin_member()
            yield next(results)
        yield from results  # empty, but joblib expects its generator to be exhausted

    def end_member(self, fitted: Callable[[], dict[str, Any]]) -> bool:
        """End a member; return whether a callback asks to stop.

        Parameters
        ----------
        fitted : callable
            Returns the attributes of the ensemble with the members trained so far; called only if a callback needs
            them.
        """
        if self._member is None:
            return False
        return bool(self._member.call_on_fit_task_end(**self._given, reconstruction_attributes=fitted))

    def end(self) -> None:
        """End the training, after the fitted attributes are set."""
        if self._whole is not None:
            self._whole.call_on_fit_task_end(**self._given, reconstruction_attributes={})
