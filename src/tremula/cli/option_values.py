"""The words of each command for completion in the shell: its options, and what can follow them.

Written down here, since the commands take seconds to import; a test compares them with the commands.
"""

import csv
import gzip
from collections.abc import Callable, Sequence
from pathlib import Path

Values = Callable[[str, Sequence[str]], list[str]]  # from the word so far, and the others given, to whole words

CLASSIFICATION_METHODS = [
    *("aspen", "smeared-bagging", "softened-forest", "random-forest", "extra-trees", "bagging", "adaboost"),
    *("randomized", "output-flipping", "c45", "c45-unpruned", "c45-release1", "j48", "c45-randomized", "reptree"),
    *("reptree-unpruned", "cart", "cart-unpruned", "cart-su", "id3", "sklearn-tree"),
]
REGRESSION_METHODS = [
    *("aspen", "smeared-bagging", "softened-forest", "random-forest", "extra-trees", "bagging", "output-smearing"),
    *("m5", "reptree", "reptree-unpruned", "cart", "cart-unpruned", "sklearn-tree"),
]
METHODS = list(dict.fromkeys([*CLASSIFICATION_METHODS, *REGRESSION_METHODS]))
USUAL_METHODS = [*CLASSIFICATION_METHODS[:6], "c45"]  # of classification
LIBRARIES = ["sklearn", "lightgbm", "xgboost", "catboost", "ydf", "interpret", "sklearnex"]
METRICS = ["error", "log_loss", "brier", "auc", "f1", "balanced_error", "rmse", "mae", "r2"]
FOLDS = 10
PAPERS = ["dietterich2000", "frank2006", "geurts2001", "vanassche2006", "variance_reduction", "default"]
RACES = ["tree", "forest", "predict", "smoothing", "counts"]
FORMATS = ["onnx", "treelite", "sklearn", "sql", "html"]
MODEL_ENDINGS = [".tremula", ".skops", ".joblib", ".pkl", ".pickle", ".json", ".ubj", ".txt"]
DIALECTS = ["duckdb", "postgres", "sqlite", "mysql", "bigquery", "snowflake", "spark"]
TASKS = ["classification", "regression"]
LOSSES = ["error", "log_loss", "squared_error", "absolute_error"]
DATASETS = ["iris", "wine", "breast-cancer-wisconsin", "digits", "diabetes-progression"]


# --- values ---


def one_of(names: Sequence[str]) -> Values:
    """Return what completes a name.

    Examples
    --------
    >>> one_of(["iris", "wine"])("w", [])
    ['wine']
    """
    return lambda incomplete, _: [name for name in names if name.startswith(incomplete)]


def some_of(names: Sequence[str]) -> Values:
    """Return what completes the last of comma-separated names.

    Examples
    --------
    >>> some_of(["c45", "cart", "bagging"])("bagging,c", [])
    ['bagging,c45', 'bagging,cart']
    """

    def complete(incomplete: str, _: Sequence[str]) -> list[str]:
        before, comma, last = incomplete.rpartition(",")
        chosen = before.split(",")
        return [f"{before}{comma}{name}" for name in names if name.startswith(last) and name not in chosen]

    return complete


def column(incomplete: str, given: Sequence[str]) -> list[str]:
    """Complete the name of a column of the file that stands on the command line."""
    return one_of(column_names(given))(incomplete, given)


def columns(incomplete: str, given: Sequence[str]) -> list[str]:
    """Complete comma-separated names of columns."""
    return some_of(column_names(given))(incomplete, given)


def column_names(given: Sequence[str]) -> list[str]:
    """Return the names in the first line of a file of text, or in the schema of a Parquet file; else none."""
    for word in given:
        path = Path(word)
        if path.suffix.lower() in (".csv", ".tsv", ".txt", ".gz", ".parquet") and path.is_file():
            try:
                return _names_in(path)
            except (OSError, ValueError, csv.Error):
                return []
    return []


def _names_in(path: Path) -> list[str]:
    if path.suffix.lower() == ".parquet":
        from tremula.lab.datasets.formats.parquet import open_parquet

        with open_parquet(path) as relation:
            return relation.names
    with gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb") as file:
        line = file.readline().decode("utf-8-sig")
    separator = max(",;\t|", key=line.count)
    return [name.strip() for name in next(csv.reader([line], delimiter=separator), [])]


def data(incomplete: str, _: Sequence[str]) -> list[str]:
    """Complete the name of a dataset or the path of a file."""
    folder = Path(incomplete) if incomplete.endswith("/") else Path(incomplete).parent
    paths = sorted(folder.iterdir()) if folder.is_dir() else []
    files = [f"{path}/" if path.is_dir() else str(path) for path in paths if not path.name.startswith(".")]
    return [name for name in [*DATASETS, *files] if name.startswith(incomplete)]


def other(incomplete: str, _: Sequence[str]) -> list[str]:
    """Leave it to the shell, which completes paths."""
    return []


# --- the words of the commands: None is a flag ---

ARGUMENTS: dict[str, tuple[Values, ...]] = {
    "compare": (data,),
    "fit": (data,),
    "predict": (other, data),
    "smooth": (other,),
    "export": (other,),
    "query": (data,),
    "serve": (data,),
    "reproduce": (one_of(PAPERS),),
    "data describe": (data,),
    "data check": (data,),
    "data fetch": (data,),
}
OPTIONS: dict[str, dict[str, Values | None]] = {
    "compare": {
        "--target": column,
        "--task": one_of(TASKS),
        "--methods": some_of(METHODS),
        "--against": some_of(LIBRARIES),
        "--metric": one_of(METRICS),
        "--baseline": one_of(METHODS),
        "--all-pairs": None,
        "--rope": other,
        "--cv": one_of(["10", "5x2", "10x10", "time"]),
        "--until-clear": None,
        "--drop": columns,
        "--use": columns,
        "--table": other,
        "--out -o": other,
        "--report --no-report": None,
        "--store --no-store": None,
        "--model --no-model": None,
        "--quick": None,
        "--seed": other,
        "--jobs": other,
        "--json": None,
    },
    "fit": {
        "--target": column,
        "--method": one_of(METHODS),
        "--task": one_of(TASKS),
        "--cv": one_of(["10", "5x2", "10x10", "time"]),
        "--drop": columns,
        "--use": columns,
        "--table": other,
        "--out -o": other,
        "--seed": other,
        "--jobs": other,
        "--json": None,
    },
    "predict": {
        "--out -o": other,
        "--probabilities": None,
        "--interval": other,
        "--quantiles": other,
        "--set": other,
        "--training": other,
        "--keep": columns,
        "--table": other,
        "--trust": None,
        "--json": None,
    },
    "smooth": {
        "--data": other,
        "--target": column,
        "--noise": other,
        "--test-share": other,
        "--scoring": one_of(LOSSES),
        "--classes": other,
        "--out -o": other,
        "--trust": None,
        "--seed": other,
        "--jobs": other,
        "--json": None,
    },
    "export": {
        "--to": one_of(FORMATS),
        "--out -o": other,
        "--dtype": one_of(["float64", "float32"]),
        "--missing": one_of(["none", "null", "shares"]),
        "--dialect": one_of(DIALECTS),
        "--table": other,
        "--keep": other,
        "--title": other,
        "--trust": None,
        "--json": None,
    },
    "query": {
        "--target": column,
        "--table": other,
        "--columns": columns,
        "--nominal": columns,
        "--task": one_of(["auto", *TASKS]),
        "--members": other,
        "--max-depth": other,
        "--max-features": other,
        "--bins": other,
        "--min-count": other,
        "--round-to": other,
        "--epsilon --privacy": other,
        "--delta": other,
        "--rho": other,
        "--domains": other,
        "--public": columns,
        "--budget-depth": other,
        "--private-cuts": other,
        "--ledger-file": other,
        "--person-id": column,
        "--rows-per-person": other,
        "--target-bounds": other,
        "--cube-rows": one_of(["auto"]),
        "--working-table": one_of(["auto", "yes", "no"]),
        "--holdout": other,
        "--dry-run": None,
        "--out -o": other,
        "--sql": other,
        "--log": other,
        "--ledger": other,
        "--seed": other,
        "--json": None,
    },
    "serve": {
        "--target": column,
        "--table": other,
        "--columns": columns,
        "--nominal": columns,
        "--task": one_of(["auto", *TASKS]),
        "--bins": other,
        "--working-table": one_of(["auto", "yes", "no"]),
        "--cuts": other,
        "--min-count": other,
        "--round-to": other,
        "--epsilon --privacy": other,
        "--delta": other,
        "--rho": other,
        "--domains": other,
        "--public": columns,
        "--budget-depth": other,
        "--ledger-file": other,
        "--person-id": column,
        "--rows-per-person": other,
        "--target-bounds": other,
        "--host": other,
        "--port": other,
        "--certificate": other,
        "--key": other,
        "--client-ca": other,
        "--token-file": other,
        "--max-requests": other,
        "--max-questions": other,
        "--audit": other,
        "--cube-rows": other,
        "--group": other,
        "--group-key": other,
        "--group-missing": other,
        "--json": None,
    },
    "reproduce": {
        "--only": other,
        "--datasets": other,
        "--methods": other,
        "--splits": other,
        "--quick": None,
        "--full": None,
        "--results": other,
        "--out": other,
        "--jobs": other,
        "--retry": None,
        "--stored": None,
        "--json": None,
    },
    "bench": {"--only": some_of(RACES), "--seconds": other, "--size": other, "--json": None},
    "data list": {
        "--task": one_of(TASKS),
        "--max-rows": other,
        "--min-rows": other,
        "--paper": one_of(PAPERS),
        "--here": None,
        "--json": None,
    },
    "data describe": {"--target": column, "--json": None},
    "data check": {
        "--target": column,
        "--task": one_of(TASKS),
        "--drop": columns,
        "--use": columns,
        "--table": other,
        "--json": None,
    },
    "data fetch": {"--json": None},
}
