"""For tests of pages: what is the same is looked at once a process."""

from __future__ import annotations

import cheap_pages

cheap_pages.begin()
