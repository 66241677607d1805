"""For tests of pages: what is the same is looked at once a process."""

from __future__ import annotations

import cheap_pages
from cheap_pages import _drawn_anew, _held_against_the_schema  # noqa: F401 - fixtures

cheap_pages.begin()
