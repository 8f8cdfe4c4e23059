"""``tremula smooth``: its options; no library is imported until it runs."""

from tremula.cli.options import TrustOption
from tremula.cli.smooth_options import (
    ClassesOption,
    DataOption,
    JobsOption,
    JsonOption,
    ModelArgument,
    NoiseOption,
    OutOption,
    ScoringOption,
    SeedOption,
    TargetOption,
    TestShareOption,
)


def smooth(
    model: ModelArgument,
    data: DataOption,
    target: TargetOption = None,
    noise: NoiseOption = "auto",
    test_share: TestShareOption = 0.5,
    scoring: ScoringOption = None,
    classes: ClassesOption = None,
    out: OutOption = None,
    trust: TrustOption = False,
    seed: SeedOption = 0,
    jobs: JobsOption = 1,
    as_json: JsonOption = False,
) -> None:
    """Smooth a trained model: predict the mean of its predictions over small random changes of each row.

    Works with models of tremula, scikit-learn, XGBoost and LightGBM, without retraining. Some of the rows are used to
    choose the amount of noise, the rest to estimate the loss before and after. The smoothed model is saved for tremula
    predict and tm.load.
    """
    options = dict(locals())
    from tremula.cli.smoothing import run_smoothing

    run_smoothing(options)
