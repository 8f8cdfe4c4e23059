"""``tremula query --holdout``: which rows are held out to estimate the error, and the estimate as JSON and in words."""

from collections.abc import Mapping
from typing import Any

from tremula.cli.guard_rules import is_guarded
from tremula.errors import InvalidInput, InvalidParameter
from tremula.queries.error_estimate import HOLDOUT, ErrorEstimate
from tremula.queries.sql.oracle import MAX_SHARE

SIGNIFICANT = 0.05
NOT_ASKED = "--holdout is 0"
GUARDED = (
    "counts of all rows and of a part of them could be subtracted from each other, which the rules of disclosure must "
    f"prevent. --holdout {HOLDOUT:g} gives an estimate, and the model is then grown from the other rows only"
)


def read_holdout(given: float | None, rules: Mapping[str, Any]) -> tuple[float, str]:
    """Return the share of the rows to hold out, and the reason if there is no estimate.

    Parameters
    ----------
    given : float or None
    rules : mapping
        Rules of disclosure, as `read_rules` returns them.
    """
    if given is not None and not 0 <= given <= MAX_SHARE:
        raise InvalidParameter(f"--holdout is {given:g}, expected a share of at most {MAX_SHARE:g}, or 0 for none")
    if given == 0:
        return 0.0, NOT_ASKED
    if given is None:
        return (0.0, GUARDED) if is_guarded(rules) else (HOLDOUT, "")
    for name, option in (("epsilon", "--epsilon"), ("rho", "--rho"), ("ledger_file", "--ledger-file")):
        if rules[name] is not None:
            raise InvalidInput(
                f"--holdout was given with {option}: the budget does not pay for an error estimate. Leave one of them "
                "out, and measure the error on rows that are not in the table"
            )
    return given, ""


def as_report(estimate: ErrorEstimate, is_of_saved_model: bool) -> dict[str, Any]:
    """Return an estimate as it is written to JSON."""
    return {
        "measure": estimate.measure,
        "value": estimate.value,
        "interval": list(estimate.interval),
        "confidence": estimate.confidence,
        "constant": estimate.constant,
        "constant_prediction": _plain(estimate.constant_prediction),
        "p_value": estimate.p_value,
        "rows_held_out": estimate.n_held_out,
        "rows_of_model": estimate.n_training,
        "is_of_saved_model": is_of_saved_model,
        "rows_alike_stay_together": estimate.keeps_alike,
        "classes": None if estimate.classes is None else [str(label) for label in estimate.classes],
        "confusion": None if estimate.confusion is None else estimate.confusion.tolist(),
    }


def _plain(label: Any) -> Any:
    return label if isinstance(label, float) else str(label)


def in_words(report: Mapping[str, Any]) -> list[str]:
    """Return the sentences about an error estimate, as `as_report` or the reason for its absence gives it."""
    if "left_out" in report:
        return [f"No error estimate: {report['left_out']}."]
    low, high = (_amount(report, bound) for bound in report["interval"])
    name = "Error" if report["measure"] == "error" else "Root mean squared error"
    constant = report["constant_prediction"]
    always = f"{constant:.4g}" if isinstance(constant, float) else repr(constant)
    lines = [
        f"{name} {_amount(report, report['value'])} ({report['confidence']:.0%} interval {low} to {high}) on "
        f"{report['rows_held_out']:,} rows held out in the database; predicting {always} for every row: "
        f"{_amount(report, report['constant'])}."
    ]
    p_value = report["p_value"]
    if p_value is not None and p_value > SIGNIFICANT:
        lines.append(f"The model is not shown to be better than that (p = {p_value:.2f}).")
    if report["is_of_saved_model"]:
        lines.append(f"The saved model was grown from the other {report['rows_of_model']:,} rows, without these.")
    else:
        lines.append(
            f"The estimate is of a model of the other {report['rows_of_model']:,} rows; the saved model has learned "
            "from all rows and is usually a little better."
        )
    if not report["rows_alike_stay_together"]:
        lines.append(
            "Rows that are alike were held out one by one: if some are copies of others, the estimate is too good."
        )
    return lines


def _amount(report: Mapping[str, Any], value: float) -> str:
    return f"{value:.1%}" if report["measure"] == "error" else f"{value:.4g}"
