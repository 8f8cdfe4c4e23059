"""The fit of ``tremula query``: grows the model from counts, saves it, and estimates its error on held-out rows."""

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console
from sklearn.base import clone

import tremula as tm
from tremula.cli.guard_rules import has_budget, is_guarded, make_guard
from tremula.cli.holdout import as_report
from tremula.cli.model_files import write_model
from tremula.data.column import show
from tremula.errors import QueryFailed, TremulaError
from tremula.persistence.atomic_write import write_atomically
from tremula.queries import GuardedOracle, TableOracle
from tremula.queries.error_estimate import PredictionOracle, measure_error, measure_guarded_error
from tremula.queries.ledger import LedgerEntry
from tremula.queries.oracle import Oracle
from tremula.queries.privacy import epsilon_for
from tremula.queries.sql.held_out import HeldOutRows
from tremula.queries.sql.working_sql import is_statement

ALL_ROWS, TRAINING_ROWS, HELD_OUT_ROWS = "all", "not held out", "held out"


@dataclass
class Learning:
    """How a model is grown from counts, and its error estimated.

    Attributes
    ----------
    parameters : mapping
        Of the model.
    rules : mapping
        Rules of disclosure, as `read_rules` returns them.
    share : float
        Share of the rows that are held out.
    no_estimate : str
        Why none is held out; empty if some are.
    ledger : Path or None
        File for all questions.
    """

    parameters: Mapping[str, Any]
    rules: Mapping[str, Any]
    share: float
    no_estimate: str
    ledger: Path | None
    _entries: list[tuple[str, list[LedgerEntry]]] = field(default_factory=list)
    _counting_rules: Mapping[str, Any] | None = None  # what is left of the rules after cuts were paid for
    _spent_on_cuts: float = 0.0

    def pay_for_cuts(self, guarded: GuardedOracle, left: Mapping[str, Any]) -> None:
        """Note what a guard answered and spent on cuts, and the rules that are left for counts."""
        self._entries.append((ALL_ROWS, guarded.ledger))
        self._counting_rules, self._spent_on_cuts = left, guarded.spent

    @property
    def is_guarded(self) -> bool:
        """Whether there is a rule of disclosure."""
        return is_guarded(self.rules)

    @property
    def grows_twice(self) -> bool:
        """Whether the error is that of a second model, so that the saved one learns from all rows."""
        return self.share > 0 and not self.is_guarded

    def learn(self, oracle: TableOracle, sent: Sequence[str], out: Path) -> tuple[Any, dict[str, Any]]:
        """Save a model, and return it and a report of what was asked."""
        start = time.perf_counter()
        identifiers = [] if self.is_guarded else oracle.find_identifiers()
        if identifiers:
            print_note(_identifiers_in_words(identifiers, oracle))
        kind = tm.SimulatedBaggingRegressor if oracle.schema.classes is None else tm.SimulatedBaggingClassifier
        parameters = dict(self.parameters)
        if parameters["max_features"] is None and oracle.schema.classes is not None and has_budget(self.rules):
            parameters["max_features"] = "sqrt"  # members that draw attributes average more noise out
        model = kind(**parameters)
        counted, held_out = oracle, None
        if self.share and self.is_guarded:
            counted, held_out = oracle.hold_out(self.share, self._key, keep_alike=False)
        answering = self._fit(model, counted, ALL_ROWS if held_out is None else TRAINING_ROWS)
        write_model(model, out)
        seconds = time.perf_counter() - start
        estimate = self._estimate(model, oracle, answering, held_out)
        report: dict[str, Any] = {
            "model": type(model).__name__,
            "classes": None if oracle.schema.classes is None else [str(label) for label in oracle.schema.classes],
            "members": len(model.members_),
            "mean_leaves": sum(tree.n_leaves for tree in model.members_) / len(model.members_),
            "queries_sent": sum(not is_statement(sql) for sql in sent),
            "identifiers": identifiers,
            "working_table_refusal": counted.working_table_refusal,
            "different_rows_fetched": counted.has_fetched_rows,
            "seconds": round(seconds, 3),
            "seconds_of_estimate": round(time.perf_counter() - start - seconds, 3),
            "error_estimate": estimate,
        }
        if isinstance(answering, GuardedOracle):
            report["disclosure"] = disclosure(answering, self.rules, self._spent_on_cuts)
        return model, report

    @property
    def _key(self) -> str:
        return f"tremula {self.parameters['random_state']}"

    def _fit(self, model: Any, oracle: Oracle, rows: str) -> Oracle:
        """Fit on counts, guarded if need be, and return what answered; the ledger is written even if the fit fails."""
        if not self.is_guarded and self.ledger is None:
            model.fit(oracle)
            return oracle
        guarded = make_guard(oracle, self._counting_rules or self.rules, self.parameters["max_depth"])
        self._entries.append((rows, guarded.ledger))
        try:
            model.fit(guarded)
        except TremulaError as error:
            suppressed = sum(entry.suppressed for entry in guarded.ledger)
            if not suppressed:
                raise
            raise type(error)(
                f"{error}; {suppressed} cells with too few rows were suppressed: lower --min-count"
            ) from error
        finally:
            self._write_ledger()
        return guarded

    def _estimate(
        self, model: Any, oracle: TableOracle, answering: Oracle, held_out: HeldOutRows | None
    ) -> dict[str, Any]:
        """Return the error estimate, or why there is none; the model is saved already."""
        if not self.share:
            return {"left_out": self.no_estimate}
        try:
            if held_out is not None:
                predictions = make_guard(PredictionOracle(model, held_out), self.rules)
                self._entries.append((HELD_OUT_ROWS, predictions.ledger))
                return as_report(measure_guarded_error(predictions, answering, held_out), is_of_saved_model=True)
            training, held_out = oracle.hold_out(self.share, self._key)
            copy = clone(model)
            answering = self._fit(copy, training, TRAINING_ROWS)
            self._entries.append((HELD_OUT_ROWS, [_entry_of_predictions()]))
            return as_report(measure_error(copy, answering, held_out), is_of_saved_model=False)
        except QueryFailed:
            raise
        except TremulaError as error:
            return {"left_out": str(error)}
        finally:
            self._write_ledger()

    def _write_ledger(self) -> None:
        """Write all questions so far; `rows` says which rows each was about."""
        if self.ledger is None:
            return
        entries = [(rows, entry) for rows, ledger in self._entries for entry in ledger]
        lines = [
            json.dumps(asdict(entry) | {"number": number, "rows": rows}, ensure_ascii=False)
            for number, (rows, entry) in enumerate(entries)
        ]
        write_atomically(self.ledger, "".join(f"{line}\n" for line in lines).encode())


def print_note(text: str) -> None:
    """Print a note beside the results."""
    Console(stderr=True, soft_wrap=True).print(text, markup=False, highlight=False)


def _identifiers_in_words(identifiers: Sequence[str], oracle: TableOracle) -> str:
    """Return which columns look like identifiers, and how to leave them out."""
    others = [a.name for a in oracle.schema.attributes if a.name not in identifiers]
    subject, verb = ("column {} has", "is") if len(identifiers) == 1 else ("columns {} have", "are")
    advice = f" To leave out what is one: --columns {','.join(others)}" if others else ""
    return f"{subject.format(show(identifiers))} few rows for each value, as identifiers have, and {verb} used.{advice}"


def _entry_of_predictions() -> LedgerEntry:
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return LedgerEntry(0, now, "", ("prediction",), joint=False, outcome="answered", cost=0.0, suppressed=0)


@contextmanager
def counting(sent: Sequence[str]) -> Iterator[None]:
    """Show the number of queries sent, on a terminal."""
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    class SentColumn(TextColumn):
        def render(self, task: Any) -> Any:
            return super().render(task) + f"{len(sent)} queries sent"

    console = Console(stderr=True)
    columns = SpinnerColumn(), SentColumn(""), TimeElapsedColumn()
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        progress.add_task("", total=None)
        yield


def disclosure(guarded: GuardedOracle, rules: Mapping[str, Any], spent_on_cuts: float = 0.0) -> dict[str, Any]:
    """Return what a guard answered, and what was spent, on cuts included."""
    outcomes = [entry.outcome for entry in guarded.ledger]
    spent = guarded.spent + spent_on_cuts
    return {
        **{name: rule for name, rule in rules.items() if name not in ("budget_depth", "ledger_file", "public")},
        "questions_answered": outcomes.count("answered"),
        "questions_estimated": outcomes.count("estimated"),
        "questions_refused": outcomes.count("refused"),
        "cells_suppressed": sum(entry.suppressed for entry in guarded.ledger),
        "epsilon_spent": _epsilon_spent(spent, rules),
        "rho_spent": None if rules["rho"] is None else spent,
    }


def _epsilon_spent(spent: float, rules: Mapping[str, Any]) -> float | None:
    """Return the epsilon that was spent; with a delta, that of the rho that was spent."""
    if rules["epsilon"] is None or rules["delta"] is None:
        return None if rules["epsilon"] is None else spent
    return min(epsilon_for(spent, rules["delta"]), rules["epsilon"]) if spent else 0.0
