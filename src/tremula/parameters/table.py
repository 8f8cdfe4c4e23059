"""Every parameter of the estimators: its meaning and the values it takes. Defaults are those of the signatures.

A name has one meaning. Where an estimator has more to say about a parameter, its `with_parameters` does.
"""

from __future__ import annotations

from dataclasses import dataclass

from tremula.parameters.kinds import (
    AMOUNTS,
    BOOTSTRAP,
    COUNT,
    COUNT_OR_AUTO,
    DIRECTIONS,
    ESTIMATOR,
    FLAG,
    FOLDS,
    JOBS,
    MAX_FEATURES,
    OOB_SCORE,
    ROW_COUNT,
    ROW_COUNT_OR_NONE,
    SEED,
    VERBOSITY,
    Kind,
    anything,
    choice,
    class_weights,
    number,
    number_or_word,
)

MOST_DRAWS = 1_000_000  # of noise; each takes memory for every attribute


@dataclass(frozen=True)
class Parameter:
    """A parameter of an estimator.

    Attributes
    ----------
    kind : Kind
        Which values it takes.
    meaning : str
        Sentences for the docstring.
    """

    kind: Kind
    meaning: str


N_ESTIMATORS_OR_AUTO = Parameter(
    COUNT_OR_AUTO,
    'Number of members. "auto" adds members until the out-of-bag loss has settled; `oob_trace_` records it.',
)

LEAF_COST = (
    "Cost of a leaf in minimal cost-complexity pruning, in units of {}. 0 does not prune. "
    '"validation" takes the subtree of least error on `X_val` and `y_val`, "cv" the subtree of least cross-validated '
    "error; ties go to the smaller tree."
)
OWN_COLUMNS = "Which columns are nominal, for tremula's trees; see the guide to columns."
BOOTSTRAP_OR_ALL_ROWS = "Whether members are trained on bootstrap samples of the rows; False uses all rows."
BALANCED = '"balanced" draws as many rows of every class as the smallest class has, with replacement.'
BOOTSTRAP_OF_CLASSES = Parameter(BOOTSTRAP, f"Whether rows are drawn with replacement. {BALANCED}")
BOOTSTRAP_OF_CLASSES_OR_ALL_ROWS = Parameter(BOOTSTRAP, f"{BOOTSTRAP_OR_ALL_ROWS} {BALANCED}")
AMOUNT_OF_NOISE = (
    "Amount of noise: its standard deviation, in units of the standard deviation of each attribute over the training "
    'rows. One number, one for each attribute, one for each tree and attribute, or "auto" to choose it on rows that '
    "did not train the model. "
)
CLASS_WEIGHT = (
    "Weights of the classes, by which the weights of their rows are multiplied; 1 for a class that the dict lacks. "
    '"balanced" gives every class the same weight in total: n_rows / (n_classes * rows of the class). '
    "A list has a dict for each of several targets. "
)
CLASS_WEIGHT_OF_MEMBERS = Parameter(
    class_weights("balanced", "balanced_subsample"),
    CLASS_WEIGHT + '"balanced_subsample" does the same for each member, by the rows drawn for it.',
)
# --- trees ---
TREES = {
    "class_weight": Parameter(class_weights("balanced"), CLASS_WEIGHT.strip()),
    "criterion": Parameter(anything("str"), "Measure of the quality of a split."),
    "splitter": Parameter(
        choice(["best", "random"]),
        "Whether a numeric attribute is split at its best threshold, or at one drawn uniformly between its smallest "
        "and largest value in the node.",
    ),
    "max_depth": Parameter(number(1, whole=True, none=True), "Maximum depth of the tree; None sets no limit."),
    "min_samples_split": Parameter(
        number(0.0),
        "Minimum number of rows in a node to split it. A row counts its weight if all weights are whole numbers, else "
        "its weight divided by the mean weight.",
    ),
    "min_samples_leaf": Parameter(
        number(0.0), "Minimum number of rows on each side of a split, counted as for `min_samples_split`."
    ),
    "min_weight_fraction_leaf": Parameter(
        number(0.0, 0.5), "Minimum share of the weight of all rows that each side of a split must have."
    ),
    "min_weight_split": Parameter(number(0.0), "Minimum sum of row weights in a node to split it."),
    "min_weight_leaf": Parameter(
        number(0.0), "Minimum sum of row weights that at least two branches of a split must have."
    ),
    "max_features": Parameter(
        MAX_FEATURES, "Number of attributes drawn at each node to choose the split from; None is all."
    ),
    "max_bins": Parameter(
        number(2, 256, whole=True, none=True),
        "Number of bins that a numeric attribute with more distinct values is cut into, at quantiles of the training "
        "rows; thresholds lie between bins. None considers every threshold. Bins need row weights "
        'that are whole numbers, and missing="branch" if values are missing.',
    ),
    "missing": Parameter(
        choice(["branch", "shares"]),
        'What becomes of rows whose tested value is missing. With "branch" each split learns which branch they take: a '
        "missing nominal value counts as a level of its own, and for numbers both branches are tried, and missing "
        "against known values. Where all training rows of a node had the value, a row without it takes every branch, "
        'in shares proportional to their weights. With "shares" it always does, in training too, as in C4.5.',
    ),
    "nominal": Parameter(
        choice(["auto", "subsets", "one_vs_rest", "statistics", "codes"]),
        'How a nominal attribute is split. "subsets" divides the levels into the two sets that fit the rows of the '
        'node best, which fits noise where levels have few rows; "one_vs_rest" divides one level from all others. The '
        'other ways compare a number for each level with a threshold: "statistics" the mean target of other rows with '
        'the level, "codes" its place among the levels; more than 256 different numbers are put into bins. '
        '"auto" takes statistics for attributes of more than 5 levels, '
        "else subsets; with more than two classes it takes statistics only if there are fewer than 5 rows for each "
        "level. Columns that look like identifiers and do not go with the target are then left out, see "
        "`ignored_features_`: nominal ones of fewer than 5 rows for each level, and different whole numbers that "
        "number the rows.",
    ),
    "max_leaf_nodes": Parameter(
        number(2, whole=True, none=True),
        "Maximum number of leaves; None sets no limit. The splits that decrease the impurity most are kept, as if the "
        "tree had grown best first.",
    ),
    "monotonic_cst": Parameter(
        DIRECTIONS,
        "Constraints of order: 1 for each column with which predictions may not fall, -1 if they may not rise, 0 if "
        "they are free; or a dict by column name. Predictions are the numbers, or the probability of the second of two "
        'classes. nominal="auto" then takes subsets.',
    ),
    "ccp_alpha": Parameter(
        number_or_word(number(0.0), "validation", "cv"),
        LEAF_COST.format("the training loss"),
    ),
    "cv": Parameter(FOLDS, 'Folds of the cross-validation, with "cv".'),
    "confidence": Parameter(
        number(0.0, 0.5, above=True, none=True),
        "Confidence of error-based pruning, above 0 and at most 0.5; smaller values prune more. None does not prune; "
        "as in C4.5, splits that do not reduce the training errors are collapsed even then.",
    ),
    "release": Parameter(
        choice([8, 1, "J48"]),
        "Release 8 subtracts the cost of the threshold from the gain of a numeric attribute. Release 1, used in papers "
        "of the 1990s, does not, and chooses thresholds by gain ratio. Weka's J48 is Release 8 with a different "
        "constant in the error estimate.",
    ),
    "filter": Parameter(
        choice(["average_gain", None]),
        'With "average_gain", as in C4.5, an attribute is taken only if its gain is at least the mean of the '
        "attributes. None takes the best gain ratio of all.",
    ),
    "threshold_criterion": Parameter(
        choice(["auto", "gain", "gain_ratio"]),
        'What chooses among the thresholds of one attribute; "auto" does as the release does.',
    ),
    "threshold_penalty": Parameter(
        choice(["auto", True, False]),
        "Whether the gain of a numeric attribute pays for the choice of its threshold: the logarithm of the number of "
        'thresholds, over the number of rows. "auto" does as the release does.',
    ),
    "n_best_splits": Parameter(
        COUNT,
        "Each node draws its split uniformly from this many best splits. Every threshold of a numeric attribute is a "
        "separate split. The gain of a split must be at least the mean of the best gains of the attributes.",
    ),
    "subtree_raising": Parameter(FLAG, "Whether pruning may replace a node by its heaviest branch."),
    "prune": Parameter(FLAG, "Whether to prune the tree."),
    "n_folds": Parameter(
        number(2, 1_000_000, whole=True),
        "One of this many folds is held out for pruning, unless `fit` is given `X_val` and `y_val`.",
    ),
    "backfit": Parameter(FLAG, "Whether the held-out rows are added to the leaves after pruning."),
    "min_variance_share": Parameter(
        number(0.0, 1.0), "A node is a leaf if its variance is below this share of the variance of all growing rows."
    ),
    "min_deviation_share": Parameter(
        number(0.0, 1.0),
        "A node is a leaf if its standard deviation is below this share of the standard deviation of all rows.",
    ),
    "smoothing": Parameter(
        number(0.0),
        "Number of rows that the parent's model counts for when it is mixed into a node's; 0 does not smooth.",
    ),
}

# --- ensembles ---
ENSEMBLES = {
    "estimator": Parameter(ESTIMATOR, "The estimator to fit as a member."),
    "n_estimators": Parameter(COUNT, "Number of members."),
    "max_estimators": Parameter(COUNT, 'Maximum number of members, with `n_estimators="auto"`.'),
    "max_samples": Parameter(ROW_COUNT, "Rows drawn for each member: a share of all rows, or a count."),
    "bootstrap": Parameter(FLAG, "Whether rows are drawn with replacement."),
    "block_length": Parameter(
        number(1, whole=True, none=True),
        "Members draw blocks of this many consecutive rows, for rows in the order of time; None draws single rows.",
    ),
    "combine": Parameter(
        choice(["vote", "average"]),
        "Whether members vote, with ties going to the first class, or their class distributions are averaged.",
    ),
    "oob_score": Parameter(
        OOB_SCORE,
        "Whether to score the ensemble on the out-of-bag rows of each member: by accuracy or R squared, by a scorer of "
        "scikit-learn (its name, or the scorer), or by a metric (y_true, y_pred).",
    ),
    "warm_start": Parameter(
        FLAG,
        "Whether another `fit` keeps the existing members and adds the missing ones; the result is the same as if all "
        "had been trained at once.",
    ),
    "n_jobs": Parameter(
        JOBS,
        "Number of members trained in parallel, in threads unless `joblib.parallel_config` sets another backend.",
    ),
    "categorical_features": Parameter(
        anything('"from_dtype", "all", list, mask or None'), "Which columns are nominal; see the guide to columns."
    ),
    "random_state": Parameter(SEED, "The same seed gives the same members, bit for bit, for any `n_jobs`."),
    "verbose": Parameter(VERBOSITY, "With 1, shows a progress bar."),
    "perturb": Parameter(
        anything("list of perturbations or None"),
        "Perturbations applied for each member, one after the other; objects of `tremula.perturb`.",
    ),
    "max_size": Parameter(
        number(1, whole=True, none=True),
        "Most bytes that members and corrections may take in memory; None sets no limit. All families lose the same "
        "share of their members, then those of least weight are dropped, and corrections that have no room. A saved "
        "file takes about a quarter of the bytes.",
    ),
    "boosting": Parameter(FLAG, "Whether small boosted trees may correct the blend."),
    "resample": Parameter(
        FLAG,
        "False passes the weights to the estimator. True draws as many rows as there are, with probabilities in "
        "proportion to their weights.",
    ),
    "keep_weights": Parameter(FLAG, "Whether to keep the row weights of every round, in `row_weights_`."),
    "max_trials": Parameter(COUNT, "Maximum number of members trained, counting those that were rejected."),
    "artificial_share": Parameter(
        number(0.0, 1e6, above=True),
        "Number of artificial rows added for each member, as a share of the training rows.",
    ),
    "first_share": Parameter(
        ROW_COUNT_OR_NONE,
        "Rows that the first member is trained on: a share above 0 and below 1, or a count; None is a third.",
    ),
    "second_rows": Parameter(
        choice(["coin", "half"]),
        "How many of the second member's rows the first gets right: half of them on average, by a coin for each row, "
        "or exactly half.",
    ),
}

# --- noise on inputs and targets ---
NOISE = {
    "noise": Parameter(AMOUNTS, "Amount of noise, in standard deviations."),
    "scale": Parameter(
        anything("array or None"), "Standard deviation of each attribute; None takes that of the training rows."
    ),
    "rate": Parameter(number(0.0, 1.0), "Share of the rows that change class."),
    "method": Parameter(
        anything("str"),
        '"exact" computes the expectation under one noise vector, for models of trees and for linear models (of two '
        'classes, for a classifier). "path" multiplies the probabilities of all tests on a path, as in the paper. '
        '"sample" takes the mean over `n_draws` draws, for any model. "auto" is exact where that is possible, else '
        "samples.",
    ),
    "tuning": Parameter(
        choice(["oob", "cv"]),
        "Rows on which the amount of noise is chosen: out-of-bag rows of the members, or held-out folds, as in the "
        "paper, which takes several times as long.",
    ),
    "search": Parameter(
        choice(["grid", "halving", "golden"]),
        "Which amounts are tried: all of them with all members, as in the paper; all with few members, and the better "
        "ones with more; or those of a golden-section search between the smallest and the largest.",
    ),
    "amounts": Parameter(
        anything("array or None"),
        "Amounts of noise to try. By default those of the paper, 0, 0.05, ..., 0.3, or 0, 0.25, ..., 1.5 where `unit` "
        "is a bandwidth.",
    ),
    "scoring": Parameter(
        anything("str"), "Loss by which the amount of noise is chosen; ties go to the smaller amount."
    ),
    "distribution": Parameter(
        choice(["gaussian", "uniform", "poisson", "log", "auto"]),
        'Distribution of the noise; see `tremula.perturb.SmearedInputs`. "auto" chooses one of them together with the '
        "amount, at the cost of a search for each.",
    ),
    "unit": Parameter(
        choice(["deviation", "rule_of_thumb", "likelihood"]),
        "Unit of the noise: the standard deviation of an attribute, or the bandwidth of a kernel density of its "
        "values.",
    ),
    "smear_nominal": Parameter(FLAG, "Whether a nominal value is replaced by another level, with probability `noise`."),
    "within_bounds": Parameter(FLAG, "Whether values stay between the smallest and largest value of the attribute."),
    "keep_integers": Parameter(FLAG, "Whether integer attributes stay integer."),
    "flip": Parameter(
        number(0.0, 1.0),
        "Probability that the level of a nominal attribute is replaced by another, drawn by the training shares.",
    ),
    "max_noise": Parameter(number(0.0, above=True), "Largest amount of noise to try."),
    "shrinkage": Parameter(
        number_or_word(number(0.0), "auto"),
        "Strength of hierarchical shrinkage, which pulls the value of a leaf towards those of the larger nodes above "
        "it: each change along the path is divided by 1 + shrinkage / weight of the parent. 0 leaves the trees as they "
        'are; "auto" chooses the strength together with the noise.',
    ),
    "tune_on": Parameter(
        choice(["model", "tree"]),
        "Whether the noise is chosen for the whole model, or for its first tree and then used for all.",
    ),
    "per_attribute": Parameter(
        FLAG,
        "Whether an amount is then fitted for each attribute, by gradient descent on the loss. Models that are not of "
        "trees are searched one attribute after the other.",
    ),
    "per_tree": Parameter(
        FLAG,
        "Whether an amount is then fitted for each tree and attribute, by gradient descent. It needs validation rows "
        "or out-of-bag rows.",
    ),
    "n_draws": Parameter(number(1, MOST_DRAWS, whole=True), 'Number of noise draws, with "sample".'),
    "tol": Parameter(
        number(0.0, 1.0),
        "Parts of trees that a row reaches with less probability may be skipped; `smooth` returns a bound on the error "
        "this makes.",
    ),
    "thresholds": Parameter(
        choice(["centered", "kept"]),
        'Where thresholds are under noise. "centered" moves one that lies on a value of the rows given to `fit` to the '
        'middle of the gap next to that value; "kept" leaves all as they are in the model.',
    ),
    "prefit": Parameter(
        choice(["auto", True, False], 'bool or "auto"'),
        'Whether the estimator is used as already fitted. "auto" detects it; False always fits a copy.',
    ),
}

# --- ensembles from counts ---
COUNTS = {
    "stop": Parameter(
        choice(["full", "bootstrap"]),
        "Whether `min_samples_split` is compared with all rows of a node, or with the 63.2 % of them that a bootstrap "
        "sample would contain, which gives smaller trees.",
    ),
    "leaves": Parameter(
        choice(["counts", "resampled"]),
        "Whether leaves predict by the counts themselves, or by counts resampled once more.",
    ),
    "n_joint_features": Parameter(
        COUNT,
        "Number of the best attributes of a node that are counted and resampled jointly, which keeps their dependence; "
        "1 resamples each on its own. Tables grow with the product of the numbers of values.",
    ),
    "draws_per_row": Parameter(
        COUNT,
        "Rows drawn for each table of counts, per row of the node. Attributes are drawn independently, so the choice "
        "between them is noisier than that of bagging; 2, with `max_features` below 1, makes up for it.",
    ),
    "max_joint_cells": Parameter(
        COUNT, "Maximum number of cells of a joint table; fewer attributes are joined beyond it."
    ),
    "n_bins": Parameter(
        number(2, whole=True),
        "Number of bins of a numeric attribute, where `fit` is given rows; an oracle has its own.",
    ),
}

TABLE: dict[str, Parameter] = {**TREES, **ENSEMBLES, **NOISE, **COUNTS}
