"""Inside: what a model would say after each layer, who wrote the word it says, how far one changed word spreads, and which experts compute a token."""

from __future__ import annotations

from dataclasses import dataclass

from core.analysis import routing
from core.analysis.attribution import logit_attribution
from core.errors import InputError
from core.run import Run
from viz.instruments.kit import origin
from viz.languages import _, mark
from viz.shell.pages import Cite, Page
from viz.shell.selection import Selection
from viz.widgets import controls, page_parts
from viz.workspace.inside import contributions, experts, guesses, ripple
from viz.workspace.shared import model_run, toolbar

PAGE = Page(
    title="Inside",
    order=44,
    claim="A model works layer by layer. Read its prediction after each layer, and see which part contributed to it.",
    cites=(
        Cite("nostalgebraist2020", "the logit lens"),
        Cite("elhage2021", "Residual stream", "logits as a sum over heads"),
        Cite("he2016", "3.1", "residual connections"),
        Cite("ghojogh2020", "3.3.1", "masked attention"),
    ),
    menu="lab",
    activity="layer by layer",
)
VIEWS = {
    "guesses": mark("Logit lens"),
    "who": mark("Direct logit attribution"),
    "ripple": mark("Effect of one changed word"),
    "experts": mark("Experts per token"),
}


@dataclass(frozen=True)
class Params(Selection):
    """One text through one model; of a translator also what it writes, None for its own translation."""

    model: str = toolbar.MODEL
    text: str = toolbar.TEXT


def compute(p: Selection) -> Run:
    """Run the model with everything that the views read: the residual stream, the output of each part, the logits.

    Raises InputError for a model without an output that could be read after each layer.
    """
    model = model_run.open_model(p.model)
    if not model.can("answer_texts"):
        raise InputError(
            _("{model} has no output that could be read after each layer.", model=p.model),
            _("The logit lens reads a text's words or classes; {lack}", lack=_(model.lacks("answer_texts"))),
            _("Choose another model."),
        )
    routed = routing.KEEP if model.can("choose_experts") else ()
    return model_run.fixed(p, (*logit_attribution.KEEP, *routed))


def page() -> None:
    page_parts.title(PAGE)
    bench = toolbar.choose("inside", takes_translation=True, runs=toolbar.layers)
    if bench is None:
        return
    selection = bench.announce()
    model = model_run.open_model(selection.model)
    offered = [view for view in VIEWS if view != "experts" or model.can("choose_experts")]
    by = controls.segmented(
        _("What to see"), offered, "inside.by", "guesses", lambda name: _(VIEWS[name]), quiet=True
    )
    run = compute(selection)
    origin.tell_run(run)
    shows = {
        "guesses": guesses.show,
        "who": contributions.show,
        "ripple": ripple.show,
        "experts": experts.show,
    }
    shows[by](PAGE, selection, run)
