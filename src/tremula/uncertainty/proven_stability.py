"""Stability that is proven: sets of classes that keep one when a row is left out, and rows that may be changed."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.errors import InvalidParameter, UnsupportedModel
from tremula.parameters import check_choice, check_number
from tremula.uncertainty.certified_rows import METHODS, ROUNDING, certified_by_members, certified_by_resampling
from tremula.uncertainty.leave_one_out import RowDraw, inflated_argmax, largest_change
from tremula.uncertainty.trained_members import ROWS_AT_A_TIME, TrainedMembers, row_blocks


class ProvenStabilityMixin:
    """Gives `Uncertainty` what is proven of the classes that an ensemble predicts."""

    _trained: TrainedMembers

    @abstractmethod
    def _check_classes(self, method: str) -> None:
        """Refuse a model for numbers."""

    def predict_stable_set(self, X: Any, share: float = 0.05) -> NDArray[np.bool_]:
        """Predict a set of classes for each row that keeps a class when a training row is left out.

        Parameters
        ----------
        X : array, data frame or table of shape (n_rows, n_attributes)
        share : float, default=0.05
            Largest share of the training rows without which the ensemble may have no class in common with this set.

        Returns
        -------
        bool array of shape (n_rows, n_classes)
            Whether each class, in the order of ``classes_``, is in the set; the predicted one always is.

        Notes
        -----
        This is proven for any table and any base learner whose members are trained on samples drawn independently
        (Soloff, Barber and Willett, 2024), on average over these draws, with the number of rows drawn kept when a row
        is left out. The set is the inflated argmax of the class probabilities; the fewer rows and members, the larger
        it is. It says nothing of the true class: see `predict_set`.

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> from tremula import BaggingClassifier, CARTClassifier, Uncertainty
        >>> X, y = load_digits(return_X_y=True)
        >>> bagging = BaggingClassifier(CARTClassifier(), n_estimators=400, max_samples=0.2, random_state=0).fit(X, y)
        >>> Uncertainty(bagging, X, y).predict_stable_set(X[5:8], share=0.1).sum(axis=1)
        array([2, 1, 1])
        """
        self._check_classes("predict_stable_set")
        check_number("share", share, 0.0, 1.0, above=True)
        draw, trained = self._independent_draw(), self._trained
        if trained.adjusts_means:
            raise UnsupportedModel(
                f"{trained.name} adjusts the mean of its members, and the proof is for the mean alone"
            )
        if trained.learned_from_all:
            raise UnsupportedModel(
                f"{trained.name} has learned from all rows {trained.learned_from_all}, and the proof is for members "
                "that depend on their own rows alone"
            )
        variance = 1.0 - 1.0 / trained.n_outputs
        epsilon = largest_change(draw, variance, trained.n_members) / np.sqrt(share)
        return inflated_argmax(trained.outputs(trained.read(X)), float(epsilon))

    def certified_rows(self, X: Any, *, method: str = "members", confidence: float = 0.999) -> NDArray[np.int64]:
        """Count the training rows that may be changed, in any way, without changing the predicted class of each row.

        Parameters
        ----------
        X : array, data frame or table of shape (n_rows, n_attributes)
        method : {"members", "resampling"}, default="members"
            "members" holds for the trained members with certainty: those that were trained on none of the changed rows
            stay as they are. "resampling" holds for the vote of infinitely many members drawn in the same way, with
            probability `confidence` for each row; it needs ``combine="vote"`` and certifies more where it applies.
        confidence : float, default=0.999
            Only with "resampling".

        Returns
        -------
        int array of shape (n_rows,)
            With "resampling", -1 where not even the class of infinitely many members is certain.

        Notes
        -----
        The rows may get any values of the same types, and any of the known classes; their number, their order and the
        seed stay. Members of dagging have parts with the same shares of the classes, which changed classes would
        rearrange: there the classes stay too. "members" is deep partition aggregation (Levine and Feizi, 2021) where
        each row is in one member, and bounds the changes row by row where it is in several; "resampling" is the method
        of Jia, Cao and Gong (2021).

        Large numbers need members that see few rows: dagging, or bagging with a small `max_samples`.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from tremula import DaggingClassifier, Uncertainty
        >>> X, y = load_iris(return_X_y=True)
        >>> dagging = DaggingClassifier(n_estimators=15, random_state=0).fit(X, y)
        >>> Uncertainty(dagging, X, y).certified_rows(X[[0, 70, 133]])
        array([5, 4, 4])
        """
        self._check_classes("certified_rows")
        check_choice("method", method, METHODS)
        trained, rows = self._trained, self._trained.read(X)
        if trained.learned_from_all or trained.adjusts_means:
            reason = trained.learned_from_all or "how the means of its members are adjusted"
            raise UnsupportedModel(
                f"{trained.name} has learned from all rows {reason}: use bagging, dagging or a forest"
            )
        if method == "resampling":
            return self._certified_by_resampling(rows, confidence)
        rounding = 0.0 if trained.combine == "vote" else ROUNDING
        blocks = [
            certified_by_members(trained.all_outputs(block), np.ones(trained.n_members), trained.inbag > 0, rounding)
            for block in row_blocks(rows, ROWS_AT_A_TIME)
        ]
        return np.concatenate(blocks)

    def _certified_by_resampling(self, rows: Any, confidence: float) -> NDArray[np.int64]:
        trained = self._trained
        check_number("confidence", confidence, 0.0, above=True)
        if confidence >= 1.0:
            raise InvalidParameter(f"confidence={confidence!r} was given; expected a number below 1, such as 0.999")
        if trained.combine != "vote":
            raise InvalidParameter(
                f"method='resampling' certifies the vote of members, and this {trained.name} averages them: train it "
                "with combine='vote', or use method='members'"
            )
        codes = [np.asarray(member.predict_codes(rows)) for member in trained.members]
        votes = np.array([np.bincount(column, minlength=trained.n_outputs) for column in np.transpose(codes)])
        return certified_by_resampling(votes, self._independent_draw(), float(confidence))

    def _independent_draw(self) -> RowDraw:
        if self._trained.resampling == "other" or self._trained.groups is not None:
            raise UnsupportedModel(
                f"the members of {self._trained.name} were not trained on samples of rows drawn independently, with or "
                "without replacement: use bagging or a random forest, without groups"
            )
        return self._trained.draw
