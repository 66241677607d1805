"""How a translator learns a pair, all places at once, and how it writes, one place after the other."""

from __future__ import annotations

from dataclasses import dataclass

from core.serving.engine import default
from viz.charts import thumbs
from viz.course.shared.shown import folds, later, wait
from viz.course.transformer.training_and_inference import learn, link, steps
from viz.course.transformer.training_and_inference.maths.at_once import AtOnce, at_once
from viz.course.transformer.training_and_inference.maths.taught import MOST, RATES
from viz.instruments.kit import origin
from viz.shell import errors, state
from viz.shell.pages import Chapter, Cite, Exhibit
from viz.widgets import compute as ask
from viz.widgets import lesson, parts

EXHIBIT = Exhibit(
    title="Training and inference", chapter=Chapter.TRANSFORMER, order=70, minutes=10,
    claim="In training the right words are given (teacher forcing) and all positions learn at once. At inference the model reads its own words, one after the other.",
    cites=(
        Cite("ghojogh2023", "decoder: output embeddings shifted one word to the right", step=1),
        Cite("ghojogh2020", "3.3.1", "output embeddings, shifted", step=1),
        Cite("beigy2021", "Transformers training", "“You are welcome”, “De nada”, START", step=1),
        Cite("beigy2024", "Transformers training", "“You are welcome”, “De nada”, START", step=1),
        Cite("ghojogh2020", "3.4.1", "teacher forcing", step=2),
        Cite("beigy2021", "Transformers inference", "step by step", step=3),
        Cite("beigy2024", "Transformers inference", "step by step", step=3),
        Cite("sutskever2014", "3.2", "the sum of log probabilities", step=2),
        Cite("kingma2015", "algorithm 1", "Adam", step=4),
        Cite("ghojogh2020", "3.3.3", "linear layer, softmax, the largest is the next word", step=5),
        Cite("ghojogh2023", "decoder: feedforward layer and softmax", "choice of the word", step=6),
    ),
)  # fmt: skip
SLUG = link.SLUG
STEPS = (
    lesson.Step("Shift", "To learn a translation the decoder is given it, shifted one position to the right, with START in front."),
    lesson.Step("All at once", "Every position predicts what comes next, in one pass. Its loss is small where the target had a high probability."),
    lesson.Step("Step by step", "At inference there is no translation to read: one word, one pass. The logits are the same numbers."),
    lesson.Step("One step", "One optimiser step moves every weight a little, so that the wanted words become more probable. Press the button."),
    lesson.Step("Softmax", "The last layer gives every token of the vocabulary a logit; softmax makes them probabilities."),
    lesson.Step("Greedy", "The most probable word, again and again: is that the most probable sentence?"),
)
@dataclass(frozen=True)
class Params:
    """What the visitor chose: the pair, the optimiser's rule and rate, and the steps that were taken."""

    text: str = link.PAIRS[0][0]
    target: str = link.PAIRS[0][1]
    rule: str = "SGD"
    rate: float = 1.0
    steps: int = 0


def compute(params: Params = Params()) -> AtOnce:
    """The pair through the shipped translator: all places at once, then one after the other."""
    return at_once(default().open(link.MODEL), params.text, params.target)


def thumbnail() -> str:
    """The loss of each place of the opening pair."""
    found = compute()
    return thumbs.bars(found.losses, [token.removeprefix(" ") for token in found.wanted])


def page() -> None:
    """Claim, steps, one picture and its sentence, the control of the step; everything else folded."""
    parts.title(EXHIBIT)
    at, start = lesson.steps(STEPS, SLUG), Params()
    text = state.read("text", start.text)
    with errors.guard():
        params = Params(
            text=text,
            target=state.read("target", link.own(text)),
            rule=state.read(SLUG + "rule", start.rule, state.one_of(tuple(RATES))),
            rate=state.read(SLUG + "rate", start.rate, state.one_of(learn.FACTORS)),
            steps=state.read(SLUG + "steps", start.steps, state.whole(0, MOST)),
        )
        data = ask.submit(("training_and_inference", params.text, params.target), lambda: compute(params), 20 * len(params.text + params.target) + 400)
        origin.tell(model=link.MODEL, text=params.text, beside=params.target)
        told = steps.SHOWN[at](params, data)
        folds(EXHIBIT, SLUG.rstrip("."), STEPS[at].name, told, lambda: None, wait if told.frame is later else lambda: lesson.errata("E54"))
    link.pair(text, start.text)
