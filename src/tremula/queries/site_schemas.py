"""Merges the schemas of several sites, and translates value numbers between a site's schema and the merged one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.errors import InvalidInput, InvalidParameter
from tremula.parameters import check_number, read_numbers
from tremula.queries.oracle import MOST_BINS
from tremula.queries.question import EVERYWHERE, UNKNOWN, Attribute, Condition, Path, Question, Schema, joint_shape


def merge_schemas(schemas: Sequence[Schema]) -> Schema:
    """Return one schema for all sites: the sorted union of their levels and classes, and their common cuts."""
    first = schemas[0]
    names = [attribute.name for attribute in first.attributes]
    for number, schema in enumerate(schemas):
        site_names = [attribute.name for attribute in schema.attributes]
        if site_names != names or schema.target != first.target:
            raise InvalidInput(
                f"site {number} has attributes {site_names} and target {schema.target!r}, but site 0 has {names} and "
                f"{first.target!r}: give every site the same columns in the same order"
            )
        if (schema.classes is None) != (first.classes is None):
            raise InvalidInput(
                f"the target has classes at one of the sites 0 and {number} and numbers at the other: give both "
                "oracles the same task"
            )
        for field in ("person_id", "target_bounds"):
            own, other = getattr(schema, field), getattr(first, field)
            if own != other:
                raise InvalidInput(f"{field} is {own!r} at site {number} and {other!r} at site 0: give both the same")
    read = {name for schema in schemas for name in schema.from_rows}
    first = replace(first, from_rows=tuple(name for name in (*names, first.target) if name in read))
    attributes = tuple(_merge([schema.attributes[number] for schema in schemas]) for number in range(len(names)))
    if first.person_id is not None:  # a person may have rows at every site
        first = replace(first, rows_per_person=sum(schema.rows_per_person for schema in schemas))
    if first.classes is None:
        return replace(first, attributes=attributes)
    labels = {label for schema in schemas for label in schema.classes or ()}
    return replace(first, attributes=attributes, classes=_sorted_values(f"target {first.target!r}", labels))


def _sorted_values(column: str, values: set[Any]) -> tuple[Any, ...]:
    try:
        return tuple(sorted(values))
    except TypeError as error:
        kinds = ", ".join(sorted({type(value).__name__ for value in values}))
        raise InvalidInput(
            f"{column} has values of types {kinds} at the sites: give it the same type at all"
        ) from error


def _merge(attributes: Sequence[Attribute]) -> Attribute:
    """Merge the descriptions of one attribute at all sites."""
    first = attributes[0]
    if any(attribute.is_nominal != first.is_nominal for attribute in attributes):
        raise InvalidInput(
            f"attribute {first.name!r} is nominal at some sites and numeric at others: give categorical_features to "
            "their oracles"
        )
    if first.is_nominal:
        levels = {level for attribute in attributes for level in attribute.levels or ()}
        return Attribute(first.name, levels=_sorted_values(f"attribute {first.name!r}", levels))
    if any(attribute.cuts != first.cuts for attribute in attributes):
        raise InvalidInput(
            f"attribute {first.name!r} has different cuts at different sites: agree on them first, for example with "
            "`agree_on_cuts`, and give them to every site's oracle as cuts={...}"
        )
    return first


def agree_on_cuts(cuts: Sequence[Sequence[float]], n_rows: Sequence[float], n_bins: int) -> tuple[float, ...]:
    """Compute cuts for all sites from the cuts of each: quantiles of their quantiles, weighted by rows.

    Parameters
    ----------
    cuts : sequence of sequences of float
        The cuts of one attribute in the schema of each site.
    n_rows : sequence of float
        Number of rows of each site.
    n_bins : int
        Number of bins.

    Examples
    --------
    >>> agree_on_cuts([(1.0, 2.0, 3.0), (2.0, 4.0, 6.0)], [100, 100], 3)
    (2.0, 3.0)
    """
    check_number("n_bins", n_bins, 2, MOST_BINS, whole=True)
    of_sites = _read_site_cuts(cuts)
    rows = read_numbers("n_rows", n_rows, "a number of rows for each site")
    if rows.shape != (len(of_sites),) or not (np.isfinite(rows) & (rows > 0)).all():
        raise InvalidParameter(f"n_rows={n_rows!r} was given; expected a number of rows above 0 for each site")
    values = np.concatenate(of_sites)
    weights = np.concatenate([np.full(len(own), n / max(len(own), 1)) for own, n in zip(of_sites, rows)])
    if not len(values):
        return ()
    order = np.argsort(values, kind="stable")
    cumulative_share = np.cumsum(weights[order]) / weights.sum()
    places = np.searchsorted(cumulative_share, np.arange(1, n_bins) / n_bins - 1e-12)
    return tuple(np.unique(values[order][np.minimum(places, len(values) - 1)]).tolist())


def _read_site_cuts(cuts: Any) -> list[NDArray[np.float64]]:
    """Return the cuts of each site, which are finite numbers; there is one site at least."""
    expected = "a list of numbers for each site, such as [[1.0, 2.0], [1.5]]"
    is_list = isinstance(cuts, Sequence | np.ndarray) and not isinstance(cuts, str | bytes)
    if not is_list or getattr(cuts, "ndim", 1) == 0 or len(cuts) == 0:
        raise InvalidParameter(f"cuts={cuts!r} was given; expected {expected}")
    of_sites = [read_numbers("cuts", site_cuts, expected) for site_cuts in cuts]
    if not all(own.ndim == 1 and np.isfinite(own).all() for own in of_sites):
        raise InvalidParameter(f"cuts={cuts!r} was given; expected {expected}, all finite")
    return of_sites


class SiteCodes:
    """Translates questions to the value numbers of one site, and its answers to those of the merged schema."""

    def __init__(self, site: Schema, merged: Schema) -> None:
        self._site, self._merged = site, merged
        self._values = [_merged_numbers(own, union) for own, union in zip(site.attributes, merged.attributes)]
        labels = {label: number for number, label in enumerate(merged.classes or ())}
        self._outputs = [labels[label] for label in site.classes] if site.classes else list(range(merged.n_outputs))

    def to_site(self, question: Question) -> Question | None:
        """Translate a question; None if its path needs a level that the site does not have, so that no row matches."""
        path = self._site_path(question.path)
        if path is None:
            return None
        return Question(path, question.attributes, question.joint, self._site_path(question.parent) or EVERYWHERE)

    def _site_path(self, path: Path) -> Path | None:
        translated = []
        for condition in path:
            merged_numbers = self._values[condition.attribute][:-1]
            allowed = [own for own, merged in enumerate(merged_numbers) if condition.first <= merged <= condition.last]
            if not allowed:
                return None
            translated.append(Condition(condition.attribute, allowed[0], allowed[-1]))
        return tuple(translated)

    def from_site(self, question: Question, answer: NDArray[Any]) -> NDArray[Any]:
        """Translate the site's answer to a question."""
        if question.joint:
            translated = np.zeros(joint_shape(self._merged, question.attributes), dtype=answer.dtype)
            axes = [self._values[attribute] for attribute in question.attributes]
            translated[np.ix_(*axes, self._outputs)] = answer
            return translated
        translated = self._merged.empty_answer()
        for attribute in question.attributes:
            cells = self._merged.cells(attribute)
            counts = answer[self._site.cells(attribute)]
            if (counts == UNKNOWN).all() and np.issubdtype(counts.dtype, np.integer):
                translated[cells] = UNKNOWN
            else:
                translated[np.ix_(cells.start + np.array(self._values[attribute]), self._outputs)] = counts
        return translated


def _merged_numbers(site: Attribute, merged: Attribute) -> list[int]:
    """Return the merged number of each value of a site's attribute, missing last."""
    if site.levels is None or merged.levels is None:
        return list(range(merged.n_values + 1))
    number_of = {level: number for number, level in enumerate(merged.levels)}
    return [*(number_of[level] for level in site.levels), merged.n_values]
