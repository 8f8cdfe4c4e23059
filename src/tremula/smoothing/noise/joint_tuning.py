"""Chooses two amounts of noise together: one for the training rows and one for the row to predict.

Noise in training and noise in prediction are the same Gaussian convolution, before and after training; 0 means none.
Every pair is compared on the same rows, which the model, or a member of it, was not trained on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import clone

from tremula.display import ShortTable, ShownAsTable
from tremula.errors import InvalidParameter
from tremula.parameters import check_text, read_numbers

AMOUNTS = (0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3)


@dataclass(frozen=True, repr=False)
class NoisePair(ShownAsTable):
    """A wrapper trained with the best pair of amounts, and all pairs that were tried.

    Attributes
    ----------
    model : DualPerturbClassifier or DualPerturbRegressor
        Fitted; its `noise_` is the amount on the row to predict.
    training_noise : float
        The amount on the training rows.
    amounts : array (n_amounts,)
        Amounts on the training rows that were tried.
    best_noise : array (n_amounts,)
        For each of them the amount that was chosen on the row to predict; the mean of those of all attributes if each
        attribute has its own.
    losses : array (n_amounts,)
        The loss of each pair.
    """

    model: Any
    training_noise: float
    amounts: NDArray[np.float64]
    best_noise: NDArray[np.float64]
    losses: NDArray[np.float64]

    def _short_table(self) -> ShortTable:
        columns = zip(self.amounts, self.best_noise, self.losses, strict=True)
        rows = [(f"{amount:.3g}", f"{noise:.3g}", f"{loss:.4g}") for amount, noise, loss in columns]
        best = self.best_noise[np.argmin(np.abs(self.amounts - self.training_noise))]
        caption = f"noise {self.training_noise:.3g} on training rows, {best:.3g} on the row to predict"
        return ShortTable(caption, ["training rows", "row to predict", "loss"], rows)


def _fit_candidates(wrapper: Any, X: Any, y: Any, candidates: Sequence[dict[str, float]]) -> list[Any]:
    """Fit a copy of the wrapper with each of some parameters, in processes if it has several jobs."""
    n_jobs = min(effective_n_jobs(wrapper.n_jobs), len(candidates))
    copies = [clone(wrapper).set_params(**parameters) for parameters in candidates]
    if n_jobs == 1:
        return [copy.fit(X, y) for copy in copies]
    # Processes: reading a model changes the filters of warnings, which threads share.
    work = (delayed(_fit)(copy.set_params(n_jobs=1), X, y) for copy in copies)
    fitted = Parallel(n_jobs=n_jobs, prefer="processes")(work)
    return [each.set_params(n_jobs=wrapper.n_jobs) for each in fitted]


def _fit(wrapper: Any, X: Any, y: Any) -> Any:
    return wrapper.fit(X, y)


def tune_together(
    wrapper: Any, X: Any, y: Any, *, amounts: Sequence[float] = AMOUNTS, parameter: str = "noise"
) -> NoisePair:
    """Fit dual perturb and combine around a model that smears its training rows, and choose both amounts.

    Parameters
    ----------
    wrapper : DualPerturbClassifier or DualPerturbRegressor
        With ``noise="auto"``, around an estimator that is not fitted, such as `SmearedBaggingClassifier`. With several
        `n_jobs` the amounts are tried in as many processes; the result does not depend on it.
    X, y : table and target
    amounts : sequence of float, default=(0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3)
        Amounts on the training rows to try; for each, the wrapper searches the amount on the row to predict.
    parameter : str, default="noise"
        Name of the parameter of the wrapped estimator that is the amount.

    Returns
    -------
    NoisePair
        Of pairs with equal loss, the one with less noise on the training rows.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import tremula as tm
    >>> X, y = load_iris(return_X_y=True)
    >>> smeared = tm.SmearedBaggingClassifier(n_estimators=10, random_state=0)
    >>> pair = tm.tune_together(tm.DualPerturbClassifier(smeared), X, y, amounts=[0.0, 0.1])
    >>> pair.training_noise in (0.0, 0.1), pair.losses.shape, pair.model.predict(X[:2])
    (True, (2,), array([0, 0]))
    """
    tried = sorted(set(np.atleast_1d(read_numbers("amounts", amounts, "numbers such as [0.0, 0.1]")).ravel().tolist()))
    if not tried:
        raise InvalidParameter("amounts is empty: give amounts of noise on the training rows, such as [0.0, 0.1]")
    if getattr(wrapper, "noise", None) != "auto":
        raise InvalidParameter(
            f"the wrapper has noise={getattr(wrapper, 'noise', None)!r}, so only one amount is left to choose: "
            "set noise='auto'"
        )
    check_text("parameter", parameter)
    if parameter not in (wrapper.estimator.get_params() if wrapper.estimator is not None else {}):
        raise InvalidParameter(
            f"the wrapped estimator {type(wrapper.estimator).__name__} has no parameter {parameter!r}: wrap one that "
            "smears its training rows, such as SmearedBaggingClassifier"
        )
    fitted = _fit_candidates(wrapper, X, y, [{f"estimator__{parameter}": amount} for amount in tried])
    losses = np.array([candidate.noise_loss_ for candidate in fitted])
    best_noise = np.array([np.mean(candidate.noise_) for candidate in fitted])
    best = int(np.argmin(losses))
    return NoisePair(fitted[best], tried[best], np.array(tried), best_noise, losses)
