"""Results show themselves shortly: text at a prompt, a table in a notebook, never long arrays."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris

import tremula as tm
from tremula.diagnostics import kappa_error
from tremula.display import MOST_ROWS, ShortTable
from tremula.lab.datasets import load_dataset
from tremula.lab.papers.paper import ShownTable
from tremula.queries import ArrayOracle, GuardedOracle, Question

X, Y = load_iris(return_X_y=True)
TREE = tm.CARTClassifier(max_depth=2)
FOREST = tm.RandomForestClassifier(n_estimators=4, random_state=0).fit(X, Y)


def comparison(**options: Any) -> Any:
    return tm.diagnostics.compare({"tree": TREE, "forest <1>": FOREST}, X, Y, cv=3, random_state=0, **options)


def bias_variance_curve() -> Any:
    return tm.diagnostics.bias_variance_curve(
        TREE, X, Y, parameter="max_depth", values=[1, 2], n_models=4, random_state=0
    )


def weight_trace() -> Any:
    boosted = tm.AdaBoostM1Classifier(TREE, n_estimators=3, keep_weights=True).fit(X, Y)
    return tm.diagnostics.weight_trace(boosted, np.arange(len(Y)) < 10)


def guarded() -> GuardedOracle:
    oracle = GuardedOracle(ArrayOracle(X, Y), min_count=5)
    oracle.count([Question((), (0,))])
    return oracle


def noise_pair() -> Any:
    smeared = tm.SmearedBaggingClassifier(n_estimators=4, random_state=0)
    return tm.tune_together(tm.DualPerturbClassifier(smeared), X, Y, amounts=[0.0, 0.1])


SHOWN: dict[str, Callable[[], Any]] = {
    "comparison": comparison,
    "verdict": lambda: comparison().verdicts()[0],
    "ranking": lambda: tm.diagnostics.compare_over_datasets([[0.2, 0.1], [0.3, 0.2]], names=["C4.5", "bagging"]),
    "wins": lambda: tm.diagnostics.win_loss_tie({"iris": comparison()}),
    "kappa and error": lambda: kappa_error(FOREST, X, Y),
    "bias and variance": lambda: bias_variance_curve().results[0],
    "bias and variance along a parameter": bias_variance_curve,
    "stability": lambda: tm.diagnostics.stability(TREE, X, Y, n_models=4, random_state=0),
    "weights": weight_trace,
    "noise": lambda: tm.SmearedBaggingClassifier(n_estimators=10, random_state=0).fit(X, Y).noise_curve_,
    "pair of noises": noise_pair,
    "importances": lambda: FOREST.permutation_importances(X, Y, random_state=0),
    "smoothed answers": lambda: tm.DualPerturbClassifier(TREE.fit(X, Y), noise=0.1).fit(X).smooth(X),
    "ledger": guarded,
    "dataset": lambda: load_dataset("iris"),
    "table of a paper": lambda: ShownTable("table1", "Errors", ["dataset", "ours"], [["iris", 0.05], ["wine", None]]),
    "tree": lambda: FOREST.members_[0],
}
WITHOUT_TABLE = {"verdict", "smoothed answers"}


@pytest.mark.parametrize("name", SHOWN)
def test_a_result_is_short_at_a_prompt_and_a_table_in_a_notebook(name: str) -> None:
    result = SHOWN[name]()
    assert len(repr(result)) < 1500
    assert "array(" not in repr(result)
    if name not in WITHOUT_TABLE:
        page = result._repr_html_()
        assert page.startswith("<table>" if name != "tree" else "<b>")
        assert page.count("<tr>") == page.count("</tr>")
        assert "<1>" not in page


def test_a_comparison_names_its_methods_and_errors() -> None:
    result = comparison()
    assert '<th scope="row">forest &lt;1&gt;</th>' in result._repr_html_()
    assert f"<td>{result.mean_errors[0]:.4f}</td>" in result._repr_html_()
    assert repr(result) == str(result)


def test_a_long_table_is_cut_and_says_so() -> None:
    table = ShortTable("numbers", ["number"], [[str(number)] for number in range(MOST_ROWS + 5)])
    assert table.text().splitlines()[-2:] == [str(MOST_ROWS - 1), "and 5 more"]
    assert "<p>and 5 more</p>" in table.html()


@pytest.mark.parametrize("name", [name for name in tm.__all__ if hasattr(getattr(tm, name), "fit")])
def test_an_estimator_has_the_html_of_scikit_learn(name: str) -> None:
    assert name in getattr(tm, name)()._repr_html_()
