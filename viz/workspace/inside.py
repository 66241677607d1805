"""Inside: what a model would say after each layer, who wrote the word it says, and how far one changed word spreads."""

from __future__ import annotations

from dataclasses import dataclass

from core.analysis import attribution
from core.errors import InputError
from core.run import Run
from viz.instruments import origin
from viz.pages import Cite, Page
from viz.ui import controls, parts
from viz.workspace import _asked, _bench, _inside_guesses, _inside_ripple, _inside_who
from viz.workspace import _look_heads as chooser

PAGE = Page(
    title="Inside",
    order=43,
    claim="A model works layer by layer. Read its guess after each one, and see which part wrote it.",
    cites=(
        Cite("nostalgebraist2020", "the logit lens"),
        Cite("elhage2021", "Residual stream", "logits as a sum over heads"),
        Cite("he2016", "3.1", "residual connections"),
        Cite("ghojogh2020", "3.3.1", "masked attention"),
    ),
    menu="lab",
    does="layer by layer",
)
VIEWS = {"guesses": "Logit lens", "who": "Direct logit attribution", "ripple": "Effect of one changed word"}


@dataclass(frozen=True)
class Params:
    """One text through one model; of a translator also what it writes, None for its own translation."""

    model: str = _bench.MODEL
    text: str = _bench.TEXT
    target: str | None = None


def compute(p: Params) -> Run:
    """The run with everything that the views read: the residual stream, what each part added to it, the logits.

    Raises InputError for a model that says no words.
    """
    if "logits" not in chooser.opened(p.model).outputs:
        raise InputError(f"{p.model} has no output that says words.", "What is inside is read through the output layer.", "Choose another model.")
    return _asked.fixed(p.model, p.text, p.target, attribution.KEEP)


def page() -> None:
    parts.title(PAGE)
    asked = _bench.choose("inside", _bench.layered, given=True, runs=_bench.layers)
    if asked is None:
        return
    asked.shows()
    by = controls.segmented("What to see", tuple(VIEWS), "inside.by", "guesses", VIEWS.__getitem__, quiet=True)
    params = Params(asked.model, asked.text, _bench.target(chooser.opened(asked.model)))
    run = compute(params)
    origin.tell_run(run)
    {"guesses": _inside_guesses.show, "who": _inside_who.show, "ripple": _inside_ripple.show}[by](PAGE, params, run)
