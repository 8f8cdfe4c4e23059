"""How sure a trained ensemble is of its predictions, from the rows that its members left out; nothing is trained."""

from __future__ import annotations

import warnings
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tremula.errors import InvalidParameter, UnsupportedModel, counted
from tremula.parameters import check_choice, check_flag, check_jobs, check_number, read_numbers
from tremula.uncertainty.intervals import METHODS as INTERVAL_METHODS
from tremula.uncertainty.intervals import Intervals
from tremula.uncertainty.label_sets import METHODS as SET_METHODS
from tremula.uncertainty.label_sets import LabelSets
from tremula.uncertainty.model_reader import read_trained
from tremula.uncertainty.proven_stability import ProvenStabilityMixin
from tremula.uncertainty.quantiles import INTERPOLATIONS, LeafQuantiles
from tremula.uncertainty.row_check import check_training_rows
from tremula.uncertainty.standard_errors import StandardErrors
from tremula.uncertainty.trained_members import Floats


def _has_bounded_leaves(model: Any) -> bool:
    """Whether `monotonic_cst` may have cut leaves off at values that the targets of their rows do not give."""
    last = getattr(model, "best_estimator_", model)
    last = last[-1] if hasattr(last, "named_steps") else last
    return any(getattr(each, "monotonic_cst", None) is not None for each in (last, getattr(last, "estimator", None)))


class Uncertainty(ProvenStabilityMixin):
    """How sure a trained ensemble is of its predictions.

    Parameters
    ----------
    model : fitted ensemble
        An ensemble of tremula whose members leave rows out (bagging, random forests, input smearing, Aspen, and others
        with ``bootstrap=True``); or a random forest, extra trees with ``bootstrap=True`` or bagging of trees of
        scikit-learn. It may be the last step of a pipeline, or the result of a search. It is not changed.
    X : array, data frame or table of shape (n_rows, n_attributes)
        The rows of its training again, in the same order: a model does not store them. Other rows are refused.
    y : array of shape (n_rows,)
        Their targets.
    sample_weight : array of shape (n_rows,) or None, default=None
        Their weights, if they were given to `fit`. They count in the rows of leaves. In intervals, sets and standard
        errors each row counts once, and rows of weight 0 not at all.
    n_jobs : int or None, default=None
        Number of members asked in parallel; None takes that of the model.

    Notes
    -----
    Which members have seen which rows follows from the seed of the model: the rows are drawn again. This keeps
    models small, and `fit` and `predict` fast.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from tremula import RandomForestRegressor, Uncertainty
    >>> X, y = load_diabetes(return_X_y=True)
    >>> forest = RandomForestRegressor(random_state=0).fit(X[:300], y[:300])
    >>> uncertainty = Uncertainty(forest, X[:300], y[:300])
    >>> low, high = uncertainty.predict_interval(X[300:], coverage=0.9).T
    >>> float(((low <= y[300:]) & (y[300:] <= high)).mean().round(2))
    0.89
    """

    def __init__(self, model: Any, X: Any, y: Any, *, sample_weight: Any = None, n_jobs: int | None = None) -> None:
        check_jobs("n_jobs", n_jobs)
        self.model = model
        self._trained = read_trained(model, X, y, sample_weight, n_jobs)
        if not _has_bounded_leaves(model):
            check_training_rows(self._trained)
        if not (self._trained.inbag == 0).any():
            raise UnsupportedModel(
                f"no row is out of bag for any member of this {type(model).__name__}: draw fewer rows (max_samples), "
                "or train more members"
            )

    def __repr__(self) -> str:
        return (
            f"Uncertainty({type(self.model).__name__}, n_rows={self._trained.n_rows}, "
            f"n_members={self._trained.n_members})"
        )

    # --- numbers ---

    def predict_quantiles(
        self, X: Any, quantiles: ArrayLike = (0.05, 0.5, 0.95), *, interpolation: str = "inverted_cdf"
    ) -> Floats:
        """Predict quantiles of the target of each row, from the training rows in the leaves that it reaches.

        Parameters
        ----------
        X : array, data frame or table of shape (n_rows, n_attributes)
        quantiles : array of shape (n_quantiles,), default=(0.05, 0.5, 0.95)
            Between 0 and 1.
        interpolation : {"inverted_cdf", "linear"}, default="inverted_cdf"
            The smallest target at which the share of the weight is not less; or between two targets, by the rule of the
            package quantile-forest.

        Returns
        -------
        array of shape (n_rows, n_quantiles)

        Notes
        -----
        Each row of a leaf has the weight by which it enters the mean of the leaf, times the weight of the member
        (Meinshausen, 2006). Where the tree divides a row with a missing value, the row reaches several leaves, in
        shares. In a model tree a row stands for the prediction plus its residual. What an Aspen adds to the mean of
        its members is added to all values.

        Quantiles describe the targets in the leaves. They are not calibrated: with small leaves or few rows, fewer new
        targets may lie between two quantiles than their difference says. `predict_interval` is.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from tremula import RandomForestRegressor, Uncertainty
        >>> X, y = load_diabetes(return_X_y=True)
        >>> forest = RandomForestRegressor(min_samples_leaf=5, random_state=0).fit(X, y)
        >>> Uncertainty(forest, X, y).predict_quantiles(X[:2], [0.1, 0.5, 0.9])
        array([[132., 198., 281.],
               [ 52.,  75., 114.]])
        """
        self._check_numbers("predict_quantiles")
        wanted = _read_quantiles(quantiles, interpolation)
        return self._quantiles.predict(self._trained.read(X), wanted, interpolation)

    def oob_quantiles(self, quantiles: ArrayLike = (0.05, 0.5, 0.95), *, interpolation: str = "inverted_cdf") -> Floats:
        """Predict quantiles of the target of each training row, by the members that were not trained on it.

        Parameters
        ----------
        quantiles, interpolation : as for `predict_quantiles`

        Returns
        -------
        array of shape (n_training_rows, n_quantiles)
            NaN for a row that all members, of one family of an Aspen, were trained on.
        """
        self._check_numbers("oob_quantiles")
        return self._quantiles.out_of_bag(_read_quantiles(quantiles, interpolation), interpolation)

    def predict_interval(self, X: Any, coverage: float = 0.9, *, method: str = "scaled") -> Floats:
        """Predict an interval for the target of each row.

        Parameters
        ----------
        X : array, data frame or table of shape (n_rows, n_attributes)
        coverage : float, default=0.9
            Share of new rows whose target lies in their interval.
        method : {"scaled", "oob", "jackknife+"}, default="scaled"
            "oob" adds to each prediction a bound of the sizes of the out-of-bag residuals: all intervals have the same
            width. "scaled" divides these sizes by the spread of the members, and is wide where they disagree.
            "jackknife+" bounds the predictions without each training row, plus or minus its residual; its time is
            proportional to the rows times the training rows.

        Returns
        -------
        array of shape (n_rows, 2)
            Lower and upper bounds.

        Notes
        -----
        All three assume that new rows come from the same source as those of training. With "jackknife+" the coverage
        is then at least ``1 - 2 * (1 - coverage)`` on average, whatever the data and the learner, if the number of
        members was drawn from a binomial distribution (Kim, Xu and Barber, 2020); it is about `coverage` in practice.
        With "oob" and "scaled" it approaches `coverage` as the training rows become more, if single rows change the
        predictions ever less; for few rows there is no guarantee. The choices of Aspen, and noise chosen by the data,
        were made on the same rows, so for these models no guarantee is proven; nor is it where groups, blocks of rows
        or balanced classes were drawn. With groups, residuals are those of rows of other groups, and intervals are
        made for rows of new groups. The guide has the coverage measured on many datasets.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from tremula import RandomForestRegressor, Uncertainty
        >>> X, y = load_diabetes(return_X_y=True)
        >>> forest = RandomForestRegressor(random_state=0).fit(X, y)
        >>> Uncertainty(forest, X, y).predict_interval(X[:2]).round()
        array([[ 87., 280.],
               [ 22., 140.]])
        """
        self._check_numbers("predict_interval")
        _check_coverage(coverage)
        check_choice("method", method, INTERVAL_METHODS)
        return self._intervals.predict(self._trained.read(X), float(coverage), method)

    # --- classes ---

    def predict_set(
        self, X: Any, coverage: float = 0.9, *, method: str = "oob", by_class: bool = False
    ) -> NDArray[np.bool_]:
        """Predict a set of classes for each row.

        Parameters
        ----------
        X : array, data frame or table of shape (n_rows, n_attributes)
        coverage : float, default=0.9
            Share of new rows whose class is in their set.
        method : {"oob", "jackknife+"}, default="oob"
            "oob" includes the classes whose probability is not below that of the true class of most out-of-bag rows.
            "jackknife+" compares with each training row by the members that were not trained on it; its time is
            proportional to the rows times the training rows.
        by_class : bool, default=False
            Whether `coverage` is aimed at for the rows of every class, not only for all rows together.

        Returns
        -------
        bool array of shape (n_rows, n_classes)
            Whether each class, in the order of ``classes_``, is in the set. A set may be empty: then no class is as
            probable as the true class of most rows.

        Notes
        -----
        The guarantees are those of `predict_interval`, of "jackknife+" too (Romano, Sesia and Candes, 2020).

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from tremula import RandomForestClassifier, Uncertainty
        >>> X, y = load_iris(return_X_y=True)
        >>> forest = RandomForestClassifier(random_state=0).fit(X, y)
        >>> Uncertainty(forest, X, y).predict_set(X[[0, 70, 133]], coverage=0.98)
        array([[ True, False, False],
               [False,  True,  True],
               [False,  True,  True]])
        """
        self._check_classes("predict_set")
        _check_coverage(coverage)
        check_choice("method", method, SET_METHODS)
        check_flag("by_class", by_class)
        return self._sets.predict(self._trained.read(X), float(coverage), method, bool(by_class))

    # --- both ---

    def predict_std(self, X: Any) -> Floats:
        """Predict the standard error of the prediction of each row: how much it would vary with the training rows.

        Parameters
        ----------
        X : array, data frame or table of shape (n_rows, n_attributes)

        Returns
        -------
        array of shape (n_rows,) or (n_rows, n_classes)
            For numbers, or for the probability of each class. NaN, with a warning, where members are too few to tell
            the error from the noise of their draws.

        Notes
        -----
        The infinitesimal jackknife, corrected for its bias by the number of members (Wager, Hastie and Efron, 2014). It
        needs about as many members as there are training rows. The error is that of the prediction as an estimate of
        its mean; the deviation of single targets from it is not included, as it is in `predict_interval`. Where groups
        were drawn, they take the place of rows: the error is that over other groups. What a model
        has chosen by the data (weights, calibration and corrections of Aspen, an amount of noise) is taken as given.

        With few training rows the error is too small, however many members there are: an interval of 1.96 errors to
        either side holds the mean less often than 95 % of the time, as the guide's page "How often tremula errs" has it
        for 80 rows. Use it to compare rows, not to test.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from tremula import RandomForestRegressor, Uncertainty
        >>> X, y = load_diabetes(return_X_y=True)
        >>> forest = RandomForestRegressor(n_estimators=500, random_state=0).fit(X, y)
        >>> Uncertainty(forest, X, y).predict_std(X[:3]).round(1)
        array([29.4,  9.1, 18.4])
        """
        variances = self._errors.variances(self._trained.read(X))
        n_unknown = int((variances < 0).any(axis=1).sum())
        if n_unknown:
            warnings.warn(
                f"the standard error of {counted(n_unknown, 'row')} is NaN: {self._trained.n_members} members are too "
                f"few to tell it from the noise of their draws; train more, and at least about as many as there are "
                f"training rows, {self._trained.n_rows}",
                stacklevel=2,
            )
        errors = np.sqrt(np.where(variances < 0, np.nan, variances))
        return np.asarray(errors[:, 0] if self._trained.classes is None else errors)

    # --- parts that are made when first needed ---

    @cached_property
    def _quantiles(self) -> LeafQuantiles:
        return LeafQuantiles(self._trained)

    @cached_property
    def _intervals(self) -> Intervals:
        return Intervals(self._trained)

    @cached_property
    def _sets(self) -> LabelSets:
        return LabelSets(self._trained)

    @cached_property
    def _errors(self) -> StandardErrors:
        return StandardErrors(self._trained)

    def _check_classes(self, method: str) -> None:
        if self._trained.classes is None:
            raise UnsupportedModel(
                f"{self._trained.name} predicts numbers, and {method} is for classes: use predict_interval"
            )

    def _check_numbers(self, method: str) -> None:
        if self._trained.classes is not None:
            raise UnsupportedModel(
                f"{self._trained.name} predicts classes, and {method} is for numbers: use predict_set, or a regressor"
            )


def _check_coverage(coverage: float) -> None:
    check_number("coverage", coverage, 0.0, above=True)
    if coverage >= 1.0:
        raise InvalidParameter(f"coverage={coverage!r} was given; expected a number above 0 and below 1, such as 0.9")


def _read_quantiles(quantiles: ArrayLike, interpolation: str) -> Floats:
    check_choice("interpolation", interpolation, INTERPOLATIONS)
    wanted = np.atleast_1d(read_numbers("quantiles", quantiles, "numbers between 0 and 1, as [0.05, 0.95]"))
    if wanted.ndim != 1 or not ((wanted >= 0.0) & (wanted <= 1.0)).all():
        raise InvalidParameter(f"quantiles={quantiles!r} was given; expected numbers between 0 and 1, as [0.05, 0.95]")
    return wanted
