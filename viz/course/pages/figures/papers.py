"""Figures of papers on attention, computed from runs of the shipped models: each a drawing with a caption whose numbers are of those runs.

In a notebook a figure displays itself: `alignment(core.open_model("bahdanau-en-es").run("They have a black dog."))`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from core.analysis.heads.head_embedding import classical_mds, js_distances
from core.analysis.heads.head_similarity import pairwise_divergences, stack_rows, text_patterns
from core.checkpoints.manifest import shipped_folder
from core.data.texts import texts
from core.errors import InputError
from core.training import growth
from core.training.growth import Growth, steepest_moment
from viz.course.pages.figures import drawings
from viz.course.pages.figures.drawings import Beams
from viz.labels import head_name, percent
from viz.languages import _, mark
from viz.sources import SOURCES, Source

if TYPE_CHECKING:
    from jaxtyping import Float

    from core.model import Model
    from core.run import Run

Array = np.ndarray
N_TOKENS = 12
"""Tokens of each text in the mean maps of attention sinks; the paper has 16, and our sentences are shorter."""


STOPS = mark(". and ,")
IN_WORDS = {STOPS: mark("periods and commas")}


@dataclass(frozen=True)
class PaperFigure:
    """A figure of a paper drawn from our models: its title, its paper and number, three sentences, and the drawing as SVG."""

    title: str
    key: str
    number: str
    paper: str
    result: str
    difference: str
    svg: str

    @property
    def source(self) -> Source:
        """Return the paper."""
        return SOURCES[self.key]

    def _repr_html_(self) -> str:
        lines = (
            (_("The paper"), self.paper),
            (_("Here"), self.result),
            (_("Different"), self.difference),
            (_("Source"), f"{self.source.reference()}, {self.number}"),
        )
        said = "".join(f"<p><b>{name}.</b> {escape(text)}</p>" for name, text in lines)
        return f'<figure style="max-width:640px"><h4>{escape(self.title)}</h4>{self.svg}<figcaption>{said}</figcaption></figure>'


def sentences() -> list[str]:
    """Return our sentences for measuring heads."""
    return [example.text for name in ("heads_en", "head_maps") for example in texts(name)]


def alignment(run: Run) -> PaperFigure:
    """Draw the alignment of a recurrent translator, as figure 3 of Bahdanau et al."""
    found = run.attention(run.kinds[-1], by="word", writing=True)
    weights = found.weights[0, 0, list(found.rows)]
    queries, keys = found.queries[: len(weights)], found.keys
    best = weights.argmax(-1)
    first = int((best[:-1] - best[1:]).argmax())  # the largest step back
    one, other = (
        _(
            "“{query}” gives {share} to “{key}”",
            query=queries[row],
            share=percent(weights[row].max()),
            key=keys[best[row]],
        )
        for row in (first, first + 1)
    )
    return PaperFigure(
        _("Alignment of a translation"),
        "bahdanau2015",
        _("Figure {n}", n=3),
        _(
            "The weights follow the diagonal where both languages have one order, and jump where English “European Economic Area” becomes French “zone économique européenne”."
        ),
        _(
            "{model} writes “{text}”: {one}, and {other}: the weights jump where noun and adjective change places.",
            model=run.model.name,
            text=run.target_text,
            one=one,
            other=other,
        ),
        _(
            "Spanish in place of French, and a much smaller model. Its weights are softer: the largest of a row is {share} on average, and words before the jump are spread over their neighbours.",
            share=percent(weights.max(-1).mean()),
        ),
        drawings.matrix(weights, queries, keys),
    )


def long_distance(run: Run, layer: int, word: str, targets: Sequence[str]) -> PaperFigure:
    """Draw where all heads of a layer attend from one word of a distant phrase, as figure 3 of Vaswani et al."""
    words, weights = _words(run)
    row = words.index(word)
    columns = [words.index(name) for name in targets]
    shares = weights[layer][:, row, columns].sum(-1)
    best, phrase = int(shares.argmax()), " ".join(targets)
    many = int((shares > 0.5).sum())
    return PaperFigure(
        _("A distant dependency"),
        "vaswani2017",
        _("Figure {n}", n=3),
        _(
            "Many heads of layer 5 of 6 attend from “making” to “more difficult”, the end of its phrase, several words away."
        ),
        _(
            "{head} gives {share} of the attention of “{word}” to “{phrase}”, {n} words later.",
            head=head_name(layer, best),
            share=percent(shares[best]),
            word=word,
            phrase=phrase,
            n=columns[0] - row,
        ),
        _(
            "It is the work of {n} of {heads} heads here, not of many: the mean over the heads of layer {layer} is {share}. The encoder has {layers} layers.",
            n=many,
            heads=len(shares),
            layer=layer,
            share=percent(shares.mean()),
            layers=len(weights),
        ),
        drawings.beams(
            Beams(
                words,
                [(head, _only(weights[layer, head], row)) for head in range(len(shares))],
                _("“{word}”, all heads of layer {layer}", word=word, layer=layer),
            )
        ),
    )


def anaphora(run: Run, layer: int, head: int, word: str, target: str) -> PaperFigure:
    """Draw a head that attends from a pronoun to its noun, as figure 4 of Vaswani et al.: all of it, and the row of the word."""
    words, weights = _words(run)
    row, column = words.index(word), words.index(target)
    shares = weights[layer, :, row, column]
    second = int(np.argsort(-shares)[1])
    return PaperFigure(
        _("A pronoun and its noun"),
        "vaswani2017",
        _("Figure {n}", n=4),
        _(
            "Two heads of layer 5 of 6 seem to resolve “its”: from this word alone their attention is very sharp."
        ),
        _(
            "{head} gives {share} of the attention of “{word}” to “{target}”.",
            head=head_name(layer, head),
            share=percent(shares[head]),
            word=word,
            target=target,
        ),
        _(
            "One head is sharp here, not two: the next of its layer, {head}, gives “{target}” {share}.",
            head=head_name(layer, second),
            target=target,
            share=percent(shares[second]),
        ),
        drawings.beams(
            Beams(words, [(0, weights[layer, head])], _("{head}, all words", head=head_name(layer, head))),
            Beams(
                words,
                [(0, _only(weights[layer, head], row)), (1, _only(weights[layer, second], row))],
                _(
                    "“{word}”, {one} and {other}",
                    word=word,
                    one=head_name(layer, head),
                    other=head_name(layer, second),
                ),
            ),
        ),
    )


def two_tasks(run: Run, *heads: tuple[int, int, int]) -> PaperFigure:
    """Draw two heads that do different things on one sentence, as figure 5 of Vaswani et al.; of each layer, head and the offset of the word it attends to."""
    words, weights = _words(run)
    shares = [float(np.diagonal(weights[layer, head], offset).mean()) for layer, head, offset in heads]
    names = [head_name(layer, head) for layer, head, _offset in heads]
    one, other = (
        _("{head} gives {share} to the word after it", head=name, share=percent(share))
        if offset > 0
        else _("{head} gives {share} to the word before it", head=name, share=percent(share))
        for name, share, (_layer, _head, offset) in zip(names, shares, heads, strict=True)
    )
    return PaperFigure(
        _("Two heads, two tasks"),
        "vaswani2017",
        _("Figure {n}", n=5),
        _("Two heads of layer 5 of 6 follow the structure of the sentence, each in its own way."),
        _("From a word, {one} on average, and {other}.", one=one, other=other),
        _("The tasks of our two heads are positions, not syntax."),
        drawings.beams(
            *(
                Beams(words, [(number, weights[layer, head])], _("{head}, all words", head=name))
                for number, ((layer, head, _offset), name) in enumerate(zip(heads, names, strict=True))
            )
        ),
    )


def token_types(runs: Sequence[Run]) -> PaperFigure:
    """Draw how much each head attends to [CLS], [SEP], periods and commas, and to [SEP] from [SEP], as figure 2 of Clark et al."""

    def share(names: Sequence[str], source: str = "") -> Float[Array, "layer head"]:
        return np.mean([_share(run, names, source) for run in runs], 0)

    types = {"[CLS]": share(["[CLS]"]), "[SEP]": share(["[SEP]"]), STOPS: share([".", ","])}
    separators = {
        mark("other → [SEP]"): share(["[SEP]"], "other"),
        "[SEP] → [SEP]": share(["[SEP]"], "[SEP]"),
    }
    peaks = {
        name: (int(values.mean(1).argmax()), float(values.mean(1).max())) for name, values in types.items()
    }
    last = separators["[SEP] → [SEP]"].mean(1)
    highest = [
        _(
            "to {name} in layer {layer} ({share})",
            name=_(IN_WORDS.get(name, name)),
            layer=layer,
            share=percent(value),
        )
        for name, (layer, value) in peaks.items()
    ]
    return PaperFigure(
        _("Attention to special tokens"),
        "clark2019",
        _("Figure {n}", n=2),
        _(
            "Early heads of BERT-base attend to [CLS], middle ones to [SEP], deep ones to periods and commas; from [SEP] itself more than 90% goes to [SEP]."
        ),
        _(
            "By layer, attention is highest {peaks}; from [SEP] to [SEP] it is {share} in layer {layer}.",
            peaks=_listed(highest),
            share=percent(last.max()),
            layer=int(last.argmax()),
        ),
        _(
            "The order of the three differs: in {model} [SEP] takes most of the deepest layers, and periods and commas little there ({share} in the last). {n} sentences in place of 1,000 segments, with one [SEP] each.",
            model=runs[0].model.name,
            share=percent(types[STOPS].mean(1)[-1]),
            n=len(runs),
        ),
        drawings.dots((_("from every token"), _by_title(types)), (_("to [SEP]"), _by_title(separators))),
    )


def head_map(runs: Sequence[Run]) -> PaperFigure:
    """Draw all heads as points whose distances are those of their patterns, as figure 6 of Clark et al."""
    rows = stack_rows([[text_patterns(run, run.kinds[0])] for run in runs])
    divergences = pairwise_divergences(rows)
    layers, heads, *_sizes = runs[0].attention().weights.shape
    layer = np.repeat(np.arange(layers), heads)
    same, others = layer[:, None] == layer, ~np.eye(len(layer), dtype=bool)
    within, between = divergences[same & others].mean(), divergences[~same].mean()
    found = classical_mds(js_distances(divergences))
    return PaperFigure(
        _("Heads of one layer are alike"),
        "clark2019",
        _("Figure {n}", n=6),
        _(
            "Heads of BERT-base in the plane, by the Jensen-Shannon divergence of their patterns: those of one layer are often close together."
        ),
        _(
            "The mean divergence is {within:.2f} bits between two heads of one layer, and {between:.2f} bits between heads of different layers (maximum 1).",
            within=within,
            between=between,
        ),
        _(
            "{n} heads in place of 144; [CLS] and [SEP] count as one key. The plane holds {share} of the squared distances. The deepest layers are close together because nearly all their attention goes to [SEP].",
            n=len(layer),
            share=percent(found.explained_share),
        ),
        drawings.plane(found.points, layer.tolist(), _("layer")),
    )


def induction_jump(record: Growth, name: str) -> PaperFigure:
    """Draw how an induction head forms within a few steps of a training, and the loss falls, as the phase change of Olsson et al.

    The numbers are the recorded ones of the training.
    """
    scores = record.scores["induction"].reshape(len(record.steps), -1).T
    best = record.best("induction")
    curve, losses = record.curve("induction", best), record.nats
    at = steepest_moment(curve.tolist())
    before, after = record.steps[at : at + 2]
    top = float(np.ceil(max(losses)))
    return PaperFigure(
        _("The jump of induction heads"),
        "olsson2022",
        _("Argument 1"),
        _(
            "Early in training the loss has a bump, and within a short phase heads that attend to what followed last time appear in all models of two layers and more."
        ),
        _(
            "From step {before:,} to {after:,} the induction score of {head} rises from {low:.2f} to {high:.2f}, and the loss at symbols seen before falls from {loss:.2f} to {less:.2f} nats.",
            before=before,
            after=after,
            head=head_name(*best),
            low=curve[at],
            high=curve[at + 1],
            loss=losses[at],
            less=losses[at + 1],
        ),
        _(
            "{model} reads strings that come twice, not language, so almost all of its loss is the jump; our score is the mean weight on what followed last time, on its own strings. Read from the record of the training, not computed now.",
            model=name,
        ),
        drawings.courses(
            record.steps,
            (
                _("induction score"),
                scores,
                best[0] * record.scores["induction"].shape[2] + best[1],
                (0.0, 1.0),
            ),
            (_("loss, nats"), np.array([losses]), 0, (0.0, top)),
        ),
    )


def sinks(runs: Sequence[Run], head: int = 0) -> PaperFigure:
    """Draw the mean scores of one head of each layer over texts of equal length, as figure 2 of Xiao et al."""
    runs = [run for run in runs if len(run.tokens) >= N_TOKENS]
    kind = runs[0].kinds[-1]
    paths = runs[0].attention(kind).paths
    maps = [
        np.mean([run.trace[path.replace("pattern", "scores")][head, :N_TOKENS, :N_TOKENS] for run in runs], 0)
        for path in paths
    ]
    weights = np.mean([run.attention(kind).weights[:, :, 1:N_TOKENS, 0] for run in runs], (0, 3))
    uniform = float((1 / np.arange(2, N_TOKENS + 1)).mean())
    highest = [layer for layer, scores in enumerate(maps) if scores[-1].argmax() == 0]
    twice = int((weights > 2 * uniform).sum())
    return PaperFigure(
        _("Attention sinks"),
        "xiao2024",
        _("Figure {n}", n=2),
        _(
            "Mean scores of Llama-2-7B: the first two layers attend to recent tokens, all deeper ones strongly to the first token."
        ),
        _(
            "At token {n}, head {head} scores the first token highest in layers {layers} of {all}; {many} of {heads} heads give it more than twice what uniform attention would.",
            n=N_TOKENS,
            head=head,
            layers=_listed(highest),
            all=len(maps),
            many=twice,
            heads=weights.size,
        ),
        _(
            "In {model} the sink is weaker and not in every layer: the mean weight of the first token is {share} (uniform: {uniform}). {n} texts of {tokens} tokens in place of 256 of 16; each map has its own scale.",
            model=runs[0].model.name,
            share=percent(weights.mean()),
            uniform=percent(uniform),
            n=len(runs),
            tokens=N_TOKENS,
        ),
        drawings.triangles(
            maps, [_("layer {layer}, head {head}", layer=layer, head=head) for layer in range(len(maps))]
        ),
    )


def _listed(items: Sequence[object]) -> str:
    """Return items as a list in a sentence.

    >>> _listed([0, 1, 4]), _listed(["a"])
    ('0, 1 and 4', 'a')
    """
    *first, last = map(str, items)
    return _("{first} and {last}", first=", ".join(first), last=last) if first else last


def _by_title(values: Mapping[str, Float[Array, "layer head"]]) -> dict[str, Float[Array, "layer head"]]:
    return {_(name): each for name, each in values.items()}


def _words(run: Run) -> tuple[tuple[str, ...], Float[Array, "layer head query key"]]:
    """Return the words that an encoder reads, and its self-attention over them."""
    found = run.attention("self", by="word")
    return found.keys, found.weights


def _only(weights: Float[Array, "query key"], row: int) -> Float[Array, "query key"]:
    """Return the weights of one query; the others are 0."""
    return np.where(np.arange(len(weights))[:, None] == row, weights, 0)


def _share(run: Run, names: Sequence[str], source: str) -> Float[Array, "layer head"]:
    """Return how much each head attends to tokens of these names, the mean over all queries, or those that are a token `source` ("other": are none of the names)."""
    found = run.attention()
    tokens = np.array(run.tokens)
    keys = np.isin(tokens, names)
    queries = {"": tokens != "", "other": ~keys}.get(source, tokens == source)
    return found.weights[:, :, queries][..., keys].sum(-1).mean(-1)


Open = Callable[[str], "Model"]
"""A function that opens a model by its name."""
RAIN, MARY, DOG = (
    "The rain is making the way home more difficult.",
    "Mary has a dog and she loves it.",
    "They have a black dog.",
)
TRANSLATOR, ALIGNER, ENCODER, DECODER, COPIER = (
    "translator-en-es",
    "bahdanau-en-es",
    "bert-mini",
    "gpt-mini",
    "induction-tiny",
)


@dataclass(frozen=True)
class Opening:
    """How a figure is computed from models, and the page of the app with the link that opens the same picture."""

    draw: Callable[[Open], PaperFigure]
    page: str
    query: Mapping[str, str]


def _encoder_head(text: str, layer: int, head: int, word: int | None = None) -> dict[str, str]:
    """Return the link to a head of the translator's encoder on Look, with the touched word."""
    touched = {} if word is None else {"look.word": str(word)}
    return {
        "model": TRANSLATOR,
        "text": text,
        "kind": "self",
        "layer": str(layer),
        "head": str(head),
        **touched,
    }


def _patterns(open_model: Open, name: str, *more: str) -> list[Run]:
    """Return the runs of a model on our sentences, with the values that a figure needs."""
    return open_model(name).run_many(sentences(), keep=("*.pattern", *more))


FIGURES: Mapping[str, Opening] = {
    "alignment": Opening(
        lambda open_model: alignment(open_model(ALIGNER).run(DOG)),
        "look",
        {"model": ALIGNER, "text": DOG, "view": "full"},
    ),
    "distant": Opening(
        lambda open_model: long_distance(
            open_model(TRANSLATOR).run(RAIN), 2, "making", ("more", "difficult")
        ),
        "look",
        _encoder_head(RAIN, 2, 6, word=3),
    ),
    "pronoun": Opening(
        lambda open_model: anaphora(open_model(TRANSLATOR).run(MARY), 1, 5, "she", "Mary"),
        "look",
        _encoder_head(MARY, 1, 5, word=5),
    ),
    "two_tasks": Opening(
        lambda open_model: two_tasks(open_model(TRANSLATOR).run(RAIN), (0, 0, 1), (2, 1, -1)),
        "compare",
        {"model": TRANSLATOR, "text": RAIN, "compare.panes": f"{TRANSLATOR}~self~0.0|{TRANSLATOR}~self~2.1"},
    ),
    "special": Opening(
        lambda open_model: token_types(_patterns(open_model, ENCODER)),
        "find",
        {"model": ENCODER, "find.by": "scatter", "find.x": "layer", "find.y": "separator"},
    ),
    "map": Opening(
        lambda open_model: head_map(_patterns(open_model, ENCODER)),
        "find",
        {"model": ENCODER, "find.by": "map"},
    ),
    "jump": Opening(
        lambda _: induction_jump(recorded_growth(COPIER), COPIER),
        "growth",
        {"model": COPIER, "growth.of": COPIER},
    ),
    "sinks": Opening(
        lambda open_model: sinks(_patterns(open_model, DECODER, "*.scores")),
        "look",
        {"model": DECODER, "text": RAIN, "kind": "causal", "layer": "1", "head": "0", "view": "heads"},
    ),
}


def recorded_growth(name: str) -> Growth:
    """Return what was measured along the training of a shipped model. Raises InputError where nothing was."""
    found = growth.read(shipped_folder() / name)
    if found is None:
        raise InputError(
            _("{model} has no record of its training.", model=name),
            _("It is in {file}.", file=growth.FILE),
            _("Choose a model that has one."),
        )
    return found
