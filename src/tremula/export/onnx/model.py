"""`to_onnx`: a trained model as a graph of ONNX, which onnxruntime and others run without Python.

In double precision the graph gives the answers of the model, up to the rounding of sums. Rows that the graph has no
answer for get NaN, and a label that is no class.
"""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.export.model import ExportedModel, read_exported
from tremula.export.onnx.graph import OPSET, TREE_DOMAIN, TREE_OPSET, OnnxGraph
from tremula.export.onnx.inputs import declare_inputs, input_names
from tremula.export.onnx.links import apply_link
from tremula.export.onnx.margins import Margins
from tremula.export.thresholds import ThresholdRounding
from tremula.parameters import check_choice

DTYPES = ("float64", "float32")
MISSING = ("none", "shares")
LABEL, PROBABILITIES, PREDICTION = "label", "probabilities", "prediction"
NO_LABEL, NO_NUMBER = "missing value", np.iinfo(np.int64).min
SINGLE_TIE = 1e-6  # shares that differ by less are equal in single precision
PROGRAM = "tremula"


def to_onnx(model: Any, X: Any = None, *, dtype: str = "float64", missing: str = "none") -> Any:
    """Return a trained model as a graph of ONNX.

    Parameters
    ----------
    model : fitted estimator
        A tree or an ensemble of tremula, or a model of another library that smoothing can read.
    X : table, default=None
        Rows, such as those of training, whose values are rounded to single precision. Thresholds are then placed so
        that none of these rows changes sides. Not used in double precision.
    dtype : {"float64", "float32"}, default="float64"
        Precision of the inputs and outputs. With "float32" and without `X`, every input takes the branches that
        tremula sends the same number down.
    missing : {"none", "shares"}, default="none"
        What happens to a row whose missing value takes several branches. "none" gives it NaN, and a label that is no
        class. "shares" follows the branches in their shares, as tremula does; the graph is then more than twice as
        large, and such rows take longer.

    Returns
    -------
    onnx.ModelProto
        Its input is the matrix ``X`` or, if some levels are words, a column for each attribute, by name. Its outputs
        are ``label`` and ``probabilities``, or ``prediction``.

    Raises
    ------
    UnsupportedModel
        The model is smoothed, or its members are not trees; or ``missing="shares"`` and members vote.
    InvalidInput
        Two values of `X` on different sides of a threshold are the same number in single precision.
    MissingLibrary
        onnx is not installed: ``pip install "tremula[onnx]"``.

    Notes
    -----
    Trees are written as TreeEnsemble of ai.onnx.ml 5, which onnxruntime runs from 1.21 on, and from 1.24 on if nominal
    attributes are tested: earlier releases confuse some tests of sets, and refuse the file. Levels are given as they
    were in training, words as text and numbers as numbers; an unknown level counts as missing. The label of a row
    without an answer is "missing value", or the least int64, or NaN.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tremula import RandomForestClassifier, to_onnx
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(n_estimators=10, random_state=0).fit(X, y)
    >>> graph = to_onnx(forest)
    >>> from onnxruntime import InferenceSession
    >>> label, shares = InferenceSession(graph.SerializeToString()).run(None, {"X": X})
    >>> bool((label == forest.predict(X)).all()), bool(abs(shares - forest.predict_proba(X)).max() < 1e-12)
    (True, True)
    """
    check_choice("dtype", dtype, DTYPES)
    check_choice("missing", missing, MISSING)
    exported = read_exported(model)
    graph = OnnxGraph(dtype, (*input_names(exported), LABEL, PROBABILITIES, PREDICTION))
    rounding = ThresholdRounding.of(dtype, None if X is None else exported.encode(X), exported.attributes)
    margins = Margins(graph, exported, rounding, missing == "shares")
    outputs = _write_outputs(graph, exported, margins)
    return _finished(graph, exported, outputs)


Output = tuple[str, int, list[Any]]  # name, type and shape


def _write_outputs(graph: OnnxGraph, exported: ExportedModel, margins: Margins) -> list[Output]:
    """Write the graph from its rows to its outputs."""
    answers, n_answers = apply_link(graph, exported.whole.link, margins.write(), exported.whole.n_margins)
    refused = margins.refused_rows()
    if refused is not None:
        answers = graph.add("Where", refused, graph.constant(np.nan), answers)
    if exported.classes is None:
        graph.output(PREDICTION, graph.add("Squeeze", answers, graph.whole_numbers(1)))
        return [(PREDICTION, graph.number_type, ["rows"])]
    label_type = _write_labels(graph, exported, answers, refused)
    graph.output(PROBABILITIES, answers)
    return [(LABEL, label_type, ["rows"]), (PROBABILITIES, graph.number_type, ["rows", n_answers])]


def _write_labels(graph: OnnxGraph, exported: ExportedModel, answers: str, refused: str | None) -> int:
    """Write the class of the largest share, and return the type of the labels."""
    classes: Any = exported.classes
    codes = graph.largest(answers, exported.tie if graph.dtype == np.float64 else SINGLE_TIE)
    if refused is not None:
        is_refused = graph.add("Squeeze", refused, graph.whole_numbers(1))
        codes = graph.add("Where", is_refused, graph.constant(len(classes), "no_class", np.int64), codes)
    labels = _labels(classes, graph.dtype)
    graph.output(LABEL, graph.add("Gather", graph.constant(labels, "classes", labels.dtype), codes, axis=0))
    is_text = labels.dtype == object
    return int(graph.onnx.TensorProto.STRING if is_text else graph.onnx.helper.np_dtype_to_tensor_dtype(labels.dtype))


def _labels(classes: list[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return the labels of the classes, and last that of a row without an answer."""
    if all(isinstance(label, int) for label in classes):  # booleans too
        return np.array([*map(int, classes), NO_NUMBER], np.int64)
    if all(isinstance(label, int | float) for label in classes):
        return np.array([*classes, np.nan], dtype)
    no_label = NO_LABEL
    while no_label in classes:
        no_label += "?"
    return np.array([*map(str, classes), no_label], object)


def _finished(graph: OnnxGraph, exported: ExportedModel, outputs: list[Output]) -> Any:
    """Return the model of a graph, checked."""
    onnx, helper = graph.onnx, graph.onnx.helper
    described = [helper.make_tensor_value_info(*output) for output in outputs]
    whole = helper.make_graph(graph.nodes, exported.name, declare_inputs(graph, exported), described, graph.constants)
    model = helper.make_model(
        whole,
        ir_version=graph.ir_version,
        opset_imports=[helper.make_opsetid("", OPSET), helper.make_opsetid(TREE_DOMAIN, TREE_OPSET)],
        producer_name=PROGRAM,
        producer_version=version(PROGRAM),
    )
    onnx.checker.check_model(model)
    return model
