"""Places in a card that a tool fills: between two lines that Markdown does not show.

    [//]: # (computed: scores)

    | | bits a byte |

    [//]: # (end)

Such a line is a link definition that nothing uses; an HTML comment would be shown as text where HTML is not trusted.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from core.errors import InputError

PLACE = re.compile(r"^\[//\]: # \(computed: (\w+)\)\n(.*?)^\[//\]: # \(end\)\n", re.MULTILINE | re.DOTALL)
MARK = re.compile(r"^\[//\]: # \(", re.MULTILINE)


def make_place(name: str, content: str = "") -> str:
    """Return a computed place of a card with its content, between its two marks.

    >>> make_place("scores", "BLEU 51.4")
    '[//]: # (computed: scores)\\n\\nBLEU 51.4\\n\\n[//]: # (end)\\n'
    """
    inner = content.strip("\n")
    return (
        f"[//]: # (computed: {name})\n\n{inner}\n\n[//]: # (end)\n"
        if inner
        else f"[//]: # (computed: {name})\n\n[//]: # (end)\n"
    )


def fill_places(card: str, contents: Mapping[str, str]) -> str:
    """Return the card with the contents filled into its computed places, its prose unchanged.

    Raises InputError where the places of the card are not those of the contents, each once, opened and closed.
    """
    there = [match[1] for match in PLACE.finditer(card)]
    if sorted(there) != sorted(contents) or len(MARK.findall(card)) != 2 * len(there):
        raise InputError(
            f"The card has the places {', '.join(there) or 'none'}.",
            f"It has each of {', '.join(sorted(contents))} once, opened and closed.",
            "Put the missing lines in, as in the card of another model.",
        )
    return PLACE.sub(lambda match: make_place(match[1], contents[match[1]]), card)


def replace_places(card: str, contents: Mapping[str, str]) -> str:
    """Return the card with the contents of some of its computed places.

    >>> replace_places("a\\n" + make_place("curve", "b"), {"curve": "c"}) == "a\\n" + make_place("curve", "c")
    True
    """
    return PLACE.sub(
        lambda match: make_place(match[1], contents[match[1]]) if match[1] in contents else match[0], card
    )


def first_paragraph(card: str) -> str:
    """Return the paragraph below the title of a card.

    >>> first_paragraph("# a\\n\\nReads\\na text.\\n\\nMore.\\n")
    'Reads\\na text.'
    """
    return card.split("\n\n", 2)[1].strip()


def remove_places(card: str, *names: str) -> str:
    """Return the card without these computed places, for a page that draws them itself.

    >>> remove_places("a\\n\\n" + make_place("curve", "![](curve.svg)") + "\\nb\\n", "curve")
    'a\\n\\n\\nb\\n'
    """
    return PLACE.sub(lambda match: "" if match[1] in names else match[0], card)
