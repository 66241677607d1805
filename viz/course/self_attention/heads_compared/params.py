"""Settings of the exhibit on the heads of a trained model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from core.serving.engine import default
from viz.course.self_attention.heads_compared.maths import LONGEST, MODELS, available_models
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


def _model_names() -> tuple[str, ...]:
    return available_models() or tuple(MODELS)


def _layer(name: str, _opening: int, params: Params, _names: Callable[[str], str]) -> None:
    """Draw the layers of the model that reads; none where the model is not installed."""
    if params.reader in available_models():
        layers = range(default().open(params.reader).config.n_layers)
        controls.pills("Layer", layers, name, MODELS[params.reader][1], lambda layer: f"L{layer}")


@dataclass(frozen=True)
class Params(Knobs):
    """`layer` -1: the model's default; `word` "": the default query word."""

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
        """Return the model that reads: the chosen one, or the first that is installed."""
        return self.model if self.model in _model_names() else _model_names()[0]
