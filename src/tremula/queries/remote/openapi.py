"""The requests that a site answers, described as OpenAPI for clients in other languages and for tests."""

from __future__ import annotations

from typing import Any

from tremula.queries.question import Schema
from tremula.queries.remote.messages import MAX_QUESTIONS, digest
from tremula.queries.secure.messages import KEY, PEER, ROUND, SEALED, WORD
from tremula.queries.secure.shares import SHARE_BYTES

Description = dict[str, Any]
TEXT: Description = {"type": "string"}
REASONS = {
    400: "The request does not fit this description.",
    401: "The token is missing or wrong.",
    403: "The guard, a limit or the group of the site refuses the answer.",
    404: "There is nothing at this address.",
    405: "The method is another one.",
    409: "The schema or the round is another one; the site was started again.",
    411: "The request has no length.",
    413: "The request is too long.",
    415: "The request is not in JSON.",
    422: "The request has the right form, but no answer: a range without values, too many cells, keys that do not fit.",
    429: "There are too many requests; the header Retry-After says how long to wait.",
    503: "The database or the log of the site does not work.",
}


def describe_site(schema: Schema, *, needs_token: bool, is_in_group: bool) -> Description:
    """Return the description of a site.

    Parameters
    ----------
    schema : Schema
    needs_token : bool
    is_in_group : bool
        Whether the site contributes to masked sums, and to nothing else.
    """
    paths = {
        "/schema": {"get": _operation("The attributes, their values and the classes.", None, _schema_answer())},
        "/openapi.json": {"get": _operation("This description.", None, {"type": "object"})},
        "/count": {"post": _operation("Guarded counts.", _count_request(schema), _count_answer(schema))},
    }
    if is_in_group:
        paths |= {
            f"/secure/{step}": {"post": _operation(*description)} for step, description in _rounds(schema).items()
        }
    description: Description = {
        "openapi": "3.1.0",
        "info": {
            "title": "A site of a tremula federation",
            "version": "1",
            "description": "Answers questions about a table by guarded counts. No row leaves the site.",
        },
        "paths": paths,
    }
    if needs_token:
        description["components"] = {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}}
        description["security"] = [{"token": []}]
    return description


def _operation(summary: str, request: Description | None, answer: Description) -> Description:
    refusal = _record({"error": TEXT, "kind": TEXT})
    responses: Description = {
        str(status): {"description": reason, "content": _content(refusal)}
        for status, reason in REASONS.items()
        if request is not None or status in (401, 404, 405, 429)
    }
    responses["200"] = {"description": summary, "content": _content(answer)}
    operation: Description = {"summary": summary, "responses": responses}
    if request is not None:
        operation["requestBody"] = {"required": True, "content": _content(request)}
    return operation


def _content(schema: Description) -> Description:
    return {"application/json": {"schema": schema}}


def _record(properties: Description) -> Description:
    return {"type": "object", "properties": properties, "required": list(properties)}


def _list(items: Description, **limits: int | bool) -> Description:
    return {"type": "array", "items": items, **limits}


def _matching(pattern: str) -> Description:
    return {"type": "string", "pattern": f"^{pattern}$"}


def _whole(first: int, last: int) -> Description:
    return {"type": "integer", "minimum": first, "maximum": last}


def _table() -> Description:
    label = {"type": ["string", "boolean", "number"]}
    labels = {"anyOf": [_list(label, uniqueItems=True), {"type": "null"}]}
    cuts = {"anyOf": [_list({"type": "number"}), {"type": "null"}]}
    attribute = _record({"name": TEXT, "levels": labels, "cuts": cuts})
    table = _record({"attributes": _list(attribute, minItems=1), "target": TEXT, "classes": labels})
    bounds = _list({"type": "number"}, minItems=2, maxItems=2)
    optional = {"person_id": TEXT, "rows_per_person": {"type": "integer", "minimum": 1}, "target_bounds": bounds}
    optional["from_rows"] = _list(TEXT)
    return {**table, "properties": {**table["properties"], **optional}}


def _schema_answer() -> Description:
    group = _record({"key": _matching(KEY), "group": _list(_matching(KEY)), "missing": {"type": "integer"}})
    return _record({"schema": _table(), "secure": {"anyOf": [group, {"type": "null"}]}})


def _questions(schema: Schema) -> Description:
    """Describe questions; that a range must not end before it begins, no description can say."""
    conditions = [
        {
            "type": "array",
            "prefixItems": [{"const": number}, *[_whole(0, max(attribute.n_values - 1, 0))] * 2],
            "items": False,
            "minItems": 3,
        }
        for number, attribute in enumerate(schema.attributes)
    ]
    path = _list({"anyOf": conditions}, maxItems=len(conditions))
    attributes = _list(_whole(0, len(conditions) - 1), minItems=1, uniqueItems=True)
    question = _record({"path": path, "attributes": attributes, "joint": {"type": "boolean"}, "parent": path})
    return _list(question, maxItems=MAX_QUESTIONS)


def _count_request(schema: Schema) -> Description:
    return _record({"schema": {"const": digest(schema)}, "questions": _questions(schema)})


def _count_answer(schema: Schema) -> Description:
    counted = {"type": "number"} if schema.classes is None else {"type": "integer", "minimum": -1}
    return _record({"answers": _list(_list(counted))})


def _rounds(schema: Schema) -> dict[str, tuple[str, Description, Description]]:
    """Describe the requests of secure aggregation."""
    peer = _record({name: _matching(pattern) for name, pattern in PEER.items()})
    peers = {"type": "object", "propertyNames": _matching(KEY), "additionalProperties": peer}
    shares = {
        length: {"type": "object", "propertyNames": _matching(KEY), "additionalProperties": _matching(length)}
        for length in (SEALED, rf"[0-9a-f]{{{2 * SHARE_BYTES}}}")
    }
    sealed, opened = shares.values()
    word, name = _matching(WORD), _matching(ROUND)
    return {
        "schema": (
            "Learn the schema of all sites together.",
            _record({"site": word, "schema": _table()}),
            _record({"schema": word}),
        ),
        "keys": (
            "Begin a round: a public key, a commitment, and shares sealed for the other sites.",
            _record({"round": name, "schema": word}),
            _record({"public": _matching(KEY), "commitment": _matching(KEY), "shares": sealed}),
        ),
        "counts": (
            "Counts under the masks of the round.",
            _record({"round": name, "schema": word, "questions": _list({"type": "object"}), "peers": peers}),
            _record({"masked": TEXT}),
        ),
        "shares": (
            "Shares that remove the masks of the sum over the sites included.",
            _record({"round": name, "included": _list(_matching(KEY))}),
            _record({"shares": opened}),
        ),
    }
