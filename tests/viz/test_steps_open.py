"""Every step that no browser walks with this push opens: the other half is in browser/test_every_step_fits.py."""

from __future__ import annotations

import pytest
from exhibit_pages import drawn
from exhibit_visits import well
from walked_steps import halves

from viz.shell import pages


@pytest.mark.parametrize("entry", pages.exhibits(), ids=lambda entry: entry.slug)
def test_a_step_that_no_browser_walks_opens(entry: pages.Entry) -> None:
    for step in (step for own, step in halves()[1] if own == entry):
        well(drawn(entry.slug, {f"{entry.slug}.step": str(step)}, {}), str(step))
