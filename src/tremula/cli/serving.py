"""The steps of ``tremula serve``: a site of a federation, which answers questions about its table over the network."""

import json
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from rich.console import Console

from tremula.cli.budget_tables import public_by_budget
from tremula.cli.database_options import WORKING_TABLES, column_choices, database_address
from tremula.cli.guard_rules import default_bins, has_budget, make_guard, read_domains, read_limits, read_rules
from tremula.errors import InvalidInput
from tremula.queries import connect
from tremula.queries.domains import ALL
from tremula.queries.remote.client import LOCAL
from tremula.queries.remote.server import start_server
from tremula.queries.remote.site import Site
from tremula.queries.secure.group import read_group, read_group_key
from tremula.queries.secure.masks import public_key

PUBLIC = (
    "Columns, levels, quantiles and classes are told to every client exactly, even those of a single row; only counts "
    "are guarded."
)


def run_site(options: Mapping[str, Any]) -> None:
    """Answer until the process is stopped; the options have the names of the parameters of the command."""
    given = SimpleNamespace(**options)
    if given.group is None and given.group_key is not None:
        _print_key(given.group_key, given.as_json)
        return
    if given.group is not None and given.group_key is None:
        raise InvalidInput("--group was given without --group-key, the file of this site's key: give both")
    token = None if given.token_file is None else _read_token(given.token_file)
    files = _check_security(given.host, given.certificate, given.key, given.client_ca, token)
    address, name = database_address(given.url, given.table)
    bins = given.bins or default_bins(given.epsilon, given.rho)
    choices = column_choices(given.columns, given.nominal, bins, given.task) | {
        "cuts": None if given.cuts is None else _read_cuts(given.cuts),
        "cube_rows": given.cube_rows,
        "working_table": WORKING_TABLES[given.working_table],
        **read_limits(given.person_id, given.rows_per_person, given.target_bounds),
        **read_domains(given.domains, given.target),
    }
    rules = read_rules(
        given.min_count,
        given.round_to,
        given.epsilon,
        given.delta,
        given.budget_depth,
        given.ledger_file,
        given.rho,
        given.public,
    )
    if has_budget(rules) and given.public != ALL and address.lower().endswith(".csv"):
        raise InvalidInput(
            f"{address!r} would be served with a privacy budget, but its rows decide the types of the columns: serve a "
            "database or a Parquet file, or declare --public all"
        )
    worker = ThreadPoolExecutor(1)
    oracle = worker.submit(lambda: connect(address, name, target=given.target, **choices)).result()
    guarded = make_guard(oracle, rules)
    site = Site(
        guarded,
        token=token,
        max_requests=given.max_requests,
        max_questions=given.max_questions,
        log=given.audit,
        worker=worker,
        group=None if given.group is None else read_group(given.group, given.group_missing),
        group_key=None if given.group_key is None else read_group_key(given.group_key),
    )
    server = start_server(
        site, given.host, given.port, files, None if given.client_ca is None else str(given.client_ca)
    )
    not_covered = public_by_budget(rules["public"]) if has_budget(rules) else PUBLIC
    _print_address(
        f"{'http' if files is None else 'https'}://{given.host}:{server.server_port}",
        name or given.url,
        not_covered,
        given.as_json,
    )
    try:
        server.serve_forever()
    finally:
        server.server_close()


def _print_key(file: Path, as_json: bool) -> None:
    key = public_key(read_group_key(file)).hex()
    if as_json:
        print(json.dumps({"key": key}))
        return
    console = Console(highlight=False, soft_wrap=True)
    console.print(key, markup=False)
    console.print(
        "This is the public key of the site. Write the keys of all sites into one file, and start each with --group.",
        markup=False,
    )


def _print_address(address: str, table: str, not_covered: str, as_json: bool) -> None:
    if as_json:
        print(json.dumps({"serving": table, "address": address, "not_covered": not_covered}), flush=True)
        return
    console = Console(highlight=False, soft_wrap=True)
    console.print(f"serving {table} at {address}", markup=False)
    console.print(not_covered, markup=False)


def _read_token(file: Path) -> str:
    token = file.read_text(encoding="utf-8").strip()
    if len(token) < 16:
        raise InvalidInput(f"the token in {str(file)!r} has {len(token)} characters: at least 16 are needed")
    return token


def _check_security(
    host: str, certificate: Path | None, key: Path | None, client_ca: Path | None, token: str | None
) -> tuple[str, str] | None:
    """Return the files of HTTPS; raise an error if others could listen or ask."""
    if (certificate is None) != (key is None):
        raise InvalidInput("--certificate and --key belong together: give both")
    if host not in LOCAL and (certificate is None or (token is None and client_ca is None)):
        raise InvalidInput(
            f"the site would listen to other machines at {host!r}: give --certificate and --key, and --token-file or "
            "--client-ca"
        )
    return None if certificate is None else (str(certificate), str(key))


def _read_cuts(file: Path) -> dict[str, list[float]]:
    """Return the cuts of columns from a JSON file."""
    try:
        cuts = json.loads(file.read_text(encoding="utf-8"))
        return {str(name): [float(cut) for cut in values] for name, values in cuts.items()}
    except (ValueError, TypeError, AttributeError) as error:
        raise InvalidInput(f"{str(file)!r} is no JSON object of lists of cuts, by column: {error}") from error
