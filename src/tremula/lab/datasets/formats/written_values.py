"""Dates and amounts of money as people write them: which form a column has, and the SQL that reads it.

A column has a form if all its values have it. Where both 3/4 as the 3rd of April and as the 4th of March are possible,
the day is taken to come first, and a note says so.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

DAYS = tuple(
    form
    for year in ("%Y", "%y")
    for mark in ("/", ".", "-")
    for form in (f"%d{mark}%m{mark}{year}", f"%m{mark}%d{mark}{year}")
)
FORMS = (
    *DAYS,
    *("%Y/%m/%d", "%Y.%m.%d"),
    *("%d %b %Y", "%d-%b-%Y", "%d-%b-%y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y", "%b %d %Y", "%B %d %Y"),
)
TIMES = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p")
DATE_FORMS = tuple(form + time for form in FORMS for time in TIMES)
SEEN = 40  # values that are looked at before all of them are
LIKE_A_DATE = re.compile(
    r"\d{1,4}[/.-]\d{1,2}[/.-]\d{1,4}|\d{1,2}[ -][A-Za-z]{3,9}[ -]\d{2,4}|[A-Za-z]{3,9} \d{1,2},? \d{4}"
)

CURRENCY = r"(?:[$€£¥₹₽₩₺]|USD|EUR|GBP|CHF|JPY|CAD|AUD|SEK|NOK|DKK|PLN|INR|CNY|kr|zł|R\$)"
SIGN = r"[-+]?"
POINT = r"(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?"
COMMA = r"(?:\d{1,3}(?:[. ]\d{3})+|\d+)(?:,\d+)?"
AMOUNTS = {  # the form, how a value is written, and the SQL of its number
    "amount": (POINT, "replace({0}, ',', '')"),
    "amount with decimal comma": (COMMA, "replace(replace(replace({0}, '.', ''), ' ', ''), ',', '.')"),
}
# Marks of an amount, which a code of digits and points does not have.
EVIDENT = re.compile(rf"{CURRENCY}|\d\s*%|\d,\d{{3}}(?!\d)|\.\d{{3}},\d|^\(\d")
NO_DIGITS = r"'[^0-9.,+-]'"


@dataclass(frozen=True)
class Form:
    """How the values of a column are written.

    Attributes
    ----------
    name : str
        A form of dates for ``strptime``, or a key of `AMOUNTS`.
    fits : str
        SQL that tells whether a value ``{0}`` has it.
    value : str
        SQL of its number.
    kind : {'date', 'number'}
    """

    name: str
    fits: str
    value: str
    kind: str


def date_form(name: str) -> Form:
    """Return a form of dates; values become days since 1970."""
    fits = f"try_strptime({{0}}, '{name}') IS NOT NULL"
    return Form(name, fits, f"epoch_us(strptime({{0}}, '{name}')) / 1e6 / 86400.0", "date")


def amount_form(name: str) -> Form:
    """Return a form of amounts: a currency, separators of thousands, a percent sign or brackets may stand around."""
    digits, number = AMOUNTS[name]
    written = rf"{SIGN}\s*(?:{CURRENCY})?\s*{SIGN}{digits}\s*(?:{CURRENCY}|%)?"
    pattern = rf"^(?:{written}|\({written}\))$".replace("{", "{{").replace("}", "}}")
    plain = number.format(f"regexp_replace({{0}}, {NO_DIGITS}, '', 'g')")
    number = f"CAST({plain} AS DOUBLE) * CASE WHEN {{0}} LIKE '(%)' THEN -1 ELSE 1 END"
    fits = f"regexp_matches({{0}}, '{pattern}')"
    # A value of another form is an error, as other columns have it, and not a number out of its digits.
    value = f"CASE WHEN {{0}} IS NULL THEN NULL WHEN {fits} THEN {number} ELSE error('not an amount') END"
    return Form(name, fits, value, "number")


def possible_forms(values: Sequence[str]) -> list[Form]:
    """Return the forms that the first values of a column may have.

    Examples
    --------
    >>> [form.name for form in possible_forms(["31/05/2024", "01/06/2024"])]
    ['%d/%m/%Y', '%m/%d/%Y']
    >>> [form.name for form in possible_forms(["$1,200.50", "$7"])]
    ['amount', 'amount with decimal comma']
    >>> possible_forms(["red", "blue"])
    []
    """
    seen = values[:SEEN]
    if seen and all(LIKE_A_DATE.match(value) for value in seen):
        return [date_form(name) for name in DATE_FORMS if all(map(_shape(name), seen))]
    if any(map(EVIDENT.search, seen)):
        return [amount_form(name) for name in AMOUNTS]
    return []


SHAPES = {
    **{
        "%Y": r"\d{4}",
        "%y": r"\d{2}",
        "%d": r"\d{1,2}",
        "%m": r"\d{1,2}",
        "%b": r"[A-Za-z]{3}",
        "%B": r"[A-Za-z]{3,9}",
    },
    **{"%H": r"\d{1,2}", "%I": r"\d{1,2}", "%M": r"\d{2}", "%S": r"\d{2}", "%p": r"[AaPp][Mm]"},
}


def _shape(name: str) -> Callable[[str], object]:
    pattern = re.escape(name).replace(r"\ ", " ")
    for directive, shape in SHAPES.items():
        pattern = pattern.replace(directive, shape)
    return re.compile(pattern + r"\Z").match


def swapped(form: str) -> str:
    """Return a form of dates with day and month exchanged.

    Examples
    --------
    >>> swapped("%d/%m/%Y")
    '%m/%d/%Y'
    """
    return form.translate(str.maketrans("dm", "md"))
