"""Van Assche and Blockeel (2006): bagging simulated from counts, compared with bagging of the same trees."""

from tremula.lab.papers.paper import Paper, Part
from tremula.lab.papers.vanassche2006.figure1 import figure1_experiment, show_figure1
from tremula.lab.papers.vanassche2006.protocol import table1_experiment
from tremula.lab.papers.vanassche2006.resampled_pruning import pruning_experiment, show_pruning
from tremula.lab.papers.vanassche2006.sizes import show_sizes, sizes_experiment
from tremula.lab.papers.vanassche2006.tables import show_table1
from tremula.lab.papers.vanassche2006.tests_by_level import show_tests, tests_experiment

PAPER = Paper(
    name="vanassche2006",
    citation="A. Van Assche and H. Blockeel, Bagging using statistical queries. European Conference on Machine "
    "Learning (2006), 809-816.",
    parts=(
        Part("table1", "Accuracy, size and time on 12 datasets", table1_experiment, show_table1),
        Part("figure1", "Which of two attributes is better on a resampled table", figure1_experiment, show_figure1),
        Part("tests_by_level", "Different tests at each level of the trees", tests_experiment, show_tests),
        Part("sizes", "Readings of the sizes of Table 1", sizes_experiment, show_sizes),
        Part("resampled_pruning", "Pruning and error assessment by resampled counts", pruning_experiment, show_pruning),
    ),
)
