"""Settings of the exhibit on global and local attention; the written word, p and sigma depend on the run."""

from __future__ import annotations

from dataclasses import dataclass

from viz.course.look_up.luong import maths
from viz.languages import _, mark
from viz.shell import state
from viz.widgets.knobs import Knobs, knob, segmented, sentence, slider, toggle, with_rule

SENTENCES = (
    "She has a white car.",
    "The black cat is sleeping on the white bed.",
    "I want to see my old friend tomorrow.",
)
WIDEST, WINDOW = 8, 2
CENTRES = {
    "row": mark("where the global row points"),
    "monotonic": mark("monotonic: pₜ = t"),
    "predictive": mark("predicted by luong-local-en-es"),
}
OF_A_SENTENCE = ("row", "p", "sigma")


def centres() -> dict[str, str]:
    """Return the choices for the centre of the windows; the predictive one only where its model is installed."""
    return {
        name: said
        for name, said in CENTRES.items()
        if name != "predictive" or maths.is_available(maths.PREDICTIVE)
    }


@dataclass(frozen=True)
class Params(Knobs):
    """`centre`: the centre of the windows; `windowed`: whether weights outside are cut off."""

    text: str = knob(
        SENTENCES[0],
        sentence(
            "Sentence",
            model=maths.CONCAT,
            placeholder=mark("Type an English sentence"),
            drops=OF_A_SENTENCE,
            quiet=True,
        ),
        link="text",
    )
    score: str = knob(
        maths.OPENING,
        with_rule(
            segmented(
                "Score",
                lambda params: tuple(maths.models_by_score()),
                lambda score: _(maths.SCORES[score]),
                quiet=True,
            ),
            lambda raw: state.one_of(tuple(maths.models_by_score()), maths.OPENING)(raw),
        ),
    )
    centre: str = knob(
        "row",
        with_rule(
            segmented(
                "Centre of the window",
                lambda params: tuple(centres()),
                lambda centre: _(CENTRES[centre]),
                quiet=True,
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
        """Return the model whose states the score compares; where it is not installed, another one."""
        return maths.models_by_score()[self.score]
