"""The settings of the exhibit on captions: a scene, the thing that a click puts into a cell, a random choice of cells."""

from __future__ import annotations

from dataclasses import dataclass

from core.data.scenes.language import COLOURS, KINDS, read
from viz.course.vision.show_attend_tell.maths import MODEL, N_DRAWS, scene_of
from viz.widgets.knobs import Knobs, knob, pills, seed_input, sentence, slider

SLUG = "show_attend_tell"
TEXTS = (
    "red cat 1,0; blue house 0,3; blue house 3,4",
    "green tree 0,2; purple boat 3,1; purple boat 4,3",
    "red heart 0,0; red heart 2,2; red heart 4,4",
)


@dataclass(frozen=True)
class Params(Knobs):
    """`own` is a scene of the visitor's; while it is empty, `draw` is the number of a sampled one. `cells` is a sample of hard attention."""

    own: str = knob(
        "",
        sentence(
            "Scene: a colour, a kind and column,row for each thing; empty for a sampled one",
            TEXTS,
            model=MODEL,
            placeholder=lambda p: scene_of(p.draw),
            most="a thing in each of 25 cells",
        ),
    )
    colour: str = knob(COLOURS[0], pills("Colour", COLOURS))
    kind: str = knob(KINDS[0], pills("Kind", KINDS))
    cells: int = knob(0, slider("Sample of the cells", 0, N_DRAWS - 1))
    judge: int = knob(0, seed_input(9999, next_label="Another caption"))
    draw: int = knob(1, seed_input(9999, drops=("own",), next_label="Another scene"))

    @property
    def text(self) -> str:
        """Return the displayed scene. Raises InputError where it cannot be read."""
        found = self.own.strip() or scene_of(self.draw)
        read(found)
        return found

    @property
    def thing(self) -> str:
        return f"{self.colour} {self.kind}"
