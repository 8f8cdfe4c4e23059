"""``tremula serve``: a site of a federation, which answers questions about its table over the network."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from tremula.cli.options import TaskOrAuto, split_words
from tremula.errors import InvalidInput
from tremula.queries import GuardedOracle, connect
from tremula.queries.remote.client import LOCAL
from tremula.queries.remote.server import start_server
from tremula.queries.remote.site import Site
from tremula.queries.secure.group import read_group, read_group_key
from tremula.queries.secure.masks import public_key

# Schemes of database files given without one, by file extension.
SCHEMES = dict.fromkeys((".duckdb", ".ddb"), "duckdb") | dict.fromkeys((".sqlite", ".sqlite3", ".db"), "sqlite")
PUBLIC = (
    "Columns, levels, quantiles and classes are told to every client exactly, even those of a single row; only counts "
    "are guarded."
)


def serve(
    url: Annotated[
        str,
        typer.Argument(
            metavar="URL",
            help="URL of a database as in ibis, a database file, or a CSV or Parquet file; #table may follow.",
            show_default=False,
        ),
    ],
    target: Annotated[str, typer.Option(help="Column to predict.", show_default=False)],
    table: Annotated[str | None, typer.Option(help="Table of a database.")] = None,
    columns: Annotated[
        str | None,
        typer.Option(help="Columns to learn from, comma-separated.", show_default="all but the target"),
    ] = None,
    nominal: Annotated[
        str, typer.Option(help="Integer columns to treat as nominal, comma-separated.", show_default=False)
    ] = "",
    task: Annotated[TaskOrAuto, typer.Option(help="Task; auto uses the type of the target column.")] = TaskOrAuto.auto,
    bins: Annotated[int, typer.Option(min=2, help="Number of bins of a numeric column.")] = 32,
    cuts: Annotated[
        Path | None,
        typer.Option(help="JSON file with the cuts of numeric columns, on which all sites agree.", show_default=False),
    ] = None,
    min_count: Annotated[
        int, typer.Option(min=0, help="Give away no count below this number; smaller ones are merged.")
    ] = 5,
    round_to: Annotated[
        int | None, typer.Option(min=1, help="Round counts to multiples of this number.", show_default=False)
    ] = None,
    privacy: Annotated[
        float | None,
        typer.Option(help="Privacy budget, epsilon: noise is added to every count.", show_default=False),
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes a free one.")] = 8443,
    certificate: Annotated[
        Path | None, typer.Option(help="File of the site's certificate (PEM), for HTTPS.", show_default=False)
    ] = None,
    key: Annotated[Path | None, typer.Option(help="File of its private key.", show_default=False)] = None,
    client_ca: Annotated[
        Path | None,
        typer.Option(help="File of the certificates that sign those of clients.", show_default=False),
    ] = None,
    token_file: Annotated[
        Path | None, typer.Option(help="File with the token that clients must send.", show_default=False)
    ] = None,
    max_requests: Annotated[
        int | None, typer.Option(min=1, help="Requests answered in a minute.", show_default=False)
    ] = None,
    max_questions: Annotated[
        int | None,
        typer.Option(min=1, help="Different questions answered in all; needs --audit.", show_default=False),
    ] = None,
    audit: Annotated[
        Path | None, typer.Option(help="File to which all requests are added, without counts.", show_default=False)
    ] = None,
    cube_rows: Annotated[
        int, typer.Option(min=0, help="Keep a table of up to this many rows in memory, which is faster.")
    ] = 0,
    group: Annotated[
        Path | None,
        typer.Option(
            help="File with the keys of all sites, one a line: this site gives away only sums over all of them.",
            show_default=False,
        ),
    ] = None,
    group_key: Annotated[
        Path | None,
        typer.Option(help="File of this site's key in the group; made if there is none.", show_default=False),
    ] = None,
    group_missing: Annotated[int, typer.Option(min=0, help="Sites of the group that a sum may lack if they fail.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the address as JSON instead of text.")] = False,
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
    address, name = _address(url, table)
    options: dict[str, Any] = {
        "attributes": None if columns is None else split_words(columns),
        "categorical_features": split_words(nominal),
        "n_bins": bins,
        "task": task.value,
        "cuts": None if cuts is None else _read_cuts(cuts),
        "cube_rows": cube_rows,
    }
    worker = ThreadPoolExecutor(1)
    oracle = worker.submit(lambda: connect(address, name, target=target, **options)).result()
    guarded = GuardedOracle(oracle, min_count=min_count, round_to=round_to, epsilon=privacy)
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
    _print_address(f"{'http' if files is None else 'https'}://{host}:{server.server_port}", name or url, as_json)
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


def _print_address(address: str, table: str, as_json: bool) -> None:
    if as_json:
        print(json.dumps({"serving": table, "address": address, "not_covered": PUBLIC}), flush=True)
        return
    console = Console(highlight=False, soft_wrap=True)
    console.print(f"serving {table} at {address}", markup=False)
    console.print(PUBLIC, markup=False)


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


def _address(url: str, table: str | None) -> tuple[str, str | None]:
    """Return the URL with its scheme, and the table; a DuckDB file is opened read-only."""
    address, mark, after = url.partition("#")
    if mark and table is not None and table != after:
        raise InvalidInput(f"the table is {after!r} in the URL and {table!r} in --table: give only one of them")
    if "://" not in address and Path(address).suffix.lower() in SCHEMES:
        address = f"{SCHEMES[Path(address).suffix.lower()]}://{address}"
    if address.startswith("duckdb://") and "?" not in address:
        address += "?read_only=True"
    return address, table or after or None
