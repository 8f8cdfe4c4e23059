"""Frank and Pfahringer (2006): input smearing against bagging and single trees, on classes and on numbers."""

from tremula.lab.papers.frank2006.amounts import amounts_experiment, show_amounts
from tremula.lab.papers.frank2006.bias import bias_experiment, show_bias
from tremula.lab.papers.frank2006.options import options_experiment, show_options
from tremula.lab.papers.frank2006.protocol import classes_experiment, numbers_experiment
from tremula.lab.papers.frank2006.related import related_experiment, show_related
from tremula.lab.papers.frank2006.rows import rows_experiment, show_rows
from tremula.lab.papers.frank2006.tables import show_classes, show_numbers
from tremula.lab.papers.paper import Paper, Part

PAPER = Paper(
    name="frank2006",
    citation="E. Frank and B. Pfahringer, Improving on bagging with input smearing. Advances in Knowledge Discovery "
    "and Data Mining (PAKDD 2006), Lecture Notes in Computer Science 3918, 97-106.",
    parts=(
        Part("table1", "Accuracy on 22 classification problems", classes_experiment, show_classes),
        Part("table2", "Root relative squared error on 23 regression problems", numbers_experiment, show_numbers),
        Part("bias", "Share of the bias in bias and variance, smearing against bagging", bias_experiment, show_bias),
        Part(
            "options",
            "Beyond the paper: other kinds of noise, and cheaper ways to choose its amount",
            options_experiment,
            show_options,
        ),
        Part("amounts", "Larger amounts, other distributions, amounts by attribute", amounts_experiment, show_amounts),
        Part("rows", "Chosen amounts of noise by number of rows", rows_experiment, show_rows),
        Part("related", "Related work: imitated ensembles, synthetic rows", related_experiment, show_related),
    ),
)
