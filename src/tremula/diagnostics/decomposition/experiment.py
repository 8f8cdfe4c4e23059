"""All of a decomposition but the estimator: training rows, test rows and loss.

Estimators that run in the same experiment learn from the same rows with the same seeds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tremula.diagnostics.decomposition.learning_sets import (
    FEWEST_MODELS,
    MOST_MODELS,
    Division,
    Sizes,
    divide,
    generate_sets,
)
from tremula.diagnostics.decomposition.losses import LOSSES, Truth, choose_loss, observed_target, read_truth
from tremula.diagnostics.decomposition.result import TERMS, BiasVariance
from tremula.diagnostics.decomposition.retraining import Answers, Task, gather_answers, read_task, require_estimator
from tremula.diagnostics.decomposition.terms import CORRECTIONS, terms_left_out, terms_of
from tremula.diagnostics.significance.intervals import check_confidence, interval_of
from tremula.errors import InvalidParameter
from tremula.parameters import check_choice, check_jobs, check_number
from tremula.seeds import RandomState, make_generator, make_root_seed

LEAST = {"bias": -np.inf}  # an unbiased estimate of a bias near zero is often below it


@dataclass(frozen=True)
class Experiment:
    """All of a decomposition but the estimator: training rows, test rows and loss."""

    loss: str
    scheme: str
    task: Task
    divisions: list[Division]
    truth: Any
    noise: Any
    generated: bool
    bias_correction: str
    least_probability: float
    confidence: float
    root_seed: int
    n_jobs: int | None

    def run(self, estimator: Any) -> BiasVariance:
        """Train a model on every learning set and decompose the error."""
        ask = LOSSES[self.loss].ask
        answers = gather_answers(estimator, self.task, self.divisions, ask, self.root_seed, self.n_jobs)
        if self.loss == "log_loss":
            answers = _away_from_zero(answers, self.least_probability)
        truth = read_truth(self.loss, self.task, answers.rows, self.truth, self.noise, self.generated)
        return self._take_apart(answers, truth)

    def _take_apart(self, answers: Answers, truth: Truth) -> BiasVariance:
        loss = LOSSES[self.loss]
        scale = loss.scale(self.task.width)
        spread = loss.spread_of(answers.values, answers.tested, truth.target, scale)
        # The logarithm's loss to true probabilities is a cross-entropy, with their entropy in it.
        in_loss = truth.in_loss or self.loss == "log_loss"
        per_row = terms_of(spread, truth.noise, in_loss, self.bias_correction)
        left_out = terms_left_out(spread, truth.noise, in_loss, self.bias_correction)
        observed = observed_target(self.task, answers.rows)
        return BiasVariance(
            loss=self.loss,
            scheme=self.scheme,
            **{term: float(per_row[term].mean()) for term in TERMS},
            intervals={
                term: interval_of(per_row[term], left_out[term], self.confidence, LEAST.get(term, 0.0))
                for term in TERMS
            },
            per_row=per_row,
            n_models=answers.n_models,
            confidence=self.confidence,
            bias_correction=self.bias_correction,
            observed_error=float(loss.spread_of(answers.values, answers.tested, observed, scale).loss.mean()),
            test_rows=answers.rows,
        )


def _away_from_zero(answers: Answers, least: float) -> Answers:
    values = np.maximum(answers.values, least)
    return Answers(values / values.sum(axis=2, keepdims=True), answers.tested, answers.rows, answers.n_models)


def prepare(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    loss: str = "auto",
    scheme: Any = "auto",
    n_models: int = 50,
    train_size: int | float | None = None,
    test_size: int | float | None = None,
    truth: Any = None,
    noise: Any = None,
    bias_correction: str = "both",
    least_probability: float = 1e-6,
    confidence: float = 0.95,
    n_jobs: int | None = None,
    random_state: RandomState = None,
) -> Experiment:
    """Check the arguments of `bias_variance` and draw the learning sets."""
    require_estimator(estimator)
    chosen = choose_loss(estimator, loss)
    check_choice("bias_correction", bias_correction, CORRECTIONS)
    check_number("n_models", n_models, FEWEST_MODELS, MOST_MODELS, whole=True)
    check_jobs("n_jobs", n_jobs)
    check_number("least_probability", least_probability, 0.0, 0.5, above=True)
    confidence = check_confidence(confidence)
    random = make_generator(random_state)
    numeric = chosen == "squared_error"
    if callable(X):
        name, task, divisions = _generated(X, y, scheme, n_models, train_size, test_size, random, numeric)
    else:
        name = ("pool" if scheme == "auto" else scheme) if isinstance(scheme, str) else "given"
        task = read_task(X, y, numeric)
        n_rows = len(task.target)
        sizes = Sizes.of(n_models, train_size, test_size, n_rows)
        divisions = divide("pool" if name == "pool" else scheme, n_rows, sizes, random)
    seed = make_root_seed(random)
    generated = callable(X)
    return Experiment(
        chosen,
        name,
        task,
        divisions,
        truth,
        noise,
        generated,
        bias_correction,
        least_probability,
        confidence,
        seed,
        n_jobs,
    )


def _generated(
    generate: Any,
    y: Any,
    scheme: Any,
    n_models: int,
    train_size: Any,
    test_size: Any,
    random: np.random.Generator,
    numeric: bool,
) -> tuple[str, Task, list[Division]]:
    if y is not None:
        raise InvalidParameter("y was given with a generator of data, which gives X and y: leave y out")
    if not isinstance(scheme, str) or scheme not in ("auto", "fresh"):
        raise InvalidParameter(
            f"scheme={scheme!r} was given with a generator of data: only 'fresh' sets make sense there"
        )
    for name, size in (("train_size", train_size), ("test_size", test_size)):
        if size is not None:
            check_number(name, size, 1, whole=True)
    X, target, divisions = generate_sets(generate, Sizes(n_models, train_size, test_size), random)
    return "fresh", read_task(X, target, numeric), divisions
