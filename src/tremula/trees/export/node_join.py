"""A sum of trees as a query that joins every row with a table of nodes, once for each level of the trees.

The text has one entry for each node, however many levels, classes or missing values there are. A row starts at the root
of every member and takes the branch of its value. Where it takes several branches, it goes on as several rows, each
with its share. All names of the query begin with `margin_`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tremula.errors import InvalidInput
from tremula.trees.export.branches import MIXTURE
from tremula.trees.export.dialects import LARGEST_DOUBLE, Dialect
from tremula.trees.export.node_arrays import NO_SET, NodeArrays, node_arrays
from tremula.trees.member_sum import MemberSum
from tremula.trees.tree import Tree

PREFIX = "margin_"
ROW = f"{PREFIX}row"  # number of a row
SURELY_SHORTER, SHORT_NODE = 2000, 60  # nodes of a model, and characters a node, for which CASEs are not tried
MAX_JOINS = 60  # of SQLite, which joins 64 tables at most; also keeps the planners of others quick


@dataclass(frozen=True)
class Arrays:
    """How an engine turns texts of numbers into the rows of a table, one column for each list; they are numbered."""

    table: Callable[[Sequence[str], Sequence[str], Sequence[Sequence[str]]], str]  # names, kinds, texts
    least: str  # text of minus infinity
    number: str = "DOUBLE"
    word: str = "VARCHAR"
    join: str = "JOIN"  # in the order written, where the engine would choose a slow one


def _duckdb_table(names: Sequence[str], kinds: Sequence[str], columns: Sequence[Sequence[str]]) -> str:
    lists = [
        f"UNNEST(CAST('[{','.join(texts)}]' AS {kind}[])) AS {name}"
        for name, kind, texts in zip(names[1:], kinds, columns)
    ]
    return f"SELECT UNNEST(RANGE({len(columns[0])})) AS {names[0]}, {', '.join(lists)}"


def _postgres_table(names: Sequence[str], kinds: Sequence[str], columns: Sequence[Sequence[str]]) -> str:
    lists = [f"CAST('{{{','.join(texts)}}}' AS {kind}[])" for kind, texts in zip(kinds, columns)]
    fetched = ", ".join([f"{names[0]} - 1 AS {names[0]}", *names[1:]])
    listed = ", ".join([*names[1:], names[0]])
    return f"SELECT {fetched} FROM UNNEST({', '.join(lists)}) WITH ORDINALITY AS {PREFIX}lists ({listed})"


def _sqlite_table(names: Sequence[str], kinds: Sequence[str], columns: Sequence[Sequence[str]]) -> str:
    quoted = [[f'"{text}"' for text in texts] if kind == "TEXT" else texts for kind, texts in zip(kinds, columns)]
    rows = ",".join(f"[{','.join(row)}]" for row in zip(*quoted))
    fields = [
        f"CAST(json_extract(value, '$[{place}]') AS {kind}) AS {name}"
        for place, (name, kind) in enumerate(zip(names[1:], kinds))
    ]
    return f"SELECT key AS {names[0]}, {', '.join(fields)} FROM json_each('[{rows}]')"


ARRAYS = {
    "duckdb": Arrays(_duckdb_table, "-inf"),
    "postgres": Arrays(_postgres_table, "-Infinity", "FLOAT8", "TEXT"),
    "sqlite": Arrays(_sqlite_table, "-9e999", "REAL", "TEXT", "CROSS JOIN"),
}


def can_join(whole: MemberSum, dialect: str) -> bool:
    """Whether the engine is known to run such a query, and the members are trees of a depth that it takes."""
    if dialect not in ARRAYS or not all(isinstance(member, Tree) for member in whole.members):
        return False
    return max(member.depth for member in whole.members) <= MAX_JOINS - 4


def choose_form(
    whole: MemberSum, dialect: str, form: str, joined: Callable[[], str], nested: Callable[[], str], divides: bool
) -> tuple[str, bool]:
    """Return the query of a form, "auto" the shorter one, and whether it joins.

    Nested CASEs of many nodes are not written only to be compared: they have about 100 characters a node. Where rows
    with missing values are divided (`divides`) and members vote, "auto" never joins: a join adds shares in another
    order, and a member whose classes tie would vote otherwise.
    """
    may_tie = whole.votes and divides
    if form == "case" or (form == "auto" and (may_tie or not can_join(whole, dialect))):
        return nested(), False
    query = joined()
    if form == "join" or (whole.n_nodes > SURELY_SHORTER and len(query) < SHORT_NODE * whole.n_nodes):
        return query, True
    other = nested()
    return (query, True) if len(query) < len(other) else (other, False)


def kept_columns(keep: Sequence[str] | None, dialect: Dialect, engine: str) -> str:
    """Return the columns to copy, as SQL; None copies all, with the number of the row where it cannot be left out."""
    rows = f"{PREFIX}rows"
    if keep is None:
        return f"{rows}.* EXCLUDE ({ROW})" if engine == "duckdb" else f"{rows}.*"
    return ", ".join(f"{rows}.{dialect.identifier(name)} AS {dialect.identifier(name)}" for name in keep)


class NodeJoin:
    """Writes the query of the margins of every row.

    Parameters
    ----------
    whole : MemberSum
    names : sequence of str
        Columns of the table.
    levels : sequence of (sequence or None)
    dialect : Dialect
    engine : {"duckdb", "postgres", "sqlite"}
    """

    def __init__(
        self,
        whole: MemberSum,
        names: Sequence[str],
        levels: Sequence[Sequence[Any] | None],
        dialect: Dialect,
        engine: str,
    ) -> None:
        self.whole, self.names, self.levels = whole, names, levels
        self.dialect, self.arrays = dialect, ARRAYS[engine]
        self.nodes: NodeArrays = node_arrays(whole)
        self.used = sorted(set(self.nodes.attribute) - {-1})
        self.n_values = len(self.nodes.values[0])

    def query(self, table: str, kept: str, margin_names: Sequence[str], known: Sequence[int]) -> str:
        """Return the query.

        Parameters
        ----------
        table : str
        kept : str
            Columns to copy, as SQL.
        margin_names : sequence of str
        known : sequence of int
            Attributes whose values must be known, or else the margins are NULL.
        """
        if table.lower().startswith(PREFIX):
            raise InvalidInput(
                f"the table is called {table!r}, a table that begins with {PREFIX!r} has a name of the query's own: "
                "rename it, or use form='case'"
            )
        steps = [
            (f"{PREFIX}rows", f"SELECT ROW_NUMBER() OVER () AS {ROW}, * FROM {self.dialect.identifier(table)}"),
            (f"{PREFIX}codes", f"SELECT {', '.join([ROW, *map(self._code, self.used)])} FROM {PREFIX}rows"),
            (f"{PREFIX}sets", self._sets()),
            (f"{PREFIX}nodes", self._nodes()),
            (f"{PREFIX}values", self._values()),
            (f"{PREFIX}keys", self._keys()),
            (f"{PREFIX}roots", self._roots()),
        ]
        texts = [f"{name} AS MATERIALIZED ({text})" for name, text in steps if text]
        texts += [f"{PREFIX}level_{level} AS ({self._level(level)})" for level in range(self.nodes.depth + 1)]
        texts.append(f"{PREFIX}sums AS ({self._sums(margin_names)})")
        sums = ", ".join(f"{self._if_known(known, f'{PREFIX}sums.{name}')} AS {name}" for name in margin_names)
        joined = f"{PREFIX}rows JOIN {PREFIX}sums ON {PREFIX}sums.{ROW} = {PREFIX}rows.{ROW}"
        if known:
            joined += f" JOIN {PREFIX}codes ON {PREFIX}codes.{ROW} = {PREFIX}rows.{ROW}"
        columns = ", ".join(part for part in (kept, sums) if part)
        return "WITH " + ",\n".join(texts) + f"\nSELECT {columns}\nFROM {joined}"

    def _if_known(self, known: Sequence[int], margin: str) -> str:
        tests = [f"{PREFIX}codes.c{attribute} IS NOT NULL" for attribute in known if attribute in self.used]
        return f"CASE WHEN {' AND '.join(tests)} THEN {margin} END" if tests else margin

    # --- tables ---

    def _code(self, attribute: int) -> str:
        """Return the number of a row's value: itself, or the code of its level; NULL if it is missing or unknown."""
        name, levels = self.dialect.identifier(self.names[attribute]), self.levels[attribute]
        if levels is None:
            return f"CASE WHEN {name} <= {self.dialect.largest_double} THEN {name} END AS c{attribute}"
        tests = [f"WHEN {self.dialect.literal(level)} THEN {code}" for code, level in enumerate(levels)]
        return f"CASE {name} {' '.join(tests)} END AS c{attribute}"

    def _number(self, value: float) -> str:
        if value == -np.inf:
            return self.arrays.least
        return repr(min(float(value), LARGEST_DOUBLE)).removesuffix(".0")

    def _table(self, names: Sequence[str], **columns: Sequence[Any]) -> str:
        kinds = {"a": "INT", "f": "INT", "p": "INT", "m": "INT", "r": "INT", "b": "INT", "c": self.arrays.word}
        texts = [
            list(values) if name == "c" else [self._number(value) for value in values]
            for name, values in columns.items()
        ]
        return self.arrays.table(names, [kinds.get(name, self.arrays.number) for name in columns], texts)

    def _sets(self) -> str:
        return self._table(["s", "c"], c=self.nodes.sets) if self.nodes.sets else ""

    @property
    def _has_missing(self) -> bool:
        """Whether missing values take one branch at some node."""
        return any(branch != MIXTURE for branch in self.nodes.missing)

    @property
    def _node_columns(self) -> list[str]:
        return ["n", "a", "t", "f", *(["m"] if self._has_missing else []), *(["c"] if self.nodes.sets else [])]

    def _nodes(self) -> str:
        nodes = self.nodes
        columns: dict[str, Sequence[Any]] = {
            "a": nodes.attribute, "t": nodes.threshold, "f": nodes.first, "p": nodes.parent, "w": nodes.weight
        }  # fmt: skip
        if self._has_missing:
            columns["m"] = nodes.missing
        text = self._table(["n", *columns], **columns)
        if not nodes.sets:
            return text
        nominal = ", ".join(str(attribute) for attribute in self.used if self.levels[attribute] is not None)
        listed = ", ".join(f"{PREFIX}list.{name}" for name in ["n", *columns])
        return (
            f"SELECT {listed}, c FROM ({text}) AS {PREFIX}list "
            f"LEFT JOIN {PREFIX}sets ON a IN ({nominal or -2}) AND t = s"
        )

    def _keys(self) -> str:
        """Return the nodes by the number that leads to them: their own, or that of a parent that divides the row.

        The values of leaves are rows of the same table, as SQLite makes an index for it, but none for small tables.
        """
        columns, values = ", ".join(self._node_columns), [f"v{place}" for place in range(self.n_values)]
        unit, no_values = (
            f"CAST(1 AS {self.arrays.number})",
            ", ".join(f"CAST(NULL AS {self.arrays.number}) AS {name}" for name in values),
        )
        no_node = ", ".join("NULL" for _ in self._node_columns)
        return (
            f"SELECT n AS k, {unit} AS s, {columns}, {no_values} FROM {PREFIX}nodes UNION ALL SELECT -1 - p, "
            f"w / SUM(w) OVER (PARTITION BY p), {columns}, {no_values} FROM {PREFIX}nodes WHERE w > 0 UNION ALL "
            f"SELECT {self._value_key('v')}, NULL, {no_node}, {', '.join(values)} FROM {PREFIX}values"
        )

    def _value_key(self, value: str) -> str:
        return f"{-1 - self.nodes.n_nodes} - {value}"

    def _values(self) -> str:
        columns = {f"v{place}": column for place, column in enumerate(zip(*self.nodes.values))}
        return self._table(["v", *columns], **columns)

    def _roots(self) -> str:
        columns: dict[str, Sequence[Any]] = {"r": self.nodes.roots, "g": self.whole.weights.tolist()}
        if self.whole.starts.any():
            columns["b"] = self.whole.starts.tolist()
        members = self._table(["e", *columns], **columns)
        own = ", ".join(name for name in ("e", *columns) if name != "r")
        nodes = ", ".join(self._node_columns)
        return f"SELECT {own}, {nodes} FROM ({members}) AS {PREFIX}members JOIN {PREFIX}nodes ON n = r"

    # --- levels ---

    def _level(self, level: int) -> str:
        """Return the rows at one level: where each is, in what share, and the codes that splits below may test."""
        own = [*(["b"] if self.whole.starts.any() else []), *(["e", "g"] if self.whole.votes else [])]
        carried = [ROW, *(f"c{attribute}" for attribute in self.used), *own]
        if level == 0:
            share = f"CAST(1 AS {self.arrays.number})" if self.whole.votes else "g"
            columns = ", ".join([*carried, f"{share} AS s", *self._node_columns])
            return f"SELECT {columns} FROM {PREFIX}codes CROSS JOIN {PREFIX}roots"
        columns = ", ".join([*carried, "l.s * j.s AS s", *(f"j.{name}" for name in self._node_columns)])
        before, join = f"{PREFIX}level_{level - 1}", self.arrays.join
        return f"SELECT {columns} FROM {before} AS l {join} {PREFIX}keys AS j ON k = {self._key()}"

    def _key(self) -> str:
        """Return the number that leads to the next node; a leaf leads to itself."""
        tests = " ".join(f"WHEN {attribute} THEN {self._branch(attribute)}" for attribute in self.used)
        return f"CASE l.a {tests} ELSE l.n END" if tests else "l.n"

    def _branch(self, attribute: int) -> str:
        code, divided = f"c{attribute}", "-1 - l.n"
        missing = f"CASE WHEN l.m < 0 THEN {divided} ELSE l.f + l.m END" if self._has_missing else divided
        if self.levels[attribute] is None:
            return f"CASE WHEN {code} <= l.t THEN l.f WHEN {code} IS NULL THEN {missing} ELSE l.f + 1 END"
        if not self.nodes.sets:
            return f"COALESCE(l.f + {code}, {missing})"
        plain = f"WHEN {code} IS NULL THEN {missing} WHEN l.t = {NO_SET} THEN l.f + {code}"
        digit = f"SUBSTR(l.c, {code} + 1, 1)"
        return f"CASE {plain} WHEN {digit} = '0' THEN l.f WHEN {digit} = '1' THEN l.f + 1 ELSE {divided} END"

    # --- sums ---

    def _sums(self, names: Sequence[str]) -> str:
        key, join = self._value_key("l.f"), self.arrays.join
        last = f"{PREFIX}level_{self.nodes.depth} AS l {join} {PREFIX}keys AS j ON k = {key}"
        offsets = self.whole.offset.tolist()
        if self.whole.votes:
            values = ", ".join(f"SUM(l.s * v{place}) AS u{place}" for place in range(self.n_values))
            votes = f"SELECT {ROW}, e, g, {values} FROM {last} GROUP BY {ROW}, e, g"
            sums = [self._votes(place) for place in range(len(names))]
            source = f"({votes}) AS {PREFIX}votes"
        else:
            sums, source = [f"SUM({self._term(margin)})" for margin in range(len(names))], last
        texts = [f"{text} + {self.dialect.double(offset)}" if offset else text for text, offset in zip(sums, offsets)]
        columns = ", ".join(f"{text} AS {name}" for text, name in zip(texts, names))
        return f"SELECT {ROW}, {columns} FROM {source} GROUP BY {ROW}"

    def _term(self, margin: int) -> str:
        if not self.whole.starts.any():
            return f"l.s * v{margin}" if margin < self.n_values else self.dialect.zero
        places = [place for place in range(self.n_values) if place <= margin]
        tests = " ".join(f"WHEN {margin - place} THEN l.s * v{place}" for place in places)
        return f"CASE b {tests} ELSE {self.dialect.zero} END"

    def _votes(self, place: int) -> str:
        """Return the weight of the members that vote for a class, the first of those with the largest sum."""
        tests = [
            f"u{place} {'>' if other < place else '>='} u{other}" for other in range(self.n_values) if other != place
        ]
        return f"SUM(CASE WHEN {' AND '.join(tests)} THEN g ELSE {self.dialect.zero} END)" if tests else "SUM(g)"
