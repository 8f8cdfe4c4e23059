"""The table of wins, losses and ties: the form of Dietterich (2000), and what is counted."""

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine
from sklearn.dummy import DummyClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from tremula.diagnostics import Comparison, WinLossTie, compare, win_loss_tie
from tremula.errors import InvalidInput, InvalidParameter

# Table 2 of the paper: wins of the row over the column, 33 datasets.
PUBLISHED = WinLossTie(
    names=["C4.5", "Adaboost C4.5", "Bagged C4.5", "Random C4.5"],
    wins=np.array([[0, 0, 0, 0], [17, 0, 8, 7], [11, 1, 0, 3], [14, 1, 6, 0]]),
    n_datasets=33,
    verdicts={},
    test="dietterich",
    confidence=0.95,
)


def make_comparison(errors: dict[str, list[float]], n_rows: int = 100, scoring: str = "error") -> Comparison:
    """A comparison with given errors on as many equal folds."""
    folds = np.array_split(np.arange(n_rows), len(next(iter(errors.values()))))
    predictions = [
        [np.arange(len(fold)) < round(error * len(fold)) for error, fold in zip(values, folds)]
        for values in errors.values()
    ]
    return Comparison(
        names=list(errors),
        errors=np.array(list(errors.values())),
        predictions=predictions,
        probabilities=[None] * len(errors),
        train_rows=[np.setdiff1d(np.arange(n_rows), fold) for fold in folds] if len(folds) > 1 else [np.arange(5)],
        test_rows=folds,
        y=np.zeros(n_rows, dtype=bool),
        classes=np.array([False, True]),
        scoring=scoring,
    )


BETTER = make_comparison({"A": [0.4, 0.5, 0.6, 0.5], "B": [0.1, 0.2, 0.2, 0.1]})
WORSE = make_comparison({"A": [0.1, 0.2, 0.2, 0.1], "B": [0.4, 0.5, 0.6, 0.5]})
EQUAL = make_comparison({"A": [0.1, 0.2, 0.2, 0.1], "B": [0.2, 0.1, 0.1, 0.2]})


def test_text_has_the_form_of_the_paper() -> None:
    assert PUBLISHED.to_text() == (
        "                 C4.5   Adaboost C4.5  Bagged C4.5\n"
        "Random C4.5    14-0-19      1-7-25        6-3-24\n"
        "Bagged C4.5    11-0-22      1-8-24\n"
        "Adaboost C4.5  17-0-16"
    )


def test_latex() -> None:
    assert PUBLISHED.to_latex() == "\n".join(
        [
            r"\begin{tabular}{lccc}",
            r"\toprule",
            r"& C4.5 & Adaboost C4.5 & Bagged C4.5 \\",
            r"\midrule",
            r"Random C4.5 & 14--0--19 & 1--7--25 & 6--3--24 \\",
            r"Bagged C4.5 & 11--0--22 & 1--8--24 &  \\",
            r"Adaboost C4.5 & 17--0--16 &  &  \\",
            r"\bottomrule",
            r"\end{tabular}",
        ]
    )


def test_markdown() -> None:
    assert PUBLISHED.to_markdown().splitlines() == [
        "|  | C4.5 | Adaboost C4.5 | Bagged C4.5 |",
        "|---|---|---|---|",
        "| Random C4.5 | 14-0-19 | 1-7-25 | 6-3-24 |",
        "| Bagged C4.5 | 11-0-22 | 1-8-24 |  |",
        "| Adaboost C4.5 | 17-0-16 |  |  |",
    ]


def test_html_is_what_a_notebook_shows() -> None:
    page = PUBLISHED._repr_html_()
    assert '<tr><th scope="row">Adaboost C4.5</th><td>17&ndash;0&ndash;16</td><td></td><td></td></tr>' in page
    assert page.count("<tr>") == page.count("</tr>") == 4


def test_frame_has_a_row_for_each_pair() -> None:
    frame = PUBLISHED.to_frame()
    assert len(frame) == 6
    assert frame.set_index(["method", "against"]).loc[("Random C4.5", "Bagged C4.5")].tolist() == [6, 3, 24]


def test_special_letters_of_names_are_escaped() -> None:
    table = WinLossTie(["a_1 & <b>", "c|d"], np.zeros((2, 2), dtype=int), 1, {}, "auto", 0.95)
    assert r"a\_1 \& <b>" in table.to_latex()
    assert "a_1 &amp; &lt;b&gt;" in table.to_html()
    assert r"| c\|d | 0-0-1 |" in table.to_markdown()


def test_cell_counts_for_its_row() -> None:
    table = win_loss_tie({"w": WORSE, "x": BETTER, "y": EQUAL, "z": BETTER})
    assert table.cell("B", "A") == (2, 1, 1)
    assert table.cell("A", "B") == (1, 2, 1)
    assert (table.rows, table.columns) == (["B"], ["A"])


def test_verdicts_are_kept_by_dataset() -> None:
    table = win_loss_tie({"x": BETTER, "y": EQUAL})
    assert {dataset: verdicts[0].better for dataset, verdicts in table.verdicts.items()} == {"x": "B", "y": None}


def test_methods_are_chosen_and_ordered() -> None:
    three = make_comparison({"A": [0.1, 0.2], "B": [0.2, 0.1], "C": [0.1, 0.1]})
    table = win_loss_tie([three], names=["C", "A"])
    assert (table.rows, table.columns) == (["A"], ["C"])


def test_confidence_decides_what_is_a_tie() -> None:
    close = make_comparison({"A": [0.2, 0.3, 0.3, 0.3], "B": [0.1, 0.2, 0.3, 0.1]})
    p_value = close.test("A", "B").p_value
    for confidence, expected in ((1 - p_value - 0.001, (1, 0, 0)), (1 - p_value + 0.001, (0, 0, 1))):
        assert win_loss_tie([close], confidence=confidence).cell("B", "A") == expected


def test_dietterichs_tests_are_paired_t_over_folds_and_proportions_on_a_test_set() -> None:
    one_set = make_comparison({"A": [0.5], "B": [0.2]})
    table = win_loss_tie({"folds": BETTER, "test set": one_set}, test="dietterich")
    assert [verdicts[0].result.test for verdicts in table.verdicts.values()] == ["paired t", "proportions"]


def test_correction_is_for_the_pairs_of_a_dataset() -> None:
    X, y = load_iris(return_X_y=True)
    methods = {"a": DummyClassifier(), "b": GaussianNB(), "c": DecisionTreeClassifier(random_state=0)}
    comparison = compare(methods, X, y, cv=3, random_state=0)
    raw, adjusted = (
        win_loss_tie([comparison], correction=name).verdicts["dataset 0"] for name in ("none", "bonferroni")
    )
    assert [verdict.adjusted_p_value for verdict in adjusted] == pytest.approx(
        [min(1, 3 * verdict.result.p_value) for verdict in raw]
    )


def test_table_of_real_comparisons() -> None:
    methods = {"majority": DummyClassifier(), "nb": GaussianNB()}
    data = {"iris": load_iris(return_X_y=True), "wine": load_wine(return_X_y=True)}
    results = {name: compare(methods, X, y, cv=5, random_state=0) for name, (X, y) in data.items()}
    assert win_loss_tie(results).cell("nb", "majority") == (2, 0, 0)


@pytest.mark.parametrize(
    ("results", "options", "message"),
    [
        ({}, {}, "no comparison was given"),
        (BETTER, {}, "Comparison was given: give a dict"),
        ({"x": BETTER}, {"names": ["A"]}, "at least two methods"),
        ({"x": BETTER}, {"names": ["A", "A"]}, "each once"),
        ({"x": BETTER}, {"names": ["A", "b"]}, "no method is called 'b'"),
        ({"x": BETTER}, {"test": "t"}, "choose one of 'auto', 'dietterich'"),
        ({"x": BETTER, "y": make_comparison({"A": [0.1, 0.2], "C": [0.1, 0.2]})}, {}, "they must agree"),
    ],
)
def test_results_that_make_no_table(results: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises((InvalidInput, InvalidParameter), match=message):
        win_loss_tie(results, **options)


def test_a_cell_of_a_method_that_is_not_there() -> None:
    with pytest.raises(InvalidParameter, match="no method is called 'Z'"):
        win_loss_tie({"x": BETTER}).cell("Z", "A")
