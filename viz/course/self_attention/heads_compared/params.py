"""What can be set on the exhibit on the heads of a trained model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from core.serving.engine import default
from viz.course.self_attention.heads_compared.maths import LONGEST, MODELS, here
from viz.shell import state
from viz.widgets import controls
from viz.widgets.knobs import Control, Knobs, knob, model_choice, sentence, url_only

SLUG = "heads_compared."
SENTENCES = (
    "The cat did not drink the milk because it was sour.",
    "The animal didn't cross the street because it was too tired.",
    "The FBI is chasing a criminal on the run .",
    "She is eating a green apple.",
)
MOST = f"up to {LONGEST} words, marks included"


def _offered() -> tuple[str, ...]:
    return here() or tuple(MODELS)


def _layer(name: str, _opening: int, params: Params, _names: Callable[[str], str]) -> None:
    """The layers of the model that reads; where it cannot be read there are none to choose from."""
    if params.reader in here():
        layers = range(default().open(params.reader).config.n_layers)
        controls.pills("Layer", layers, name, MODELS[params.reader][1], lambda layer: f"L{layer}")


@dataclass(frozen=True)
class Params(Knobs):
    """`layer` -1: the model's own; `word` "": the telling one."""

    model: str = knob(next(iter(MODELS)), model_choice("Model", tuple(MODELS), width=1))
    text: str = knob(
        SENTENCES[0],
        sentence("Sentence", SENTENCES, drops=("word",), model=lambda params: params.reader, most=MOST),
        link="text",
    )
    layer: int = knob(-1, Control(_layer, lambda _: state.whole_number(-1, 99), 1))
    word: str = knob("", url_only(str))

    @property
    def reader(self) -> str:
        """The model that reads: the chosen one, or the first that is here."""
        return self.model if self.model in _offered() else _offered()[0]
