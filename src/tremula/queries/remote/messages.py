"""Schemas, questions and answers as JSON; what comes from the other side is checked before it is used."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.errors import InvalidInput, QueryFailed
from tremula.queries.contributions import check_bounds
from tremula.queries.question import UNKNOWN, Attribute, Condition, Path, Question, Schema, joint_shape

MAX_QUESTIONS = 5000  # of one request
MAX_BYTES = 32_000_000  # of one request
MAX_CELLS = 1_000_000  # of one joint table
MAX_ANSWER = 10_000_000  # cells of all answers to one request
MAX_COUNT = 2**53
LABELS = (str, bool, int, float)


def write_schema(schema: Schema) -> dict[str, Any]:
    """Return a schema as JSON."""
    message: dict[str, Any] = {
        "attributes": [{"name": a.name, "levels": a.levels, "cuts": a.cuts} for a in schema.attributes],
        "target": schema.target,
        "classes": schema.classes,
    }
    if schema.person_id is not None:
        message |= {"person_id": schema.person_id, "rows_per_person": schema.rows_per_person}
    if schema.from_rows:
        message |= {"from_rows": schema.from_rows}
    return message if schema.target_bounds is None else message | {"target_bounds": schema.target_bounds}


def read_schema(message: Any) -> Schema:
    """Return the schema of a site; raise an error if it is none."""
    try:
        attributes = tuple(
            Attribute(str(a["name"]), _labels(a["levels"]), None if a["cuts"] is None else tuple(map(float, a["cuts"])))
            for a in message["attributes"]
        )
        person_id, bounds = message.get("person_id"), message.get("target_bounds")
        schema = Schema(
            attributes,
            str(message["target"]),
            _labels(message["classes"]),
            person_id=None if person_id is None else str(person_id),
            rows_per_person=int(message.get("rows_per_person", 1)),
            target_bounds=None if bounds is None else check_bounds(bounds),
            from_rows=tuple(str(name) for name in message.get("from_rows", [])),
        )
        schema._check_stored()
        for attribute in attributes:
            attribute._check_stored()
            if (attribute.levels is None) == (attribute.cuts is None):
                raise ValueError(f"attribute {attribute.name!r} has neither levels nor cuts, or both")
        if len({attribute.name for attribute in attributes}) < len(attributes):
            raise ValueError("two attributes have the same name")
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise QueryFailed(
            f"the site sent no schema: {error}. Check that its address is that of `tremula serve`"
        ) from error
    if not attributes:
        raise QueryFailed("the site has no attributes: check the columns that it serves")
    return schema


def _labels(values: Any) -> tuple[Any, ...] | None:
    if values is None:
        return None
    if not isinstance(values, list) or not all(isinstance(value, LABELS) for value in values):
        raise ValueError("levels and classes must be lists of words, numbers or booleans")
    if len(set(values)) < len(values):
        raise ValueError("a level or class occurs twice")
    return tuple(values)


def digest(schema: Schema) -> str:
    """Return a short word that differs between schemas."""
    return hashlib.sha256(json.dumps(write_schema(schema)).encode()).hexdigest()[:16]


def write_question(question: Question) -> dict[str, Any]:
    """Return a question as JSON."""
    return {
        "path": [list(condition) for condition in question.path],
        "attributes": list(question.attributes),
        "joint": question.joint,
        "parent": [list(condition) for condition in question.parent],
    }


class ImpossibleQuestions(InvalidInput):
    """Questions of the right form that cannot be answered."""


def read_questions(schema: Schema, messages: Any) -> list[Question]:
    """Return the questions of a request; raise an error if one does not fit the schema."""
    if not isinstance(messages, list) or len(messages) > MAX_QUESTIONS:
        raise InvalidInput(f"questions must be a list of at most {MAX_QUESTIONS}")
    questions = [_read_question(schema, message) for message in messages]
    if sum(cells_asked(schema, question) for question in questions) > MAX_ANSWER:
        raise ImpossibleQuestions(
            f"the answers to one request may have {MAX_ANSWER} cells: ask fewer questions at once"
        )
    return questions


def _read_question(schema: Schema, message: Any) -> Question:
    if not isinstance(message, Mapping) or not isinstance(message.get("joint"), bool):
        raise InvalidInput("a question needs path, attributes, joint and parent")
    n_attributes = len(schema.attributes)
    attributes = _whole_numbers(message.get("attributes"))
    is_known = all(0 <= attribute < n_attributes for attribute in attributes)
    if not is_known or not attributes or len(set(attributes)) < len(attributes):
        raise InvalidInput(f"attributes must be different numbers from 0 to {n_attributes - 1}, at least one")
    if message["joint"] and np.prod([float(size) for size in joint_shape(schema, attributes)]) > MAX_CELLS:
        raise ImpossibleQuestions(f"a joint table may have {MAX_CELLS} cells: ask for fewer attributes")
    path, parent = _read_path(schema, message.get("path")), _read_path(schema, message.get("parent"))
    return Question(path, tuple(attributes), message["joint"], parent)


def _read_path(schema: Schema, message: Any) -> Path:
    conditions = []
    for triple in message if isinstance(message, list) else [None]:
        numbers = _whole_numbers(triple)
        if len(numbers) != 3:
            raise InvalidInput("a path must be a list of conditions, each an attribute, a first and a last value")
        condition = Condition(*numbers)
        if not 0 <= condition.attribute < len(schema.attributes):
            raise InvalidInput(f"a condition is on attribute {condition.attribute}, which there is not")
        n_values = schema.attributes[condition.attribute].n_values
        if not 0 <= min(condition.first, condition.last) <= max(condition.first, condition.last) < n_values:
            raise InvalidInput(
                f"a condition has values from {condition.first} to {condition.last}, which there are not"
            )
        if condition.first > condition.last:
            raise ImpossibleQuestions(f"the values of a condition end at {condition.last}, before they begin")
        conditions.append(condition)
    if len({condition.attribute for condition in conditions}) < len(conditions):
        raise ImpossibleQuestions("a path may have one condition on each attribute")
    return tuple(sorted(conditions))


def _whole_numbers(message: Any) -> list[int]:
    """Return the whole numbers of a list, none if it is something else; 1.0 is one, as in JSON Schema."""
    if not isinstance(message, list) or not all(
        type(number) is int or (type(number) is float and number.is_integer()) for number in message
    ):
        return []
    return [int(number) for number in message]


def write_answer(schema: Schema, question: Question, answer: NDArray[Any]) -> list[Any]:
    """Return an answer as JSON: the cells asked about, in one list."""
    asked = answer if question.joint else np.concatenate([answer[schema.cells(a)] for a in question.attributes])
    cells: list[Any] = asked.ravel().tolist()
    return cells


def cells_asked(schema: Schema, question: Question) -> int:
    """Return the number of counts in the answer to a question."""
    if question.joint:
        return int(np.prod(joint_shape(schema, question.attributes)))
    return sum(schema.attributes[attribute].n_values + 1 for attribute in question.attributes) * schema.n_outputs


def read_answer(schema: Schema, question: Question, message: Any, site: str) -> NDArray[Any]:
    """Return the answer of a site to a question; raise an error if it cannot be one."""
    empty = schema.empty_answer()
    shape = (
        joint_shape(schema, question.attributes)
        if question.joint
        else (sum(schema.attributes[a].n_values + 1 for a in question.attributes), schema.n_outputs)
    )
    kinds = (int,) if schema.classes is not None else (int, float)
    if not isinstance(message, list) or len(message) != np.prod(shape) or not all(type(c) in kinds for c in message):
        raise QueryFailed(f"site {site} answered with something else than {shape} counts: do not trust it")
    if not all(abs(count) <= MAX_COUNT for count in message if type(count) is int):
        raise QueryFailed(f"site {site} answered with a count above 2^53: do not trust it")
    cells = np.array(message, dtype=empty.dtype).reshape(shape)
    _check_counts(schema, question, cells, site)
    if question.joint:
        return cells
    start = 0
    for attribute in question.attributes:
        size = schema.attributes[attribute].n_values + 1
        empty[schema.cells(attribute)] = cells[start : start + size]
        start += size
    return empty


def _check_counts(schema: Schema, question: Question, cells: NDArray[Any], site: str) -> None:
    counts = cells if schema.classes is not None else cells[..., 0]
    if schema.classes is None and not np.isfinite(cells).all():
        raise QueryFailed(f"site {site} answered with sums that are not finite: do not trust it")
    is_allowed = (counts >= 0) | ((counts == UNKNOWN) & (schema.classes is not None and not question.joint))
    if not is_allowed.all():
        raise QueryFailed(f"site {site} answered with a count of {counts.min()}, below 0: do not trust it")


def questions_in(schema: Schema, questions: Sequence[Question], size: int, n_cells: int) -> list[list[Question]]:
    """Divide questions into parts of at most so many, and of at most so many cells if they are several."""
    parts: list[list[Question]] = []
    total = 0
    for question in questions:
        cells = cells_asked(schema, question)
        if not parts or len(parts[-1]) == size or total + cells > n_cells:
            parts.append([])
            total = 0
        parts[-1].append(question)
        total += cells
    return parts
