"""For tests of pages: drawn without a browser, at no more than the price of the page."""

from __future__ import annotations

import one_scan  # noqa: F401 - what it does is done when it is imported
