"""Settings of the exhibit on soft and hard attention."""

from __future__ import annotations

from dataclasses import dataclass

from viz.languages import _, mark, write_number
from viz.shell import state
from viz.widgets.knobs import Knobs, knob, pills, seed_input, segmented, slider, url_only

DRAWS = (1, 10, 50, 200, 1000, 5000)
REWARDS = {
    mark("brighter"): (1.0, 1.0, 1.0),
    mark("redder"): (1.0, -0.5, -0.5),
    mark("greener"): (-0.5, 1.0, -0.5),
    mark("bluer"): (-0.5, -0.5, 1.0),
}


@dataclass(frozen=True)
class Params(Knobs):
    """The patch that is the query, the inverse temperature, the number of samples, the reward, and the seed."""

    asks: int = knob(13, url_only(state.whole_number(0, 23)))
    beta: int = knob(30, slider("Inverse temperature β (0: uniform; 100: almost one patch)", 0, 100))
    draws: int = knob(200, segmented("Draws", DRAWS, lambda n: write_number(f"{n:,}"), width=1))
    wanted: str = knob("brighter", pills("What should be read", tuple(REWARDS), _, width=1))
    draw: int = knob(0, seed_input())
