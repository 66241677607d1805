"""Values on a screen, whatever the sentence around them: tests bind numbers and names, not wording."""

from __future__ import annotations

import re

SIGN = "−-"


def stating(*values: object) -> re.Pattern[str]:
    """Return a pattern that matches a text with all these values, in any order, each of them whole: 5 is not in 15, 0.5, −5 or 5%.

    Python and a browser read it alike, so that Playwright may expect it.

    >>> bool(stating("cat", "50%").match("It is “cat” (50%).")), bool(stating(5).match("15, 0.5, −5, 5% or 5,000"))
    (True, False)
    """
    return re.compile(
        "".join(f"(?=.*{whole_value_pattern(str(value).strip())})" for value in values), re.DOTALL
    )


def whole_value_pattern(value: str) -> str:
    """Return the pattern of a value that is no part of a longer word or number."""
    assert value, "a value that is shown has a character"
    before = (
        rf"(?<![\w{SIGN}])(?<!\d[.,])" if value[0].isdigit() else r"(?<!\w)" if value[0].isalpha() else ""
    )
    after = r"(?![\w%])(?![.,]\d)" if value[-1].isdigit() else r"(?!\w)" if value[-1].isalpha() else ""
    return before + re.escape(value) + after


def states(text: str, *values: object) -> bool:
    """Return whether a paragraph of the words of a page has all these values.

    >>> page = "4 of 6 rows stay.\\nThe mean is 0.50."
    >>> states(page, 4, 6), states(page, "0.50"), states(page, 4, "0.50"), states(page, 0)
    (True, True, False, False)
    """
    assert values, "name the values that the page has to show"
    pattern = stating(*values)
    return any(pattern.match(paragraph) for paragraph in text.split("\n"))
