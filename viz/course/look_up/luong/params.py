"""What can be set on global and local attention; the written word, p and sigma depend on the run."""

from __future__ import annotations

from dataclasses import dataclass

from viz.course.look_up.luong import maths
from viz.shell import state
from viz.widgets.knobs import Knobs, knob, segmented, sentence, slider, toggle, with_rule

SENTENCES = (
    "She has a white car.",
    "The black cat is sleeping on the white bed.",
    "I want to see my old friend tomorrow.",
)
WIDEST, WINDOW = 8, 2
CENTRES = {
    "row": "where the global row points",
    "monotonic": "monotonic: pₜ = t",
    "predictive": "predicted by luong-local-en-es",
}
OF_A_SENTENCE = ("row", "p", "sigma")


def centres() -> dict[str, str]:
    """The ways to choose a centre that can be shown: the predictive one where its model is there."""
    return {
        name: said for name, said in CENTRES.items() if name != "predictive" or maths.here(maths.PREDICTIVE)
    }


@dataclass(frozen=True)
class Params(Knobs):
    """`centre`: where the windows stand; `windowed`: whether they cut."""

    text: str = knob(
        SENTENCES[0],
        sentence(
            "Sentence",
            model=maths.CONCAT,
            placeholder="Type an English sentence",
            drops=OF_A_SENTENCE,
            quiet=True,
        ),
        link="text",
    )
    score: str = knob(
        maths.OPENING,
        with_rule(
            segmented("Score", lambda params: tuple(maths.offered()), maths.SCORES.__getitem__, quiet=True),
            lambda raw: state.one_of(tuple(maths.offered()), maths.OPENING)(raw),
        ),
    )
    centre: str = knob(
        "row",
        with_rule(
            segmented(
                "Centre of the window", lambda params: tuple(centres()), CENTRES.__getitem__, quiet=True
            ),
            lambda raw: state.one_of(tuple(centres()), "row")(raw),
        ),
    )
    window: int = knob(WINDOW, slider("D, the words to each side", 1, WIDEST))
    windowed: bool = knob(
        True, toggle("Cut off the weights outside the window (off: as printed in Beigy 2021)")
    )

    @property
    def model(self) -> str:
        """The model whose states the score compares; another one where it is not here."""
        return maths.offered()[self.score]
