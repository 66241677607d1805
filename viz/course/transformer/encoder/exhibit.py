"""The encoder: one layer, looked at closely, and the stack of them, read after each layer."""

from __future__ import annotations

from core.serving.engine import RunRequest, default
from viz.charts import thumbs
from viz.course.exhibit import Exhibit, Step
from viz.course.transformer.encoder import maths, promises, steps
from viz.course.transformer.encoder.params import LONGEST, SENTENCES, Params
from viz.instruments.kit import origin
from viz.shell import state
from viz.widgets import input_hints


def compute(params: Params) -> maths.Data:
    """Run the sentence through one encoder. Raises InputError for more tokens than can be drawn."""
    input_hints.check_length(params.model, params.text, LONGEST)
    return maths.measure_run(default().run(RunRequest(params.model, params.text)))


def arrive() -> None:
    """Choose whose encoder reads where the link does not name it.

    The exhibit opened with the translator's before BERT came first, so a link that sets something else of this
    page means the translator's. The choice goes into the link, which is complete from then on.
    """
    if not state.peek("encoder.of"):
        older = any(state.peek(f"encoder.{name}") for name in ("step", "word", "N", "shape"))
        state.write(**{"encoder.of": "translator-en-es" if older else Params.model})


def thumbnail() -> str:
    """Draw the cosines of the words of the opening sentence after the last layer."""
    return thumbs.cells(maths.cosines(compute(Params()).states[-1]), centred=True)


EXHIBIT = Exhibit(
    __file__,
    Params,
    compute,
    (
        Step(steps.guess, promises=promises.GUESS),
        Step(steps.layer, promises=promises.LAYER),
        Step(steps.stack, promises=promises.STACK),
        Step(steps.maps, promises=promises.MAPS),
        Step(steps.depth, promises=promises.DEPTH),
        Step(steps.count, ("shape",), promises=promises.COUNT),
    ),
    compute_fields=("text", "model"),
    cost=lambda params: 40 * len(params.text),
    controls=("text", "model"),
    tells=lambda params, data: origin.tell_run(data.run),
    arrive=arrive,
    presets=tuple({"text": text} for text in SENTENCES[1:]),
)
