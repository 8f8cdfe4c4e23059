"""``tremula serve``: its options; no library is imported until it runs."""

from pathlib import Path
from typing import Annotated

import typer

from tremula.cli.database_options import (
    Bins,
    Columns,
    DatabaseTable,
    Nominal,
    TargetColumn,
    TaskOfCounts,
    WorkingTableChoice,
    WorkingTableOption,
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
)
from tremula.cli.options import TaskOrAuto

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
    working_table: WorkingTableOption = WorkingTableChoice.AUTO,
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
    options = dict(locals())
    from tremula.cli.serving import run_site

    run_site(options)
