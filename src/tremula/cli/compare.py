"""``tremula compare``: cross-validates methods, prints a ranked table, writes a page and the best model.

Here are its options and its help, which wait for no other library; `comparison.py` does the work.
"""

from pathlib import Path

from tremula.cli.compare_options import (
    AgainstOption,
    AllPairsOption,
    BaselineOption,
    CvOption,
    DataArgument,
    JobsOption,
    JsonOption,
    MethodsOption,
    MetricOption,
    ModelOption,
    OutOption,
    QuickOption,
    ReportOption,
    RopeOption,
    SeedOption,
    StoreOption,
    UntilClearOption,
)
from tremula.cli.options import DropOption, TableOption, TargetOption, TaskOption, UseOption


def compare(
    data: DataArgument = None,
    target: TargetOption = None,
    task: TaskOption = None,
    methods: MethodsOption = None,
    against: AgainstOption = None,
    metric: MetricOption = None,
    baseline: BaselineOption = None,
    all_pairs: AllPairsOption = False,
    rope: RopeOption = None,
    cv: CvOption = None,
    until_clear: UntilClearOption = False,
    drop: DropOption = None,
    use: UseOption = None,
    table: TableOption = None,
    out: OutOption = Path(),
    report: ReportOption = True,
    store: StoreOption = True,
    model: ModelOption = True,
    quick: QuickOption = False,
    seed: SeedOption = 0,
    jobs: JobsOption = 1,
    as_json: JsonOption = False,
) -> None:
    """Compare methods on your data by cross-validation.

    Prints a ranked table with intervals and says which methods may be the best and which are worse. Writes a report
    page, the results, and the best method trained on all rows. Each result is stored immediately: if interrupted, run
    the same command again to resume.

    With several datasets, or a folder of files, the methods are ranked in each, the mean ranks are tested, and there is
    one page and no model.
    """
    options = dict(locals())
    from tremula.cli.comparison import run_comparison

    run_comparison(options)
