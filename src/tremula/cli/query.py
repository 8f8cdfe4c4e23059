"""``tremula query``: its options; no library is imported until it runs."""

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
    PrivateCutsOption,
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
        help="URL of a database as in ibis (duckdb://file, sqlite://file, postgresql://user@host/base), a database "
        "file, or a CSV, ARFF or Parquet file, also compressed, or - for standard input; #table may follow a database.",
        show_default=False,
    ),
]
MembersOption = Annotated[int, typer.Option(min=1, help="Number of trees.")]
MaxDepthOption = Annotated[
    int, typer.Option(min=1, help="Maximum depth of a tree, and number of passes over the table.")
]
MaxFeaturesOption = Annotated[
    float | None,
    typer.Option(
        min=0.01,
        max=1.0,
        metavar="SHARE",
        help="Share of the attributes drawn at each node, as in a random forest: the trees differ more.",
        show_default="all; the square root of their number for classes under a budget",
    ),
]
CubeRowsOption = Annotated[
    str,
    typer.Option(
        metavar="ROWS|auto",
        help="Fetch the counts of all different rows of a table of up to this many rows, and count in memory; auto "
        "does so once further counts cost more. Rows then leave the database; 0 never does this.",
    ),
]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Print the planned queries and send none.")]
OutOption = Annotated[Path, typer.Option("--out", "-o", help="File for the model.")]
SqlOption = Annotated[Path | None, typer.Option(help="File for the model as one SQL query.", show_default=False)]
LogOption = Annotated[Path | None, typer.Option(help="File for all queries sent.", show_default=False)]
LedgerOption = Annotated[
    Path | None, typer.Option(help="JSON file for all questions and whether they were answered.", show_default=False)
]
SeedOption = Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Determines every random choice except the noise.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the results as JSON instead of text.")]
HoldoutOption = Annotated[
    float | None,
    typer.Option(
        metavar="SHARE",
        help="Share of the rows that is held out inside the database to estimate the error of the model. This takes "
        "about as long as the fit itself; 0 gives no estimate.",
        show_default="0.2; 0 with rules of disclosure",
    ),
]


def query(
    url: UrlArgument,
    target: TargetColumn,
    table: DatabaseTable = None,
    columns: Columns = None,
    nominal: Nominal = "",
    task: TaskOfCounts = TaskOrAuto.auto,
    members: MembersOption = 20,
    max_depth: MaxDepthOption = 8,
    max_features: MaxFeaturesOption = None,
    bins: Bins = None,
    min_count: MinCountOption = 0,
    round_to: RoundToOption = None,
    epsilon: EpsilonOption = None,
    delta: DeltaOption = None,
    rho: RhoOption = None,
    domains: DomainsOption = None,
    public: PublicOption = None,
    budget_depth: BudgetDepthOption = None,
    private_cuts: PrivateCutsOption = None,
    ledger_file: LedgerFileOption = None,
    person_id: PersonOption = None,
    rows_per_person: RowsPerPersonOption = 1,
    target_bounds: TargetBoundsOption = None,
    cube_rows: CubeRowsOption = "0",
    working_table: WorkingTableOption = WorkingTableChoice.AUTO,
    holdout: HoldoutOption = None,
    dry_run: DryRunOption = False,
    out: OutOption = Path("model.tremula"),
    sql: SqlOption = None,
    log: LogOption = None,
    ledger: LedgerOption = None,
    seed: SeedOption = 0,
    as_json: JsonOption = False,
) -> None:
    """Learn an ensemble of trees from counts that a database returns (simulated bagging). No row leaves the database.

    Prints the number and form of the planned queries, sends them, and reports what was asked. The model is saved for
    tremula predict. It can also be written as one SQL query, to predict in the database. Its error is estimated on rows
    that are held out inside the database. Only with --cube-rows may rows leave the database.
    """
    options = dict(locals())
    from tremula.cli.query_run import run_query

    run_query(options)
