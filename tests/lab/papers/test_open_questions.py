"""Experiments beyond the tables of the papers: made-up results whose tables are known, and naive twins."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tremula import ID3Classifier, SmearedBaggingClassifier, Tree
from tremula.lab.experiments.cell import Cell, Outcome
from tremula.lab.experiments.result import Result
from tremula.lab.papers.dietterich2000 import confidence, members, readings
from tremula.lab.papers.dietterich2000.protocol import BAGGED, BOOSTED, C45, METHODS, RANDOMIZED, build
from tremula.lab.papers.frank2006 import related
from tremula.lab.papers.frank2006.options import EACH, JOINED, VARIANTS, EachAttribute
from tremula.lab.papers.geurts2001 import other_models
from tremula.lab.papers.vanassche2006 import resampled_pruning as pruning


def result(dataset: str, method: str, split: int, n_test: int = 2000, **values: float) -> Result:
    return Result(Cell(dataset, method, split), Outcome(values, n_test))


# --- readings of C4.5 ---


def made_readings(best: str, folds: int = 3, wrong: float = 1.5) -> list[Result]:
    """One reading errs as published on letter, all others by half as much again."""
    made = []
    for name, (method, reading) in readings.CELL_METHODS.items():
        error = float(readings.PUBLISHED["letter", method]["error"]) * (1.0 if reading == best else wrong)
        made += [result("letter", name, fold, n_wrong=round(2000 * error)) for fold in range(folds)]
    return made


def test_the_reading_that_errs_as_published_is_the_nearest_and_adopted() -> None:
    best = readings.CANDIDATES[3]
    fits, *errors = readings.show_readings(made_readings(best), "default")
    assert fits.rows[0][0] == best
    assert float(fits.rows[0][1]) < 0.1 < 1.0 < float(fits.rows[1][1])
    assert fits.rows[0][-1] == "4 of 4"
    assert fits.rows[1][-1] == "0 of 4"
    assert fits.notes[0].endswith(f"within on all 1 domains is 1 of the 16 readings: {best}.")
    assert fits.notes[1].startswith("All four columns: 1 of the 8 candidates is within on all 4 numbers.")
    assert fits.notes[2].startswith(f"Nearest by column: C4.5: {best} (misses 0);")
    assert fits.notes[3].startswith(f"Adopted: {best}.")
    assert [table.rows[0][1] for table in errors] == ["12.25", "2.85", "5.52", "2.71"]


def test_no_reading_fits_is_said_plainly() -> None:
    fits, *_ = readings.show_readings(made_readings("none"), "default")
    assert "domains are none of the 16 readings." in fits.notes[0]
    assert "none of the 8 candidates are within on all 4 numbers." in fits.notes[1]
    assert "misses letter, C4.5" in fits.notes[1]


def test_a_nearer_reading_that_loses_a_number_is_not_adopted() -> None:
    best = readings.CANDIDATES[3]
    made = made_readings(best)
    trees = {f"{C45}; {readings.OURS}": 245, f"{C45}; {best}": 320}  # published: 12.25 %
    changed = [
        replace(r, outcome=Outcome({"n_wrong": float(trees[r.method])}, 2000)) if r.method in trees else r for r in made
    ]
    judged = readings.judge_readings(changed)
    assert min(readings.CANDIDATES, key=lambda name: readings.fit_of(judged[name])) == best
    assert readings.adopted_reading(judged) == readings.OURS
    fits, *_ = readings.show_readings(changed, "default")
    assert fits.notes[3].endswith("the nearest is not on letter, C4.5.")


def test_single_trees_far_from_the_published_errors_are_no_candidates() -> None:
    judged = readings.judge_readings(made_readings(readings.OURS))
    assert readings.is_candidate(judged[readings.OURS])
    assert not readings.is_candidate(judged[readings.CANDIDATES[1]])


def test_readings_are_compared_on_the_folds_that_all_have() -> None:
    made = made_readings(readings.OURS)
    absent = Cell("letter", f"{BAGGED}; {readings.OURS}", 2)
    wrong = [replace(r, outcome=Outcome({"n_wrong": 2000.0}, 2000)) if r.split == 2 else r for r in made]
    left = [r for r in wrong if r.cell != absent]
    judged = readings.judge_readings(left)
    assert judged[readings.OURS]["letter", BAGGED].ours == pytest.approx(0.055, abs=1e-3)
    assert judged[readings.OURS]["letter", C45].ours > 0.4


def test_the_first_reading_is_what_release_1_does() -> None:
    X, y = make_classification(300, n_informative=4, random_state=0)
    for method in METHODS:
        plain, read = (
            build(method, "unpruned", 4, None, 0, options) for options in (None, readings.READINGS[readings.OURS])
        )
        if method == C45:
            assert plain.fit(X, y).tree_ == read.fit(X, y).tree_
        else:
            assert (
                plain.set_params(**no_oob(method)).fit(X, y).members_
                == read.set_params(**no_oob(method)).fit(X, y).members_
            )


def no_oob(method: str) -> dict[str, bool]:
    return {"oob_score": False} if method == BAGGED else {}


# --- pruning confidence ---


def made_confidences(change: float, domains: int = 6) -> list[Result]:
    """Weaker pruning changes the errors of every method by a share of the rows, a little more or less by fold."""
    made = []
    for number in range(domains):
        for name, (_, level) in confidence.CELL_METHODS.items():
            shift = 200 * change if level in confidence.WEAKER else 0.0
            made += [
                result(f"domain {number}", name, fold, n_test=200, n_wrong=40 + shift + (fold + number) % 3)
                for fold in range(5)
            ]
    return made


def test_no_change_is_no_difference_and_a_point_on_every_domain_is_one() -> None:
    means, claims, _ = confidence.show_confidence(made_confidences(0.0), "default")
    assert [row[3] for row in claims.rows] == ["holds", "holds"]
    assert {row[3] for row in means.rows} == {"+0.00"}
    for change, place in ((0.01, 5), (-0.01, 4)):
        results = [
            replace(r, outcome=Outcome({"n_wrong": r.values["n_wrong"] + (r.split % 2) * 0.5}, 200))
            if r.method.endswith(confidence.WEAKER)
            else r
            for r in made_confidences(change)
        ]
        means, claims, _ = confidence.show_confidence(results, "default")
        assert [row[3] for row in claims.rows] == ["does not hold", "does not hold"]
        assert all(row[place] == 6 for row in means.rows)
        assert all(float(row[-1]) > 0.5 for row in claims.rows)


def test_a_single_tree_does_not_count_for_ensembles() -> None:
    made = [
        replace(r, outcome=Outcome({"n_wrong": 90.0}, 200))
        if r.method.startswith(f"{C45};") and r.method.endswith(confidence.WEAKER)
        else r
        for r in made_confidences(0.0)
    ]
    _, claims, _ = confidence.show_confidence(made, "default")
    assert [row[3] for row in claims.rows] == ["does not hold", "holds"]


# --- numbers of members ---


def made_stages(domain: str, method: str, pruning: str, wrong: dict[int, float], folds: int = 2) -> list[Result]:
    values = {f"wrong {stage}": count for stage, count in wrong.items()}
    return [result(domain, f"{method}, {pruning}", fold, members=200.0, **values) for fold in range(folds)]


def test_more_members_change_the_verdict_and_the_better_of_both_variants_counts() -> None:
    pruned = made_stages("letter", BAGGED, "pruned", {10: 300, 20: 200, 50: 160, 100: 150, 200: 140})
    unpruned = made_stages("letter", BAGGED, "unpruned", {10: 320, 20: 190, 50: 170, 100: 130, 200: 110})
    table, *_ = members.show_members([*pruned, *unpruned], "default")
    (row,) = table.rows
    assert row[:3] == ["letter", BAGGED, 2]
    assert row[3:8] == ["15.00", "9.50", "8.00", "6.50", "5.50"]
    assert row[-2:] == ["worse", "within"]
    assert "changes on: letter, bagged C4.5" in table.notes[0]


def test_noise_is_overcome_only_if_boosting_reaches_bagging() -> None:
    made = []
    for name, few, many in ((RANDOMIZED, 500, 490), (BAGGED, 480, 470), (BOOSTED, 600, 560)):
        stages = members.STAGES[name]
        counts = {stage: few if stage <= members.USUAL[name] else many for stage in stages}
        for variant in ("pruned", "unpruned"):
            made += made_stages("vehicle, 20 % noise", name, variant, counts)
    _, table, _ = members.show_members(made, "default")
    assert "on 1 of 1 domains (vehicle)" in table.notes[0]
    assert f"{BOOSTED} -2.00" in table.notes[0]
    better = [
        replace(r, outcome=Outcome({name: 400.0 for name in r.values}, 2000)) if r.method.startswith(BOOSTED) else r
        for r in made
    ]
    assert "on 0 of 1 domains (none)" in members.show_members(better, "default")[1].notes[0]


# --- other models under noise ---


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_closed_form_of_a_network_has_the_mean_hidden_units(n_classes: int) -> None:
    X, y = make_classification(200, 6, n_informative=4, n_classes=n_classes, random_state=0)
    X = X * [1, 2, 3, 4, 5, 6]
    network = make_pipeline(
        StandardScaler(), MLPClassifier((5,), solver="lbfgs", alpha=1.0, max_iter=2000, random_state=0)
    ).fit(X, y)
    np.testing.assert_allclose(other_models.closed_form(network, X, 0.0), network.predict_proba(X), atol=1e-12)
    draws = np.random.default_rng(0).normal(size=(40_000, 6)) * 0.5 * X.std(axis=0)
    layers, rows = network[-1], X[:3]
    units = [
        np.maximum(network[0].transform(row + draws) @ layers.coefs_[0] + layers.intercepts_[0], 0.0).mean(axis=0)
        for row in rows
    ]
    scores = np.array(units) @ layers.coefs_[1] + layers.intercepts_[1]
    shares = 1 / (1 + np.exp(-scores)) if n_classes == 2 else np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(other_models.closed_form(network, rows, 0.5)[:, -1], shares[:, -1], atol=0.02)


def test_a_model_is_better_only_where_the_test_says_so() -> None:
    made = [
        result("waveform", other_models.BOOSTED, split, error=0.16 + 0.01 * (split % 2), smoothed=0.13, noise=1.0)
        for split in range(10)
    ]
    made += [
        result("two-norm", other_models.BOOSTED, split, error=0.04, smoothed=0.04 + 0.01 * (-1) ** split, noise=1.0)
        for split in range(10)
    ]
    table, *_ = other_models.show_other_models(made, "default")
    assert [row[-1] for row in table.rows] == ["smoothed", "no difference"]
    assert table.notes[0] == "boosted trees: smoothed better on 1, worse on 0 of 2 problems."


def test_the_fewest_smoothed_trees_are_named() -> None:
    made = [
        result("waveform", name, 0, error=0.301 - 0.002 * count, smoothed=0.25 - 0.01 * min(count, 10), noise=1.0)
        for name, count in other_models.BAGGED_SIZES.items()
    ]
    table = other_models.show_other_models(made, "default")[2]
    assert "waveform 5 bagged trees" in table.notes[0]


# --- related work of input smearing ---


def test_imitation_keeps_a_share_of_the_gain() -> None:
    errors = {related.TREE: 0.3, related.ENSEMBLE: 0.2} | dict(zip(related.IMITATIONS, (0.31, 0.29, 0.28, 0.25)))
    made = [
        result("glass", name, split, error=error, leaves=9.0, agreement=0.9)
        for name, error in errors.items()
        for split in range(2)
    ]
    table, _ = related.show_related(made, "default")
    assert "errs less than one tree on 1 of 1 datasets, without any on 0. It keeps 50 %" in table.notes[0]


def test_what_is_found_of_the_smallest_class() -> None:
    y = np.array(["a"] * 8 + ["b"] * 2)
    truth, answers = np.array(["a", "a", "b", "b"]), np.array(["a", "b", "b", "a"])
    found = related._found(answers, truth, y)
    assert (found["rare"], found["found"], found["named"], found["balanced_error"]) == (2, 1, 2, 0.5)


def test_an_amount_for_each_attribute_costs_five_searches() -> None:
    X, y = make_classification(150, 4, random_state=0)
    model = EachAttribute(SmearedBaggingClassifier, 0)
    model.set_params(categorical_features=None).fit(X, y)
    plain = SmearedBaggingClassifier(n_estimators=10, tuning="oob", search="grid", random_state=0).fit(X, y)
    assert model.noise_curve_.n_trained == 5 * plain.noise_curve_.n_trained
    assert model.model.noise_.shape == (4,)
    assert {EACH, JOINED} <= set(VARIANTS)


# --- pruning by resampled counts ---


def made_tree(n_rows: int = 400) -> tuple[np.ndarray, np.ndarray, Tree]:
    random = np.random.default_rng(0)
    X = random.integers(3, size=(n_rows, 5)).astype(float)
    y = ((X[:, 0] + X[:, 1] > 2) ^ (random.random(n_rows) < 0.2)).astype(int)
    return X, y, ID3Classifier(categorical_features="all").fit(X, y).tree_


def test_counts_are_resampled_as_bootstrap_samples_of_rows_are() -> None:
    """A naive twin draws rows, and counts the cells of those drawn and left out."""
    counts = np.array([[30, 5], [0, 65]])
    cells = np.repeat(np.arange(4), counts.ravel())
    random = np.random.default_rng(1)
    ours = np.array([np.ravel(pruning.resample_leaves(counts, random)) for _ in range(4000)])
    naive = []
    for _ in range(4000):
        times = np.bincount(random.integers(100, size=100), minlength=100)
        naive.append(np.append(np.bincount(cells, times, minlength=4), np.bincount(cells[times == 0], minlength=4)))
    np.testing.assert_allclose(ours.mean(axis=0), np.mean(naive, axis=0), atol=0.4)
    np.testing.assert_allclose(np.cov(ours.T), np.cov(np.array(naive).T), atol=2.0)


def test_errors_of_trees_by_counts_are_those_of_their_predictions() -> None:
    X, y, tree = made_tree()
    tested = pruning._by_node(tree, X[:150], y[:150])
    counts = pruning._by_node(tree, X, y)
    error, leaves = pruning.tree_error(tree, counts, tested, tree.is_leaf, 150)
    assert error == pytest.approx(np.mean(tree.predict_codes(X[:150]) != y[:150]))
    assert leaves == tree.n_leaves
    parents = pruning.parents_of(tree)
    np.testing.assert_allclose(pruning.sum_up(parents, np.where(tree.is_leaf[:, None], counts, 0)), counts)
    stump, one = pruning.tree_error(tree, counts, tested, np.ones(tree.n_nodes, bool), 150)
    assert one == 1
    assert stump == pytest.approx(np.mean(y[:150] != np.bincount(y).argmax()))


def test_pruning_by_counts_cuts_noise_and_keeps_the_signal() -> None:
    X, y, tree = made_tree(2000)
    counts = np.rint(pruning._by_node(tree, X, y)).astype(int)
    assessment = pruning.assess(tree, counts, np.random.default_rng(0))
    new, labels, _ = made_tree(3000)
    tested = pruning._by_node(tree, new[2000:], labels[2000:])
    full, pruned = (pruning.tree_error(tree, counts, tested, ends, 1000) for ends in (tree.is_leaf, assessment.is_leaf))
    assert pruned[1] < full[1] / 3
    assert 0.15 < pruned[0] < full[0]
