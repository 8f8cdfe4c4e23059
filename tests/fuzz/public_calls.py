"""Good calls of every public function and method, for `hostile_calls` to spoil one argument at a time."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

import tremula as tm
from tremula import diagnostics, perturb, queries
from tremula.lab.datasets import generators, load_dataset

N_ROWS = 40


class Call(NamedTuple):
    """A callable that is made anew for each call, and good arguments for it."""

    make: Callable[[], Callable[..., Any]]
    arguments: dict[str, Any]


@cache
def table() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows, classes and numbers."""
    random = np.random.default_rng(0)
    X = random.normal(size=(N_ROWS, 2)).round(2)
    return X, (X[:, 0] > 0).astype(int), X[:, 0] + X[:, 1]


@cache
def frame() -> pd.DataFrame:
    """Return the rows with names and their class."""
    X, y, _ = table()
    return pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": y})


@cache
def forest() -> Any:
    """Return a trained classifier."""
    X, y, _ = table()
    return tm.RandomForestClassifier(n_estimators=4, max_depth=3, oob_score=True, random_state=0).fit(X, y)


@cache
def numeric_forest() -> Any:
    """Return a trained regressor."""
    X, _, numbers = table()
    return tm.RandomForestRegressor(n_estimators=4, max_depth=3, random_state=0).fit(X, numbers)


@cache
def smoothed(is_classifier: bool) -> Any:
    """Return a smoothed model."""
    X, y, numbers = table()
    if is_classifier:
        return tm.DualPerturbClassifier(tm.CARTClassifier(max_depth=3), noise=0.3, random_state=0).fit(X, y)
    return tm.DualPerturbRegressor(tm.CARTRegressor(max_depth=3), noise=0.3, random_state=0).fit(X, numbers)


@cache
def comparison() -> Any:
    """Return a comparison of two trees."""
    X, y, _ = table()
    estimators = {"a": tm.CARTClassifier(max_depth=1), "b": tm.CARTClassifier()}
    return diagnostics.compare(estimators, X, y, cv=2, random_state=0)


def array_oracle() -> Any:
    """Return an oracle of the rows."""
    X, y, _ = table()
    return queries.ArrayOracle(X, y, n_bins=4)


def guarded(**rules: Any) -> Any:
    """Return an oracle with a budget, of stated domains."""
    domains = {"a": (-3.0, 3.0), "b": (-3.0, 3.0)}
    oracle = queries.ArrayOracle(frame()[["a", "b"]], frame()["y"], n_bins=4, domains=domains, classes=[0, 1])
    return queries.GuardedOracle(oracle, **rules)


def function(callable_: Callable[..., Any], /, **arguments: Any) -> Call:
    """Return the call of a function."""
    return Call(lambda: callable_, arguments)


def method(make: Callable[[], Any], name: str, /, **arguments: Any) -> Call:
    """Return the call of a method of what `make` returns."""
    return Call(lambda: getattr(make(), name), arguments)


def fresh_forest() -> Any:
    """Return a classifier before its training."""
    return tm.RandomForestClassifier(n_estimators=2, max_depth=2, random_state=0)


def unfitted_pair() -> Any:
    """Return a smoothed model whose ensemble is smeared, before its training."""
    inner = tm.SmearedBaggingClassifier(tm.CARTClassifier(max_depth=1), n_estimators=2, random_state=0)
    return tm.DualPerturbClassifier(inner, random_state=0)


@cache
def tree() -> Any:
    """Return a trained tree."""
    X, y, _ = table()
    return tm.CARTClassifier(max_depth=3).fit(X, y)


@cache
def boosted() -> Any:
    """Return a trained ensemble whose members weight rows."""
    X, y, _ = table()
    return tm.AdaBoostM1Classifier(
        tm.CARTClassifier(max_depth=1), n_estimators=3, random_state=0, keep_weights=True
    ).fit(X, y)


@cache
def class_uncertainty() -> Any:
    """Return the uncertainty of the classifier."""
    return tm.Uncertainty(forest(), *table()[:2])


@cache
def number_uncertainty() -> Any:
    """Return the uncertainty of the regressor."""
    X, _, numbers = table()
    return tm.Uncertainty(numeric_forest(), X, numbers)


@cache
def memory_table() -> Any:
    """Return the table in a database."""
    import ibis

    return ibis.duckdb.connect().create_table("rows", frame())


@cache
def database_folder() -> TemporaryDirectory[str]:
    """Return a folder with a file of DuckDB that has the table; it lasts as long as the process."""
    import duckdb

    folder = TemporaryDirectory()
    with duckdb.connect(str(Path(folder.name, "rows.duckdb"))) as connection:
        connection.register("given", frame())
        connection.execute("create table t as select * from given")
    return folder


@cache
def other_comparison() -> Any:
    """Return a comparison of another tree on the same splits."""
    X, y, _ = table()
    return diagnostics.compare({"c": tm.CARTClassifier(max_depth=2)}, X, y, cv=2, random_state=0)


@cache
def ranking() -> Any:
    """Return a ranking of three methods over tables."""
    errors = np.random.default_rng(0).random((10, 3))
    return diagnostics.compare_over_datasets(errors, names=["a", "b", "c"])


def model_calls() -> dict[str, Call]:
    """Return the calls of functions that take a trained model, and of its methods."""
    X, y, _ = table()
    trained = {"model": forest(), "X": X}
    calls = {
        "explain": function(tm.explain, **trained, background=X[:3], n_jobs=1),
        "row_weights": function(tm.row_weights, **trained, X_train=X, y_train=y, sample_weight=None, n_jobs=1),
        "proximity": function(tm.proximity, **trained, Y=X[:2], kind="plain", y=None, sample_weight=None, n_jobs=1),
        "leaf_distribution": function(tm.leaf_distribution, model=smoothed(True), X=X[:2]),
        "certify": function(tm.certify, model=forest(), X=X[:2], norm="max", scale=None, max_boxes=10),
        "imitate": function(
            tm.imitate, **trained, estimator=tm.CARTClassifier(), n_artificial=1.0, noise=0.3, random_state=0
        ),
        "prune_each": function(tm.prune_each, model=forest(), X_val=X, y_val=y),
        "prune_together": function(tm.prune_together, model=forest(), X_val=X, y_val=y),
        "to_sql": function(
            tm.to_sql,
            model=forest(),
            table="t",
            dialect="duckdb",
            output="prediction",
            missing="shares",
            keep=["a"],
            form="auto",
        ),
        "to_html": function(tm.to_html, model=forest(), title="t"),
        "to_sklearn": function(tm.to_sklearn, **trained),
        "to_onnx": function(tm.to_onnx, **trained, dtype="float64", missing="none"),
        "to_treelite": function(tm.to_treelite, **trained, dtype="float64"),
        "save": function(tm.save, model=forest(), path=Path("model.tremula")),
        "load": function(tm.load, path=Path("model.tremula")),
        "tune_together": function(
            tm.tune_together, wrapper=unfitted_pair(), X=X, y=y, amounts=[0.1], parameter="noise"
        ),
    }
    for name, arguments in {
        "predict": {}, "predict_proba": {}, "predict_members": {},
        "fit": {"y": y, "sample_weight": np.ones(N_ROWS), "groups": None},
        "count_inbag": {"y": y, "sample_weight": None},
        "permutation_importances": {"y": y, "sample_weight": None, "n_repeats": 1, "random_state": 0, "n_jobs": 1},
        "unbiased_importances": {"y": y, "sample_weight": None, "n_jobs": 1},
    }.items():  # fmt: skip
        make = fresh_forest if name == "fit" else forest
        calls[f"forest.{name}"] = method(make, name, X=X, **arguments)
    calls["forest.staged_predict"] = function(lambda X: list(forest().staged_predict(X)), X=X)
    for name, arguments in {
        "apply": {"X": X},
        "decision_path": {"X": X},
        "export_dot": {"decimals": 3, "max_depth": 2},
        "export_sql": {"output": "class", "missing": "shares"},
        "export_text": {"decimals": 3, "max_depth": 2, "show_weights": True},
    }.items():
        calls[f"tree.{name}"] = method(tree, name, **arguments)
    return calls | uncertainty_calls() | smoothing_calls()


def uncertainty_calls() -> dict[str, Call]:
    """Return the calls of what an ensemble's uncertainty answers."""
    X, y, _ = table()
    calls = {
        "Uncertainty": function(tm.Uncertainty, model=forest(), X=X, y=y, sample_weight=None, n_jobs=1),
        "Uncertainty.predict_set": method(
            class_uncertainty, "predict_set", X=X, coverage=0.8, method="oob", by_class=False
        ),
        "Uncertainty.predict_stable_set": method(class_uncertainty, "predict_stable_set", X=X, share=0.1),
        "Uncertainty.certified_rows": method(
            class_uncertainty, "certified_rows", X=X, method="members", confidence=0.9
        ),
        "Uncertainty.predict_std": method(number_uncertainty, "predict_std", X=X),
    }
    quantiles = {"quantiles": (0.1, 0.9), "interpolation": "inverted_cdf"}
    calls["Uncertainty.predict_quantiles"] = method(number_uncertainty, "predict_quantiles", X=X, **quantiles)
    calls["Uncertainty.oob_quantiles"] = method(number_uncertainty, "oob_quantiles", **quantiles)
    calls["Uncertainty.predict_interval"] = method(
        number_uncertainty, "predict_interval", X=X, coverage=0.8, method="scaled"
    )
    return calls


def smoothing_calls() -> dict[str, Call]:
    """Return the calls of methods of smoothed models."""
    X = table()[0][:3]
    calls = {}
    for kind, more in (
        ("classifier", {"certified_radius": {"unit": "noise", "n_regions": 1}, "predict": {}, "predict_proba": {}}),
        ("regressor", {"certified_interval": {"radius": 1.0, "n_regions": 1}, "predict": {"return_std": False}}),
    ):
        methods: dict[str, dict[str, Any]] = {
            "answer_distribution": {"quantiles": (0.1, 0.9), "n_draws": 10},
            "gradient": {},
            "smooth": {},
            "spread": {"of": "answers", "max_visits": 1000.0},
            **more,
        }
        for name, arguments in methods.items():
            make = partial(smoothed, kind == "classifier")
            calls[f"smoothed {kind}.{name}"] = method(make, name, X=X, X_std=np.full(2, 0.1), **arguments)
    return calls


def query_calls() -> dict[str, Call]:
    """Return the calls of what learns from counts."""
    X, y, _ = table()
    learner = {"task": "auto", "n_bins": 4, "cuts": None, "target_bounds": None, "classes": None, "domains": None}
    person = {"person_id": None, "rows_per_person": 1}
    return {
        "agree_on_cuts": function(queries.agree_on_cuts, cuts=[[1.0, 2.0], [1.5]], n_rows=[10, 20], n_bins=4),
        "limit_rows": function(queries.limit_rows, person_id=np.arange(6) // 2, rows_per_person=1, key="k"),
        "private_cuts": function(
            lambda oracle, n_bins, attributes: queries.private_cuts(oracle, n_bins, attributes),
            oracle=guarded(epsilon=5.0), n_bins=4, attributes=["a"],
        ),
        "ArrayOracle": function(
            queries.ArrayOracle, X=X, y=y, categorical_features="from_dtype", **learner, **person
        ),
        "ADTreeOracle": function(
            queries.ADTreeOracle, X=X, y=y, categorical_features="from_dtype", n_bins=4, max_list=4, max_nodes=1000,
            max_depth=None,
        ),
        "GuardedOracle": function(
            queries.GuardedOracle, oracle=array_oracle(), min_count=5, round_to=None, epsilon=None,
            epsilon_per_table=None, allow_joint=True, delta=None, rows_per_person=None, budget_depth=8, estimate=False,
            shrink=True, key=None, ledger_file=None, rho=None, public=(), single_split=False,
        ),
        "GuardedOracle with a budget": function(
            guarded, epsilon=1.0, delta=None, epsilon_per_table=None, rows_per_person=None, budget_depth=3,
            public=(), single_split=False,
        ),
        "FederatedOracle": function(
            queries.FederatedOracle, sites=[array_oracle(), array_oracle()], on_failure="raise", timeout=None,
            secure=False,
        ),
        "RemoteOracle": function(
            # nothing listens there: the good call itself says that no site answers
            queries.RemoteOracle, url="http://127.0.0.1:9", token=None, timeout=0.2, retries=0, ca_file=None,
            certificate=None,
        ),
        "TableOracle": function(
            queries.TableOracle, table=memory_table(), target="y", attributes=["a", "b"], categorical_features=(),
            max_levels=100, form=None, cube_rows=0, retries=0, on_query=None, **learner, **person,
        ),
        "connect": function(
            queries.connect, url=f"duckdb://{database_folder().name}/rows.duckdb", table="t", target="y"
        ),
        "estimate_error": function(
            queries.estimate_error, model=tm.SimulatedBaggingClassifier(n_estimators=2, random_state=0),
            oracle=queries.TableOracle(memory_table(), "y"), holdout=0.3, key="k", confidence=0.9,
        ),
        "SimulatedBaggingClassifier.fit": method(
            lambda: tm.SimulatedBaggingClassifier(n_estimators=2, random_state=0), "fit", X=array_oracle(), y=None
        ),
    }  # fmt: skip


def diagnostic_calls() -> dict[str, Call]:
    """Return the calls of comparisons, tests and intervals."""
    X, y, _ = table()
    errors, wrong = np.linspace(0.1, 0.3, 10), np.arange(10) % 2
    pair = {"a": errors, "b": errors[::-1] ** 2, "confidence": 0.9}
    sizes = {"n_train": 90, "n_test": 10}
    tried = {"estimator": tm.CARTClassifier(max_depth=1), "X": X, "y": y}
    drawn = {"train_size": 20, "test_size": 10, "confidence": 0.9, "n_jobs": 1, "random_state": 0}
    results = [comparison(), comparison()]
    d = diagnostics
    return {
        "compare": function(
            d.compare, estimators={"a": tm.CARTClassifier(max_depth=1)}, X=X, y=y, cv=2, scoring=None, groups=None,
            allow_missing_classes=False, n_jobs=1, random_state=0,
        ),
        "Comparison.choose": method(comparison, "choose", names=["a"]),
        "Comparison.join": method(comparison, "join", other=other_comparison()),
        "Comparison.place": method(comparison, "place", name="a"),
        "Comparison.row_losses": method(comparison, "row_losses", name="a"),
        "Comparison.test": method(comparison, "test", first="a", second="b", test="auto", confidence=0.9),
        "Comparison.verdicts": method(
            comparison, "verdicts", baseline="a", test="auto", correction="holm", confidence=0.9
        ),
        "decide": function(
            d.decide, comparison=comparison(), baseline="a", all_pairs=False, correction="holm", confidence=0.9,
            region=0.01, share_of_level=1.0,
        ),
        "correlated_t_probabilities": function(
            d.correlated_t_probabilities, a=errors, b=errors**2, region=0.01, **sizes
        ),
        "detectable_difference": function(
            d.detectable_difference, deviation=0.1, ratio=0.1, n_splits=10, confidence=0.9, power=0.8
        ),
        "planned_repetitions": function(
            d.planned_repetitions, deviation=0.1, ratio=0.1, cv=10, difference=0.1, confidence=0.9, power=0.8
        ),
        "plan_looks": function(d.plan_looks, most_repetitions=5),
        "compare_over_datasets": function(
            d.compare_over_datasets, results=np.c_[errors, errors**2, errors + 1], names=["a", "b", "c"],
            dataset_names=list("abcdefghij"), confidence=0.9,
        ),
        "Ranking.against": method(ranking, "against", baseline="a"),
        "Ranking.cliques": method(ranking, "cliques", by="nemenyi"),
        "win_loss_tie": function(
            d.win_loss_tie, results=results, names=["a", "b"], test="auto", correction="none", confidence=0.9
        ),
        "WinLossTie.cell": method(lambda: d.win_loss_tie(results), "cell", row="a", column="b"),
        "paired_t_test": function(d.paired_t_test, **pair),
        "corrected_t_test": function(d.corrected_t_test, **pair, **sizes),
        "five_by_two_f_test": function(d.five_by_two_f_test, **pair),
        "mcnemar_test": function(
            d.mcnemar_test, first_wrong=wrong, second_wrong=1 - wrong, method="auto", confidence=0.9
        ),
        "difference_of_proportions": function(
            d.difference_of_proportions, first_wrong=3, second_wrong=5, n_first=10, n_second=20, confidence=0.9
        ),
        "binomial_interval": function(
            d.binomial_interval, n_wrong=3, n_rows=10, confidence=0.9, method="wilson"
        ),
        "adjust_p_values": function(d.adjust_p_values, p_values=[0.1, 0.2], correction="holm"),
        "skillings_mack_test": function(d.skillings_mack_test, errors=np.c_[errors, errors**2]),
        "bias_variance": function(
            d.bias_variance, **tried, **drawn, loss="auto", scheme="auto", n_models=3, truth=None, noise=None,
            bias_correction="both", least_probability=1e-6,
        ),
        "bias_variance_curve": function(
            d.bias_variance_curve, **tried, parameter="max_depth", values=[1, 2], n_models=3
        ),
        "stability": function(d.stability, **tried, **drawn, scheme="bootstrap", n_models=3),
        "add_class_noise": function(d.add_class_noise, y=y, rate=0.2, random_state=0),
        "ClassNoise": function(
            lambda y, rate, random_state: d.ClassNoise(rate, random_state=random_state).fit_transform(y),
            y=y, rate=0.2, random_state=0,
        ),
        "weight_trace": function(d.weight_trace, model=boosted(), mask=y == 1),
        "kappa_error": function(d.kappa_error, ensemble=forest(), X=X, y=y),
    }  # fmt: skip


def perturbation_calls() -> dict[str, Call]:
    """Return fits with each perturbation and each of its parameters, and the generators of tables."""
    X, y, numbers = table()

    def fit(kind: Any, /, **options: Any) -> Any:
        is_number = kind is perturb.SmearedTarget
        ensemble = tm.PerturbCombineRegressor if is_number else tm.PerturbCombineClassifier
        learner = tm.CARTRegressor(max_depth=1) if is_number else tm.CARTClassifier(max_depth=1)
        if kind is perturb.RandomSplits:
            learner = tm.C45Classifier()
        members = ensemble(learner, perturb=[kind(**options)], n_estimators=2, random_state=0)
        return members.fit(X, numbers if is_number else y)

    calls = {}
    for name in perturb.__all__:
        kind = getattr(perturb, name)
        if name in ("Sample", "Draw", "Perturbation"):
            continue
        parameters = inspect.signature(kind).parameters.values()
        options = {entry.name: 2 if entry.default is entry.empty else entry.default for entry in parameters}
        if options:
            calls[name] = function(partial(fit, kind), **options)
    for name in ("waveform", "two_norm", "three_norm", "ring_norm", "diagonal_square", "sine_points"):
        calls[name] = function(getattr(generators, name), n_rows=5, random_state=0)
    calls["load_dataset"] = function(load_dataset, name="iris", target=None, task="classification", fetch=False)
    return calls


def estimator_calls() -> dict[str, Call]:
    """Return a fit of every public estimator, with every parameter."""
    calls = {}
    for name in tm.__all__:
        cls = getattr(tm, name)
        if not (isinstance(cls, type) and hasattr(cls, "get_params")):
            continue
        options = cls().get_params(deep=False)
        small = {"n_estimators": 2, "noise": 0.3, "random_state": 0, "method": options.get("method")}
        options |= {key: value for key, value in small.items() if key in options}
        calls[name] = function(partial(fit_estimator, cls), **options)
    return calls


def fit_estimator(cls: Any, /, **options: Any) -> Any:
    """Fit an estimator with these parameters to a table that suits it."""
    X, y, numbers = table()
    target = numbers if cls.__name__.endswith("Regressor") else y
    if cls.__name__ == "ID3Classifier":
        X = pd.DataFrame(np.where(X > 0, "a", "b"), columns=["a", "b"])
    return cls(**options).fit(X, target).predict(X[:3])


GROUPS = {
    "models": model_calls,
    "counts": query_calls,
    "diagnostics": diagnostic_calls,
    "perturbations": perturbation_calls,
    "estimators": estimator_calls,
}


@cache
def all_calls() -> dict[str, Call]:
    """Return all calls by name."""
    return {name: call for make in GROUPS.values() for name, call in make().items()}
