"""``tremula export``: its options; no library is imported until it runs."""

from tremula.cli.export_options import (
    DialectOption,
    DtypeOption,
    JsonOption,
    KeepOption,
    MissingOption,
    OutOption,
    TableOption,
    TitleOption,
    ToOption,
)
from tremula.cli.options import ModelFileArgument, TrustOption


def export(
    model: ModelFileArgument,
    to: ToOption,
    out: OutOption = None,
    dtype: DtypeOption = None,
    missing: MissingOption = None,
    dialect: DialectOption = None,
    table: TableOption = None,
    keep: KeepOption = None,
    title: TitleOption = None,
    trust: TrustOption = False,
    as_json: JsonOption = False,
) -> None:
    """Write a trained model for another program.

    The file gives the model's own answers, or says for which rows it does not. Models that cannot be written so are
    refused.
    """
    options = dict(locals())
    from tremula.cli.export_formats import run_export

    run_export(options)
