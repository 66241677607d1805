"""Numbers as text: a true minus, no "-0.00", three digits where more mean nothing, powers of ten. Shares are `percent`."""

from __future__ import annotations

from math import floor, log10

from core.maths import percent as percent

MINUS = "−"
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_UNITS = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


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
    """
    text = format(value, form)
    has_sign = any(digit in text for digit in "123456789") or value != value or abs(value) == float("inf")
    return (text if has_sign else text.lstrip("+-")).replace("-", MINUS)


def significant(value: float) -> str:
    """Return a number in four significant digits with a true minus.

    >>> significant(-0.123456), significant(12345.6), significant(float("nan")), significant(0.0)
    ('−0.1235', '12350', 'not a number', '0.000')
    """
    if value != value:
        return "not a number"
    size = abs(value)
    text = f"{value:{'#' if size >= 1e-3 or value == 0 else ''}.4g}"
    return (text if size < 1e4 else f"{float(text):g}").replace("-", MINUS)


def three_digits(value: float, total: float = 1.0) -> str:
    """Return a number in three digits, whole ones in full; a share of `total` is never rounded to nothing or to all of it.

    >>> three_digits(12.517), three_digits(112.097), three_digits(1200.0), three_digits(0.9998), three_digits(99.98, 100)
    ('12.5', '112', '1200', 'over 0.999', 'over 99.9')
    """
    if value == 0 or float(value).is_integer():
        return f"{value:g}"
    edge = total / 1000
    if 0 < value < edge or total - edge < value < total:
        return f"under {edge:g}" if value < edge else f"over {total - edge:g}"
    return f"{round(value, 2 - floor(log10(abs(value)))):g}"


def with_unit(value: float) -> str:
    """Return a large number in three digits and a unit.

    >>> with_unit(1_280_000), with_unit(13_107_200), with_unit(8_589_934_592), with_unit(512)
    ('1.28 M', '13.1 M', '8.59 G', '512')
    """
    size, unit = next(((size, unit) for size, unit in _UNITS if value >= size), (1.0, ""))
    return f"{value / size:.3g} {unit}".strip()


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
    head, _, power = f"{value:.{digits - 1}e}".partition("e")
    return f"{head}{times}{power_of_ten(int(power))}".replace("-", MINUS)


def tiny(value: float, times: str = "·") -> str:
    """Return a very small number as text.

    >>> tiny(2.4e-16), tiny(0.0), tiny(0.25)
    ('2·10⁻¹⁶', '0', '0.25')
    """
    if value == 0:
        return "0"
    return f"{value:.2f}" if value > 0.005 else scientific(value, times=times)
