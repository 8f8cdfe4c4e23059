"""``tremula bench``: its options; no library is imported until it runs."""

from typing import Annotated

import typer

from tremula.cli.option_values import RACES


def bench(
    only: Annotated[
        str | None, typer.Option(help=f"Benchmarks to run, comma-separated: {', '.join(RACES)}.", show_default="all")
    ] = None,
    seconds: Annotated[
        float, typer.Option(min=0.0, help="Approximate total time; each benchmark runs at least three times.")
    ] = 20,
    size: Annotated[float, typer.Option(min=0.02, max=100, help="Number of rows, as a multiple of the default.")] = 1.0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the results as JSON instead of a table.")] = False,
) -> None:
    """Compare the speed of tremula with scikit-learn and other libraries on synthetic data.

    Forests are compared with those of scikit-learn-intelex, LightGBM, XGBoost and YDF too, if they are installed. The
    libraries take turns in one thread, and ratios are taken within a round, so other load on the machine affects
    both sides. The spread over rounds is shown: a ratio whose quartiles are far apart means little. The numbers are
    those of this machine; benchmarks/RESULTS.md has results on real data.
    """
    options = dict(locals())
    from tremula.cli.benchmark import run_benchmark

    run_benchmark(options)
