"""A graph of ONNX under construction: operations are added one after the other, and return the name of their result."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from tremula.errors import MissingLibrary

OPSET, TREE_OPSET, IR_VERSION = 21, 5, 10
SET_IR_VERSION = 12  # onnxruntime before 1.24 gives wrong answers where trees test sets, and refuses this version
TREE_DOMAIN = "ai.onnx.ml"


def import_onnx() -> Any:
    """Return the module onnx, or say how to install it."""
    try:
        import onnx
    except ImportError as error:
        raise MissingLibrary('to_onnx needs the library onnx: pip install "tremula[onnx]"') from error
    return onnx


class OnnxGraph:
    """A graph of ONNX.

    Parameters
    ----------
    dtype : dtype
        Of numbers: float64 or float32.
    outer_names : sequence of str
        Names that the graph must not use for its own results, such as those of its inputs.
    """

    def __init__(self, dtype: DTypeLike, outer_names: tuple[str, ...] = ()) -> None:
        self.onnx = import_onnx()
        self.dtype = np.dtype(dtype)
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.taken = set(outer_names)

    @property
    def number_type(self) -> int:
        """Type of numbers, as ONNX numbers its types."""
        return int(self.onnx.helper.np_dtype_to_tensor_dtype(self.dtype))

    def add(self, operation: str, *inputs: str, name: str = "", domain: str = "", **attributes: Any) -> str:
        """Add an operation with one result, and return the name of the result."""
        result = self._new_name(name or operation.lower())
        node = self.onnx.helper.make_node(operation, list(inputs), [result], name=result, domain=domain, **attributes)
        self.nodes.append(node)
        return result

    def constant(self, values: ArrayLike, name: str = "constant", dtype: DTypeLike | None = None) -> str:
        """Add an array, by default of numbers, and return its name."""
        array = np.asarray(values, dtype=self.dtype if dtype is None else dtype)
        result = self._new_name(name)
        self.constants.append(self.tensor(array, result))
        return result

    def whole_numbers(self, *values: int) -> str:
        """Add a list of int64, such as axes or indices."""
        return self.constant(values, "indices", np.int64)

    def tensor(self, array: NDArray[Any], name: str = "") -> Any:
        """Return an array as a tensor of ONNX."""
        if array.dtype.kind in "OU":
            texts = [str(text).encode() for text in array.ravel()]
            return self.onnx.helper.make_tensor(name, self.onnx.TensorProto.STRING, array.shape, texts)
        return self.onnx.numpy_helper.from_array(np.ascontiguousarray(array), name)

    def column(self, matrix: str, *columns: int) -> str:
        """Take some columns of a matrix."""
        return self.add("Gather", matrix, self.whole_numbers(*columns), axis=1)

    def filled(self, rows: str, n_columns: int, value: float) -> str:
        """Return a matrix of one value with as many rows as another."""
        n_rows = self.add("Slice", self.add("Shape", rows), self.whole_numbers(0), self.whole_numbers(1))
        shape = self.add("Concat", n_rows, self.whole_numbers(n_columns), axis=0)
        return self.add("ConstantOfShape", shape, value=self.tensor(np.array([value], self.dtype)))

    @property
    def ir_version(self) -> int:
        """Version of the format, which tells programs whether they can run the graph."""
        names = {attribute.name for node in self.nodes for attribute in node.attribute}
        return SET_IR_VERSION if "membership_values" in names else IR_VERSION

    def output(self, name: str, result: str) -> None:
        """Give a result the name of an output."""
        self.nodes.append(self.onnx.helper.make_node("Identity", [result], [name], name=f"{name}_output"))

    def largest(self, shares: str, tolerance: float = 1e-12) -> str:
        """Return the column of the largest share of each row, the first of those that differ by no more than that."""
        best = self.add("ReduceMax", shares, self.whole_numbers(1), keepdims=1)
        slack = self.add("Mul", self.add("Abs", best), self.constant(tolerance))
        is_best = self.add("GreaterOrEqual", shares, self.add("Sub", best, slack))
        return self.add("ArgMax", self.add("Cast", is_best, to=self.onnx.TensorProto.INT32), axis=1, keepdims=0)

    def _new_name(self, stem: str) -> str:
        name, number = stem, 1
        while name in self.taken:
            number += 1
            name = f"{stem}_{number}"
        self.taken.add(name)
        return name
