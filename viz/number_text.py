"""Numbers as text: a true minus, no "-0.00", three digits where more mean nothing, powers of ten, units. Shares are `percent`."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import SupportsFloat

from core import maths
from viz.labels import percent as percent
from viz.languages import ENGLISH, _, current, mark, write_number

MINUS = "−"
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_UNITS = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
_COUNTS = ((12, mark("trillion")), (9, mark("billion")), (6, mark("million")))
_BYTES = ((12, "TB"), (9, "GB"), (6, "MB"), (3, "kB"))
MEGA, MEBI = 10**6, 2**20
"""Bytes of a megabyte as disks and files count them, and as memory is counted."""


def true_minus(text: str) -> str:
    """Return a text of numbers with true minus signs; a hyphen of a word becomes one too.

    >>> true_minus("(-1.5, 2)")
    '(−1.5, 2)'
    """
    return text.replace("-", MINUS)


def minus_of_numbers(text: str) -> str:
    """Return a text with a true minus before each negative number, and with the hyphens of its words.

    >>> minus_of_numbers("a-b (-1.5)")
    'a-b (−1.5)'
    """
    return re.sub(r"(?<![\w-])-(?=\d)", MINUS, text)


def number(value: float, places: int = 2, *, grouped: bool = False) -> str:
    """Return a number with fixed decimals, a true minus and no "-0.00"; `grouped` separates thousands.

    >>> number(-0.5), number(-0.001), number(-1234.5, 1, grouped=True)
    ('−0.50', '0.00', '−1,234.5')
    """
    return signed(value, f"{',' if grouped else ''}.{places}f")


def signed(value: float, form: str = ".2f") -> str:
    """Return a number in a format such as "+.2f", with a true minus; one that rounds to 0 has no sign.

    >>> signed(-0.5), signed(0.5, "+.1f"), signed(-0.001, "+.2f"), signed(0.001, "+.2f")
    ('−0.50', '+0.5', '0.00', '0.00')
    >>> signed(-math.inf), signed(math.nan)
    ('−∞', 'not a number')
    """
    return _("not a number") if value != value else write_number(_signed(value, form))


def _signed(value: float, form: str) -> str:
    text = format(value, form).replace("inf", "∞")
    has_sign = any(digit in text for digit in "123456789∞")
    return (text if has_sign else text.lstrip("+-")).replace("-", MINUS)


def trimmed(value: float, places: int = 4) -> str:
    """Return a number as one writes it by hand: at most so many decimals, and no zeros at its end.

    >>> trimmed(-1.0), trimmed(0.25), trimmed(-0.00001), trimmed(120), trimmed(float("-inf"))
    ('−1', '0.25', '0', '120', '−∞')
    """
    if value != value:
        return _("not a number")
    text = _signed(value, f".{places}f")
    return write_number(text.rstrip("0").rstrip(".") if "." in text else text)


def row_of_numbers(
    values: Iterable[SupportsFloat], places: int = 2, between: str = ", ", *, short: bool = False
) -> str:
    """Return numbers with fixed decimals, or where `short` without zeros at their ends, and commas between them.

    >>> row_of_numbers([1, -0.25]), row_of_numbers([1, -0.25], between=" ; ", short=True)
    ('1.00, −0.25', '1 ; −0.25')
    """
    write = trimmed if short else number
    return between.join(write(float(value), places) for value in values)


def in_brackets(values: Iterable[SupportsFloat], places: int = 2, *, short: bool = False) -> str:
    """Return a vector: a row of numbers in brackets.

    >>> in_brackets([1, -0.25]), in_brackets([1, -0.25], short=True)
    ('(1.00, −0.25)', '(1, −0.25)')
    """
    return f"({row_of_numbers(values, places, short=short)})"


def whole_from(value: float, limit: float, form: str) -> str:
    """Return a number in a format, and from a limit on as a whole number with its thousands separated.

    >>> whole_from(3.32, 9.95, ".1f"), whole_from(12345.6, 9.95, ".1f")
    ('3.3', '12,346')
    """
    return write_number(f"{value:,.0f}" if value >= limit else format(value, form))


def or_exactly_zero(value: float, text: str) -> str:
    """Return the text of a difference, and where it is none "exactly 0".

    >>> or_exactly_zero(1e-9, "1e-09"), or_exactly_zero(0.0, "0e+00")
    ('1e-09', 'exactly 0')
    """
    return _("exactly 0") if value == 0 else text


def significant(value: float) -> str:
    """Return a number in four significant digits with a true minus.

    >>> significant(-0.123456), significant(12345.6), significant(float("nan")), significant(0.0)
    ('−0.1235', '12350', 'not a number', '0.000')
    """
    if value != value:
        return signed(value)
    size = abs(value)
    text = f"{value:{'#' if size >= 1e-3 or value == 0 else ''}.4g}"
    return write_number((text if size < 1e4 else f"{float(text):g}").replace("-", MINUS))


def three_digits(value: float, total: float = 1.0) -> str:
    """Return a number in three digits, whole ones in full; a share of `total` is never rounded to nothing or to all of it.

    >>> three_digits(12.517), three_digits(112.097), three_digits(1200.0), three_digits(0.9998), three_digits(99.98, 100)
    ('12.5', '112', '1200', 'over 0.999', 'over 99.9')
    """
    if value == 0 or float(value).is_integer():
        return f"{value:g}"
    edge = total / 1000
    if 0 < value < edge:
        return _("under {edge:g}", edge=edge)
    if total - edge < value < total:
        return _("over {edge:g}", edge=total - edge)
    return write_number(f"{round(value, 2 - math.floor(math.log10(abs(value)))):g}")


def softmax_weight(value: float) -> str:
    """Return a weight of softmax in four decimals; however sharp softmax is, it is never written as 0 or 1.

    >>> softmax_weight(0.98), softmax_weight(0.99999), softmax_weight(1.0), softmax_weight(0.00001)
    ('0.9800', 'over 0.999', 'over 0.999', 'under 0.001')
    """
    if 0.00005 <= value < 0.99995:
        return number(value, 4)
    return three_digits(min(value, 1 - 1e-12))  # in floats e^−46 beside 1 is lost


def with_unit(value: float) -> str:
    """Return a large number in three digits and a unit.

    >>> with_unit(1_280_000), with_unit(13_107_200), with_unit(8_589_934_592), with_unit(512)
    ('1.28 M', '13.1 M', '8.59 G', '512')
    """
    size, unit = next(((size, unit) for size, unit in _UNITS if value >= size), (1.0, ""))
    return write_number(f"{value / size:.3g} {unit}".strip())


def megabytes(size: float, places: int = 0, unit: int = MEBI) -> str:
    """Return a number of bytes in megabytes.

    >>> megabytes(3 * MEBI), megabytes(1_250_000, 2, MEGA), megabytes(2048 * MEBI)
    ('3 MB', '1.25 MB', '2,048 MB')
    """
    return write_number(f"{size / unit:,.{places}f} MB")


def in_minutes(value: float) -> str:
    """Return minutes with their unit.

    >>> in_minutes(2.5), in_minutes(1.0)
    ('2.5 min', '1 min')
    """
    return write_number(f"{value:g} min")


def ordinal(n: int) -> str:
    """Return a rank as one says it.

    >>> [ordinal(n) for n in (1, 2, 3, 11, 57, 112, 1021)]
    ['1st', '2nd', '3rd', '11th', '57th', '112th', '1,021st']
    """
    if current() is not ENGLISH:
        return _("{n:,}th", n=n)
    ending = {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th") if n % 100 not in (11, 12, 13) else "th"
    return f"{n:,}{ending}"


def without_percent_sign(share: float) -> str:
    """Return a share in per cent as a label above a narrow bar, whose axis has the sign.

    >>> without_percent_sign(0.125)
    '12'
    """
    return maths.percent(share).removesuffix("%")


def decade(power: int, unit: str = "") -> str:
    """Return a power of ten in words, which can be read from afar where an exponent cannot.

    >>> decade(4), decade(8), decade(4, "bytes"), decade(-1, "ms")
    ('10,000', '100 million', '10 kB', '0.1')
    """
    names = _BYTES if unit == "bytes" else _COUNTS
    size, name = next(((size, name) for size, name in names if power >= size), (0, ""))
    return f"{write_number(f'{10.0 ** (power - size):,g}')} {_(name)}".strip()


def power_of_ten(power: int) -> str:
    """Return 10 with its exponent in Unicode superscripts, which stay as large as the line.

    >>> power_of_ten(-7)
    '10⁻⁷'
    """
    return f"10{str(power).translate(_SUPERSCRIPTS)}"


def scientific(value: float, digits: int = 1, times: str = " · ") -> str:
    """Return a number as digits times a power of ten, with `times` between them.

    >>> scientific(2.4e-16), scientific(-65504.0, 2), scientific(9.6e-16, times=" × ")
    ('2 · 10⁻¹⁶', '−6.6 · 10⁴', '1 × 10⁻¹⁵')
    """
    head, _e, power = f"{value:.{digits - 1}e}".partition("e")
    return f"{write_number(head)}{times}{power_of_ten(int(power))}".replace("-", MINUS)


def or_scientific(
    value: float,
    form: str,
    low: float = 0.0,
    high: float = math.inf,
    digits: int = 1,
    times: str = " · ",
) -> str:
    """Return a number in a format, and below `low` or from `high` on in digits times a power of ten; 0 is written in the format.

    >>> or_scientific(0.25, ".2g", low=0.01), or_scientific(8.9e-16, ".2g", low=0.01), or_scientific(2.5e7, ".2f", high=1e6, digits=2)
    ('0.25', '9 · 10⁻¹⁶', '2.5 · 10⁷')
    """
    if value == 0 or low <= abs(value) < high:
        return signed(value, form)
    return scientific(value, digits, times)


def two_digits(value: float, low: float = 1e-3, high: float = 1e4) -> str:
    """Return a number in two digits, and below `low` or from `high` on with a power of ten, all on one line.

    >>> two_digits(0.0123), two_digits(12.3), two_digits(2.345e-10), two_digits(39471.0), two_digits(math.inf)
    ('0.012', '12', '2.3\\xa0·\\xa010⁻¹⁰', '3.9\\xa0·\\xa010⁴', '∞')
    """
    if not math.isfinite(value):
        return signed(value)
    return or_scientific(float(f"{value:.2g}"), "g", low, high, digits=2, times="\u00a0·\u00a0")


def tiny(value: float, times: str = "·") -> str:
    """Return a very small number as text.

    >>> tiny(2.4e-16), tiny(0.0), tiny(0.25)
    ('2·10⁻¹⁶', '0', '0.25')
    """
    if value == 0:
        return "0"
    return write_number(f"{value:.2f}") if value > 0.005 else scientific(value, times=times)


def small_difference(value: float) -> str:
    """Return a difference that should be zero, in two digits or as a power of ten.

    >>> small_difference(8.9e-16), small_difference(0.0), small_difference(0.25)
    ('9 × 10⁻¹⁶', '0', '0.25')
    """
    return or_scientific(value, ".2g", low=0.01, times=" × ")


def percent_or_power(share: float, places: int = 1) -> str:
    """Return a share in per cent in about `places` + 1 digits, one too small for them with its power of ten.

    >>> percent_or_power(0.67), percent_or_power(8e-12), percent_or_power(0.00002, 2), percent_or_power(0.0)
    ('67%', '8 · 10⁻¹⁰%', '2 · 10⁻³%', '0%')
    """
    return (
        percent(share, places)
        if share >= 0.05 / 10**places or share == 0
        else f"{scientific(100 * share)}{write_number('%')}"
    )


def fine_percent(share: float) -> str:
    """Return a share in per cent that is never rounded to nothing, free of the rounding of a sum of floats.

    >>> fine_percent(0.125), fine_percent(0.00002), fine_percent(1e-9), fine_percent(1e-17)
    ('12.5%', '0.0020%', 'less than 0.0001%', '0%')
    """
    share = round(share, 12)
    if share >= 0.0005 or share == 0:
        return percent(share, 2)
    if share >= 1e-6:
        return write_number(f"{100 * share:.4f}%")
    return _("less than {edge}", edge=write_number("0.0001%"))


def percent_of_change(share: float) -> str:
    """Return a change in per cent of what it changes; what is only rounding is 0.

    >>> percent_of_change(3e-16), percent_of_change(0.0004), percent_of_change(0.213), percent_of_change(1.26)
    ('0%', '0.04%', '21%', '126%')
    """
    if share < 1e-9:
        return write_number("0%")
    size = 100 * share
    return write_number(f"{size:{'.0f' if size >= 9.5 else '.1f' if size >= 0.095 else '.2g'}}%")
