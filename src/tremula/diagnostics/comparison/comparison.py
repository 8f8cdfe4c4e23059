"""Comparison of methods on one dataset: the same splits for all, all predictions kept, differences tested in pairs.

Lower errors are always better, whatever the scoring.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from tremula.diagnostics.comparison.method_names import place_of
from tremula.diagnostics.comparison.scoring import OF_PREDICTIONS, OF_PROBABILITIES, choose_scoring, has_row_losses
from tremula.diagnostics.comparison.split_fit import (
    Answer,
    Estimators,
    Floats,
    answer_split,
    read_estimators,
    read_y,
    require_probabilities,
)
from tremula.diagnostics.comparison.splits import is_five_by_two, make_splits, refuse_missing_classes
from tremula.diagnostics.comparison.verdict import Verdict
from tremula.diagnostics.frames import make_frame
from tremula.diagnostics.significance.multiple_testing import adjust_p_values
from tremula.diagnostics.significance.paired import TestResult
from tremula.diagnostics.significance.registry import TESTS
from tremula.display import ShortTable, ShownAsTable
from tremula.errors import InvalidInput, InvalidParameter
from tremula.folds import Rows, Split
from tremula.parameters import check_choice, check_flag, check_jobs, read_names
from tremula.seeds import make_generator


def compare(
    estimators: Estimators,
    X: Any,
    y: Any,
    *,
    cv: Any = 10,
    scoring: Any = None,
    groups: Any = None,
    allow_missing_classes: bool = False,
    n_jobs: int | None = None,
    random_state: Any = None,
) -> Comparison:
    """Train and test several estimators on the same splits of one dataset, and keep all predictions.

    Parameters
    ----------
    estimators : dict of str to estimator, or list of (str, estimator)
        scikit-learn classifiers or regressors, by name; they are cloned.
    X : array, frame or sparse matrix of shape (n_rows, n_attributes)
        Rows, in any form that all estimators take.
    y : array-like of shape (n_rows,)
        Classes or numbers.
    cv : int, '5x2', splitter or list of (training rows, test rows), default=10
        A number of folds (shuffled; stratified for classifiers), five repetitions of two folds, anything with the
        method `split`, or the splits themselves: one pair is a single test set.
    scoring : str or callable, default=None
        For classifiers "error" (the default), "log_loss" or "brier"; for regressors "squared_error" (the default) or
        "absolute_error"; or a scorer of scikit-learn or its name, whose sign is reversed so that lower is better.
    groups : array-like of shape (n_rows,), default=None
        Passed to the splitter.
    allow_missing_classes : bool, default=False
        Whether the training rows of a split may lack a class; such a class gets probability 0.
    n_jobs : int or None, default=None
        As in joblib, over estimators and splits; in threads unless `joblib.parallel_config` sets another backend. The
        result does not depend on it.
    random_state : int, RandomState, Generator or None, default=None
        Seeds the folds, and every estimator whose `random_state` is None.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.dummy import DummyClassifier
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from tremula.diagnostics import compare
    >>> X, y = load_iris(return_X_y=True)
    >>> result = compare({"naive Bayes": GaussianNB(), "majority": DummyClassifier()}, X, y, random_state=0)
    >>> print(result.verdicts()[0])
    naive Bayes is better than majority on this data: 62.0 points, 95 % interval 56.3 to 67.7 (corrected t, p < 0.001).
    """
    named = read_estimators(estimators)
    check_flag("allow_missing_classes", allow_missing_classes)
    classes, target = read_y(named, X, y)
    scoring = choose_scoring(scoring, classes is not None)
    require_probabilities(named, scoring)
    generator = make_generator(random_state)
    fold_seed = None if random_state is None else int(generator.integers(2**31))
    check_jobs("n_jobs", n_jobs)
    splits = make_splits(cv, X, target, groups, classes is not None, fold_seed)
    if classes is not None and not allow_missing_classes:
        refuse_missing_classes(splits, np.searchsorted(classes, target), classes)
    seeds = [None if random_state is None else int(seed) for seed in generator.integers(2**31, size=len(splits))]
    scorer = None if has_row_losses(scoring) else scoring
    answers = Parallel(n_jobs=n_jobs, prefer="threads")(
        delayed(answer_split)(name, estimator, X, target, classes, split, seed, scorer)
        for name, estimator in named.items()
        for split, seed in zip(splits, seeds)
    )
    by_estimator = [answers[first : first + len(splits)] for first in range(0, len(answers), len(splits))]
    return _gather(list(named), by_estimator, splits, target, classes, scoring)


def _gather(
    names: list[str],
    answers: list[list[Answer]],
    splits: list[Split],
    y: NDArray[Any],
    classes: NDArray[Any] | None,
    scoring: Any,
) -> Comparison:
    comparison = Comparison(
        names=names,
        errors=np.array([[answer.score for answer in row] for row in answers], dtype=np.float64),
        predictions=[[answer.predictions for answer in row] for row in answers],
        probabilities=[
            None if row[0].probabilities is None else [np.asarray(answer.probabilities) for answer in row]
            for row in answers
        ],
        train_rows=[train for train, _ in splits],
        test_rows=[test for _, test in splits],
        y=y,
        classes=classes,
        scoring=scoring if isinstance(scoring, str) else f"scorer {getattr(scoring, '__name__', scoring)}",
    )
    if not has_row_losses(scoring):
        return comparison
    errors = [[float(np.mean(losses)) for losses in comparison.row_losses(name)] for name in names]
    return replace(comparison, errors=np.array(errors))


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(ShownAsTable):
    """Several methods on the same splits of one dataset; made by `compare`.

    Attributes
    ----------
    names : list of str
        Names of the methods.
    errors : array of shape (n_methods, n_splits)
        Errors, lower is better; for a scikit-learn scorer, the negative score.
    predictions : list of list of arrays
        By method and split, one value for each of `test_rows`.
    probabilities : list of (list of arrays, or None)
        By method and split, one column for each of `classes`; None for a method that has none.
    train_rows, test_rows : list of arrays
        Row numbers for training and testing, by split.
    y : array of shape (n_rows,)
        The target.
    classes : array or None
        Sorted; None for regression.
    scoring : str
        The loss in `errors`.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from tremula import C45Classifier
    >>> from tremula.diagnostics import compare
    >>> X, y = load_wine(return_X_y=True)
    >>> result = compare({"C4.5": C45Classifier(), "naive Bayes": GaussianNB()}, X, y, random_state=0)
    >>> print(result)
    error over 10 splits
    C4.5         0.0840 (sd 0.0604)
    naive Bayes  0.0284 (sd 0.0408)
    >>> round(result.test("C4.5", "naive Bayes", "paired t").p_value, 3)
    0.015
    """

    names: list[str]
    errors: Floats
    predictions: list[list[NDArray[Any]]]
    probabilities: list[list[Floats] | None]
    train_rows: list[Rows]
    test_rows: list[Rows]
    y: NDArray[Any]
    classes: NDArray[Any] | None
    scoring: str

    @cached_property
    def splits(self) -> list[Split]:
        """Pairs of training rows and test rows."""
        return list(zip(self.train_rows, self.test_rows))

    @cached_property
    def n_train(self) -> NDArray[np.int64]:
        """Number of training rows, by split."""
        return np.array([len(rows) for rows in self.train_rows])

    @cached_property
    def n_test(self) -> NDArray[np.int64]:
        """Number of test rows, by split."""
        return np.array([len(rows) for rows in self.test_rows])

    @property
    def mean_errors(self) -> Floats:
        """Mean over the splits, by method."""
        return np.asarray(self.errors.mean(axis=1))

    def place(self, name: str) -> int:
        """Return the number of a method by its name."""
        return place_of(name, self.names)

    def row_losses(self, name: str) -> list[Floats]:
        """Return the loss of every test row, by split, for a scoring that is a mean over rows."""
        place = self.place(name)
        if self.scoring in OF_PREDICTIONS:
            loss, answers, truth = OF_PREDICTIONS[self.scoring], self.predictions[place], self.y
        elif self.scoring in OF_PROBABILITIES and self.classes is not None:
            loss, answers = OF_PROBABILITIES[self.scoring], self.probabilities[place] or []
            truth = np.searchsorted(self.classes, self.y)
        else:
            raise InvalidParameter(f"scoring {self.scoring!r} is not a mean over rows, so there are no losses per row")
        return [loss(truth[rows], answer) for rows, answer in zip(self.test_rows, answers)]

    def choose_test(self) -> str:
        """Return the test that "auto" stands for: the one whose assumptions the splits meet best.

        McNemar's on a single test set (the paired t test over its rows for losses other than the error), 5x2 F for
        five repetitions of two folds, and the corrected t test for all other splits, since their training sets overlap.
        """
        if len(self.test_rows) == 1:
            return "mcnemar" if self.scoring == "error" else "paired t"
        return "5x2 F" if is_five_by_two(self.splits) else "corrected t"

    def test(self, first: str, second: str, test: str = "auto", *, confidence: float = 0.95) -> TestResult:
        """Test the difference of two methods, errors of the first minus those of the second.

        Parameters
        ----------
        first, second : str
            Names of methods.
        test : {'auto', 'corrected t', 'paired t', '5x2 F', 'mcnemar', 'proportions'}, default='auto'
            "auto" is what `choose_test` gives.
        confidence : float, default=0.95
            Confidence of the interval.
        """
        check_choice("test", test, ["auto", *TESTS])
        chosen = self.choose_test() if test == "auto" else test
        return TESTS[chosen](self, self.place(first), self.place(second), confidence)

    def verdicts(
        self, baseline: str | None = None, test: str = "auto", correction: str = "holm", *, confidence: float = 0.95
    ) -> list[Verdict]:
        """Return a verdict on every pair of methods, or on every other method against one.

        Parameters
        ----------
        baseline : str or None, default=None
            Name of the method that all others are compared with; None for all pairs.
        test : str, default='auto'
            As in `test`.
        correction : {'holm', 'bonferroni', 'benjamini-hochberg', 'none'}, default='holm'
            For the number of pairs.
        confidence : float, default=0.95
            A difference counts as significant if the adjusted p-value is at most 1 - confidence.
        """
        if len(self.names) < 2:
            raise InvalidInput(f"there is one method, {self.names[0]!r}: a verdict needs two")
        if baseline is None:
            pairs = list(combinations(self.names, 2))
        else:
            other = self.names[self.place(baseline)]
            pairs = [(name, other) for name in self.names if name != other]
        results = [self.test(*pair, test=test, confidence=confidence) for pair in pairs]
        adjusted = adjust_p_values([result.p_value for result in results], correction)
        return [
            Verdict(*pair, result, float(p_value), correction, len(pairs), self.scoring)
            for pair, result, p_value in zip(pairs, results, adjusted)
        ]

    def choose(self, names: Sequence[str]) -> Comparison:
        """Return the comparison of some of the methods, in this order; only their pairs are then corrected for."""
        chosen = read_names("names", names)
        places = [self.place(name) for name in chosen]
        return replace(
            self,
            names=chosen,
            errors=self.errors[places],
            predictions=[self.predictions[place] for place in places],
            probabilities=[self.probabilities[place] for place in places],
        )

    def join(self, other: Comparison) -> Comparison:
        """Return one comparison of the methods of two, which must be of the same data, splits and scoring."""
        if not isinstance(other, Comparison):
            raise InvalidInput(f"other is of type {type(other).__name__}: give a Comparison")
        if self.scoring != other.scoring:
            raise InvalidInput(
                f"one comparison is by {self.scoring!r}, the other by {other.scoring!r}: use one scoring"
            )
        if not np.array_equal(self.y, other.y):
            raise InvalidInput("the two comparisons are of different targets: join comparisons of the same rows only")
        if not _same_splits(self.splits, other.splits):
            raise InvalidInput(
                f"the two comparisons have different splits ({len(self.splits)} and {len(other.splits)}): a paired "
                "test compares methods on the same splits; give both the same cv and random_state"
            )
        twice = sorted(set(self.names) & set(other.names))
        if twice:
            raise InvalidInput(f"both comparisons have a method called {', '.join(map(repr, twice))}: rename one")
        return replace(
            self,
            names=self.names + other.names,
            errors=np.concatenate([self.errors, other.errors]),
            predictions=self.predictions + other.predictions,
            probabilities=self.probabilities + other.probabilities,
        )

    def to_frame(self) -> Any:
        """Return the errors as a pandas frame, one row for each method and split."""
        n_methods, n_splits = self.errors.shape
        return make_frame(
            {
                "method": np.repeat(self.names, n_splits),
                "split": np.tile(np.arange(n_splits), n_methods),
                "n_train": np.tile(self.n_train, n_methods),
                "n_test": np.tile(self.n_test, n_methods),
                "error": self.errors.ravel(),
            }
        )

    @property
    def _caption(self) -> str:
        n_splits = self.errors.shape[1]
        measure = self.scoring.replace("_", " ")
        return f"{measure} on one split" if n_splits == 1 else f"{measure} over {n_splits} splits"

    @property
    def _spreads(self) -> list[str]:
        """Standard deviations over the splits, in words; empty for a single split."""
        if self.errors.shape[1] == 1:
            return [""] * len(self.names)
        return [f"{spread:.4f}" for spread in self.errors.std(axis=1, ddof=1)]

    def _short_table(self) -> ShortTable:
        means = [f"{mean:.4f}" for mean in self.mean_errors]
        rows = list(zip(self.names, means, self._spreads, strict=True))
        return ShortTable(self._caption, ["method", "mean", "standard deviation"], rows)

    def __str__(self) -> str:
        width = max(map(len, self.names))
        lines = [f"{name:<{width}}  {mean:.4f}" for name, mean in zip(self.names, self.mean_errors)]
        spreads = [f" (sd {spread})" if spread else "" for spread in self._spreads]
        return "\n".join([self._caption, *map(str.__add__, lines, spreads)])


def _same_splits(first: list[Split], second: list[Split]) -> bool:
    return len(first) == len(second) and all(
        np.array_equal(rows, other_rows)
        for pair, other_pair in zip(first, second)
        for rows, other_rows in zip(pair, other_pair)
    )
