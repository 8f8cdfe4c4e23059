"""The steps of ``tremula query``: learns trees from counts that a database returns (simulated bagging).

No row leaves the database. The planned queries are printed first, a report of the queries sent afterwards.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from rich.console import Console

from tremula.cli.budget_tables import check_budget, check_stated, levels_as_text, stated_kinds
from tremula.cli.database_options import SCHEMES, WORKING_TABLES, column_choices, database_address
from tremula.cli.guard_rules import default_bins, has_budget, read_domains, read_limits, read_rules
from tremula.cli.holdout import read_holdout
from tremula.cli.learning import Learning, counting
from tremula.cli.model_files import check_ending, check_place
from tremula.cli.options import TaskOrAuto
from tremula.cli.private_cuts import check_private_cuts, choose_cuts, divide_budget, numeric_domains
from tremula.cli.query_output import describe_plan, print_asked, print_plan, print_query
from tremula.errors import InvalidInput, InvalidParameter, listed
from tremula.lab.datasets.formats.packed import is_packed
from tremula.lab.datasets.tables import FORMATS
from tremula.lab.datasets.typed_table import open_typed_table
from tremula.persistence.atomic_write import write_atomically
from tremula.queries import connect
from tremula.queries.sql.cube import AUTO
from tremula.queries.sql.database import duckdb_table, without_password
from tremula.queries.sql.plan import plan_queries

# Names of sqlglot's dialects where they differ from the engine's.
DIALECTS = {"pyspark": "spark"}


def run_query(options: Mapping[str, Any]) -> None:
    """Learn from counts as the options say; they have the names of the parameters of the command."""
    given = SimpleNamespace(**options)
    address, name = _address(given.url, given.table)
    files = _check_files(given.url, given.out, given.sql, given.log, given.ledger)
    chosen, rules, learning = _choices(given)
    connecting: dict[str, Any] = {"cube_rows": _cube_rows(given.cube_rows)}
    check_budget(rules, connecting["cube_rows"])
    check_private_cuts(given.private_cuts, rules)
    report: dict[str, Any] = {"url": without_password(address), "table": name, "target": given.target} | connecting
    with _source(address, name, given.target, chosen, rules) as (source, read):
        plan = plan_queries(source, name, given.target, **chosen | read)
        check_stated(plan, rules)
        bounds = {} if given.private_cuts is None else numeric_domains(plan, chosen.get("domains", {}))
        report |= describe_plan(plan, learning, bool(bounds))
        if not given.as_json:
            print_plan(report, plan)
        if given.dry_run:
            _print_json(report) if given.as_json else print_query(plan)
            return
        connecting |= {**chosen, **read, "target": given.target}
        with _query_log(given.log) as sent, counting(sent):
            if bounds:
                divided = divide_budget(rules, given.private_cuts)
                cuts, guarded = choose_cuts(source, name, connecting, bounds, divided, sent.append)
                connecting["cuts"] = cuts
                learning.pay_for_cuts(guarded, divided.of_counts)
            with connect(source, name, on_query=sent.append, **connecting) as oracle:
                model, asked = learning.learn(oracle, sent, given.out)
    if given.sql is not None:
        _write_sql(model, given.sql, name or given.url, plan.engine)
    report |= asked | {"wrote": [str(file) for file in files]}
    _print_json(report) if given.as_json else print_asked(report)


def _choices(given: SimpleNamespace) -> tuple[dict[str, Any], dict[str, Any], Learning]:
    """Return what `connect` takes, the rules of disclosure, and how the model is grown."""
    bins = given.bins or default_bins(given.epsilon, given.rho)
    chosen = column_choices(given.columns, given.nominal, bins, given.task)
    chosen |= read_limits(given.person_id, given.rows_per_person, given.target_bounds)
    chosen |= read_domains(given.domains, given.target)
    chosen["working_table"] = WORKING_TABLES[given.working_table]
    rules = read_rules(
        given.min_count, given.round_to, given.epsilon, given.delta, given.budget_depth, given.ledger_file,
        given.rho, given.public,
    )  # fmt: skip
    parameters = {"n_estimators": given.members, "max_depth": given.max_depth, "random_state": given.seed}
    parameters["max_features"] = given.max_features
    return chosen, rules, Learning(parameters, rules, *read_holdout(given.holdout, rules), given.ledger)


def _print_json(report: Mapping[str, Any]) -> None:
    print(json.dumps(report, indent=2, ensure_ascii=False))


def _write_sql(model: Any, file: Path, table: str, engine: str) -> None:
    write_atomically(file, (model.export_sql(table, DIALECTS.get(engine, engine)) + "\n").encode())


# --- arguments ---


def _cube_rows(text: str) -> int | str:
    if text != AUTO and not (text.isdecimal() and len(text) < 20):
        raise InvalidParameter(f"--cube-rows is {text!r}, expected a whole number or {AUTO}")
    return text if text == AUTO else int(text)


@contextmanager
def _query_log(log: Path | None) -> Iterator[list[str]]:
    """Give a list for the queries sent; write it to the log even if an error follows."""
    sent: list[str] = []
    try:
        yield sent
    finally:
        if log is not None:
            write_atomically(log, ";\n\n".join([*sent, ""]).encode())


def _check_files(url: str, out: Path, *others: Path | None) -> list[Path]:
    """Return the files to write; raise an error if one cannot be written or is named twice."""
    check_ending(out)
    files = [out, *(file for file in others if file is not None)]
    for number, file in enumerate(files):
        check_place(file, url.rpartition("://")[2])
        if file.resolve() in [other.resolve() for other in files[:number]]:
            raise InvalidInput(f"{str(file)!r} is named for two files: give each its own name")
    return files


def _address(url: str, table: str | None) -> tuple[str, str | None]:
    """Return the URL with its scheme, and the table; raise an error if it is no database and no file of rows."""
    address, name = database_address(url, table)
    if "://" not in address and not is_packed(address) and Path(address).suffix.lower() not in FORMATS:
        endings = listed([*SCHEMES, *FORMATS])
        raise InvalidInput(
            f"{url!r} is neither the URL of a database, such as duckdb://file or postgresql://user@host/base, nor a "
            f"file ending in {endings} (or compressed, .gz or .zst), nor - for standard input: give one of these"
        )
    return address, name


@contextmanager
def _source(
    address: str, table: str | None, target: str, chosen: Mapping[str, Any], rules: Mapping[str, Any]
) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Give what `connect` takes; a file is read as all commands read it, which decides the task and the attributes."""
    if "://" in address:
        yield address, {}
        return
    if table is not None:
        raise InvalidInput(f"the table {table!r} was given, but {address!r} is not a database: leave it out")
    task = None if chosen["task"] == TaskOrAuto.auto.value else chosen["task"]
    attributes = chosen["attributes"]
    person = [chosen["person_id"]] if "person_id" in chosen else []
    wanted = None if attributes is None else [*attributes, *chosen["categorical_features"], *person]
    stated = stated_kinds(chosen, target) if has_budget(rules) else None
    with open_typed_table(address, target, task, wanted, stated) as typed:
        if typed.notes:
            Console(stderr=True, soft_wrap=True).print("\n".join(typed.notes), markup=False, highlight=False)
        opened = duckdb_table(typed.connection, typed.name)
        kept = None if attributes is None else [name for name in attributes if name in opened.columns]
        yield opened, {"task": typed.task, "attributes": kept} | ({} if stated is None else levels_as_text(chosen))
