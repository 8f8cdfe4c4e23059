"""``tremula serve``: a site of a federation, which answers questions about its table over the network."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from tremula.cli.budget_tables import public_by_budget
from tremula.cli.database_options import (
    Bins,
    Columns,
    DatabaseTable,
    Nominal,
    TargetColumn,
    TaskOfCounts,
    column_choices,
    database_address,
)
from tremula.cli.guard_options import (
    BudgetDepthOption,
    DeltaOption,
    DomainsOption,
    EpsilonOption,
    LedgerFileOption,
    MinCountOption,
    PersonOption,
    PublicOption,
    RhoOption,
    RoundToOption,
    RowsPerPersonOption,
    TargetBoundsOption,
    default_bins,
    has_budget,
    make_guard,
    read_domains,
    read_limits,
    read_rules,
)
from tremula.cli.options import TaskOrAuto
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


UrlArgument = Annotated[
    str,
    typer.Argument(
        metavar="URL",
        help="URL of a database as in ibis, a database file, or a CSV or Parquet file; #table may follow.",
        show_default=False,
    ),
]
CutsOption = Annotated[
    Path | None,
    typer.Option(help="JSON file with the cuts of numeric columns, on which all sites agree.", show_default=False),
]
HostOption = Annotated[str, typer.Option(help="Address to listen on.")]
PortOption = Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes a free one.")]
CertificateOption = Annotated[
    Path | None, typer.Option(help="File of the site's certificate (PEM), for HTTPS.", show_default=False)
]
KeyOption = Annotated[Path | None, typer.Option(help="File of its private key.", show_default=False)]
ClientCaOption = Annotated[
    Path | None, typer.Option(help="File of the certificates that sign those of clients.", show_default=False)
]
TokenFileOption = Annotated[
    Path | None, typer.Option(help="File with the token that clients must send.", show_default=False)
]
MaxRequestsOption = Annotated[
    int | None, typer.Option(min=1, help="Requests answered in a minute.", show_default=False)
]
MaxQuestionsOption = Annotated[
    int | None, typer.Option(min=1, help="Different questions answered in all; needs --audit.", show_default=False)
]
AuditOption = Annotated[
    Path | None, typer.Option(help="File to which all requests are added, without counts.", show_default=False)
]
CubeRowsOption = Annotated[
    int, typer.Option(min=0, help="Keep a table of up to this many rows in memory, which is faster.")
]
GroupOption = Annotated[
    Path | None,
    typer.Option(
        help="File with the keys of all sites, one a line: this site gives away only sums over all of them.",
        show_default=False,
    ),
]
GroupKeyOption = Annotated[
    Path | None,
    typer.Option(help="File of this site's key in the group; made if there is none.", show_default=False),
]
GroupMissingOption = Annotated[int, typer.Option(min=0, help="Sites of the group that a sum may lack if they fail.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the address as JSON instead of text.")]


def serve(
    url: UrlArgument,
    target: TargetColumn,
    table: DatabaseTable = None,
    columns: Columns = None,
    nominal: Nominal = "",
    task: TaskOfCounts = TaskOrAuto.auto,
    bins: Bins = None,
    cuts: CutsOption = None,
    min_count: MinCountOption = 5,
    round_to: RoundToOption = None,
    epsilon: EpsilonOption = None,
    delta: DeltaOption = None,
    rho: RhoOption = None,
    domains: DomainsOption = None,
    public: PublicOption = None,
    budget_depth: BudgetDepthOption = None,
    ledger_file: LedgerFileOption = None,
    person_id: PersonOption = None,
    rows_per_person: RowsPerPersonOption = 1,
    target_bounds: TargetBoundsOption = None,
    host: HostOption = "127.0.0.1",
    port: PortOption = 8443,
    certificate: CertificateOption = None,
    key: KeyOption = None,
    client_ca: ClientCaOption = None,
    token_file: TokenFileOption = None,
    max_requests: MaxRequestsOption = None,
    max_questions: MaxQuestionsOption = None,
    audit: AuditOption = None,
    cube_rows: CubeRowsOption = 0,
    group: GroupOption = None,
    group_key: GroupKeyOption = None,
    group_missing: GroupMissingOption = 0,
    as_json: JsonOption = False,
) -> None:
    """Answer questions about a table over the network: its columns and guarded counts, never a row.

    Clients learn by tm.queries.connect("https://...") and FederatedOracle. Without HTTPS and a token, or certificates
    of clients, the site listens only to its own machine. With --group-key alone, the key of the site is printed, and
    nothing is served.
    """
    if group is None and group_key is not None:
        _print_key(group_key, as_json)
        return
    if group is not None and group_key is None:
        raise InvalidInput("--group was given without --group-key, the file of this site's key: give both")
    token = None if token_file is None else _read_token(token_file)
    files = _check_security(host, certificate, key, client_ca, token)
    address, name = database_address(url, table)
    choices = column_choices(columns, nominal, bins or default_bins(epsilon, rho), task) | {
        "cuts": None if cuts is None else _read_cuts(cuts),
        "cube_rows": cube_rows,
        **read_limits(person_id, rows_per_person, target_bounds),
        **read_domains(domains, target),
    }
    rules = read_rules(min_count, round_to, epsilon, delta, budget_depth, ledger_file, rho, public)
    if has_budget(rules) and public != ALL and address.lower().endswith(".csv"):
        raise InvalidInput(
            f"{address!r} would be served with a privacy budget, but its rows decide the types of the columns: serve a "
            "database or a Parquet file, or declare --public all"
        )
    worker = ThreadPoolExecutor(1)
    oracle = worker.submit(lambda: connect(address, name, target=target, **choices)).result()
    guarded = make_guard(oracle, rules)
    site = Site(
        guarded,
        token=token,
        max_requests=max_requests,
        max_questions=max_questions,
        log=audit,
        worker=worker,
        group=None if group is None else read_group(group, group_missing),
        group_key=None if group_key is None else read_group_key(group_key),
    )
    server = start_server(site, host, port, files, None if client_ca is None else str(client_ca))
    not_covered = public_by_budget(rules["public"]) if has_budget(rules) else PUBLIC
    _print_address(
        f"{'http' if files is None else 'https'}://{host}:{server.server_port}", name or url, not_covered, as_json
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
