"""Which method to take by default: all of tremula's and their peers on all datasets."""

from tremula.lab.papers.paper import Paper, Part
from tremula.lab.studies.default import protocol, tables

PAPER = Paper(
    name="default",
    citation="none: a study of tremula's own, behind the estimator to take by default",
    parts=(
        Part("classes", "Which classifier to take by default", protocol.classes_experiment, tables.show_classes),
        Part("numbers", "Which regressor to take by default", protocol.numbers_experiment, tables.show_numbers),
        Part("times", "How long the default estimator takes", protocol.times_experiment, tables.show_times),
    ),
)
