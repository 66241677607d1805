"""Computed sections of a card, from the files in its folder."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import prod
from pathlib import Path

from core.analysis.heads.head_file import HeadMeasures, read_heads
from core.checkpoints.files import json_object
from core.checkpoints.record import Training, read_training
from core.checkpoints.scores import MEASURES, TABLES, Score, by_part, read_scores
from core.checkpoints.weights import SINGLE, find_weights
from core.tools import card_curve, card_heads
from core.tools.card_template import first_paragraph, replace_places
from core.wording import _, mark

CURVE = "curve.svg"
NAMES = {
    "loss": mark("loss in training"),
    "valid_nats": mark("nats per token on valid"),
    "valid_nats_forward": mark("on valid, forward"),
    "valid_nats_backward": mark("on valid, backward"),
    "document_nats": mark("nats per document on valid"),
    "nats": mark("nats per drawing on valid"),
    "squared_error": mark("squared error on valid"),
}
SIZES = {
    "family": mark("Family"),
    "n_layers": mark("Layers"),
    "n_heads": mark("Heads"),
    "d_model": mark("Width"),
    "d_ff": mark("Inner width"),
    "n_levels": mark("Levels of the pyramid"),
    "n_bands": mark("Bands of pitch in a frame"),
    "parts": mark("Kinds of block"),
    "n_dense": mark("Convolutions a layer"),
    "n_filters": mark("Filters of a convolution"),
    "image": mark("Side of a picture, pixels"),
    "patch": mark("Side of a patch, pixels"),
    "channels": mark("Channels"),
    "n_decoder_layers": mark("Layers of the decoder"),
    "grid": mark("Cells on each side"),
    "gate": mark("Gate"),
    "d_hidden": mark("Width of a state"),
    "residual": mark("Layers add to what they were given"),
    "n_vocab": mark("Vocabulary"),
    "n_ctx": mark("Context, tokens"),
    "n_segments": mark("Segments"),
    "cell": mark("Cell"),
    "classes": mark("Classes"),
    "bidirectional": mark("Reads both ways"),
    "attention": mark("Attention"),
    "score": mark("Score"),
    "window": mark("Words to each side of the position"),
    "layout": mark("Mask"),
    "block": mark("Tokens in a block"),
    "n_global": mark("Global blocks"),
    "n_random": mark("Random blocks a row"),
    "input_feeding": mark("Fed with its last output"),
    "activation": mark("Activation"),
    "order": mark("Norm"),
    "dropout": mark("Dropout in training"),
}
FAMILY_SIZES = {
    "bigbird": {"window": mark("Blocks in the window")},
    "captioner": {"d_ff": mark("Hidden units of the score")},
    "las": {"d_ff": mark("Hidden units of the score")},
}
"""Where a family means something else by a size."""
NUMBERS = {
    "bleu_by_length": "{:.1f}",
    "induction_score_by_offset": "{:.3f}",
    "ms_by_length": "{:,.0f}",
    "mb_by_length": "{:,.1f}",
}
"""How the numbers of a table are said that are no shares."""
VALUE_TEXTS = {
    "pre": mark("before each sub-layer"),
    "post": mark("after each sum"),
    True: mark("yes"),
    False: mark("no"),
}


UNTRAINED = mark(
    "*Untrained*: the same head of a copy whose weights were drawn anew (seed {seed}) and not trained; *its best*: the best of all heads of that copy."
)
EXPLAINED = {
    "own": mark(
        "A score is the mean share of a head's attention on that place, over held-out items of its own task."
    ),
    "pairs": mark(
        "A score is the mean share of a head's attention on that place, over `assets/texts/heads_en-es.tsv`."
    ),
    "battery": mark(
        "A score is the mean share of a head's attention on that place (*near-uniform*: of the largest possible entropy), over the groups of "
        "`assets/texts/battery.tsv`, for attention from a text that is written over `heads_en-es.tsv`. *Shuffled*: the same with the words in "
        "another order. *Other words*: what the other words of the sentence give to the same word; a head has found it only if its score is well "
        "above that."
    ),
}
"""Meaning of the columns, by the texts that were measured."""


def compute_places(folder: Path) -> dict[str, str]:
    """Return the Markdown of every computed place of the card of this folder. Raises InputError for files that are not understood."""
    training, heads = read_training(folder), read_heads(folder)
    return {
        "architecture": architecture(folder),
        "training": "" if training is None else training_section(training),
        "curve": "" if picture(folder) is None else f"![Loss over steps]({CURVE})",
        "scores": scores_section(read_scores(folder), folder.name),
        "heads": "It has no attention." if heads is None else heads_section(heads),
    }


def card_in_reader_language(card: str, folder: Path) -> str:
    """Return a card whose first paragraph, sizes, training and scores are in the reader's language; its other prose is English."""
    training = read_training(folder)
    contents = {
        "architecture": architecture(folder),
        "training": "" if training is None else training_section(training),
        "scores": scores_section(read_scores(folder), folder.name),
    }
    opening = first_paragraph(card)
    return replace_places(card, contents).replace(opening, _(" ".join(opening.split())), 1)


def architecture(folder: Path) -> str:
    """Return the sizes of config.json and the exact number of parameters that are stored."""
    config, weights = json_object(folder, "config.json"), find_weights(folder).scaled()
    idle = _idle(config)
    rows = [
        (_(words), _value(config[name]))
        for name, words in (SIZES | FAMILY_SIZES.get(str(config["family"]), {})).items()
        if config.get(name) is not None and name not in idle
    ]
    if "n_heads" in config and "n_heads" not in idle:
        rows.append((_("Width of a head"), f"{config['d_model'] // config['n_heads']}"))
    n = sum(prod(entry.shape) for entry in weights.entries.values())
    form = _("matrices of 8 bits with a scale a row") if weights.scales else "float16"
    size = (folder / SINGLE).stat().st_size / 1e6
    rows.append((_("Parameters"), _("{n:,}, stored as {form} in {size:.1f} MB", n=n, form=form, size=size)))
    return table(("", ""), rows)


def _idle(config: Mapping[str, object]) -> set[str]:
    """Return the fields that a model makes no use of: a GPT of attention alone, a SNAIL of one kind of block, a recurrent translator by its attention."""
    if config["family"] == "snail":
        return {"both": set[str](), "convolutions": {"n_heads"}, "attention": {"n_dense", "n_filters"}}[
            str(config["parts"])
        ]
    if config["family"] != "seq2seq":
        return {"d_ff", "activation"} if config.get("attention_only") else set()
    attention, unused = str(config["attention"]), {"n_heads"}
    unused |= {"score", "d_ff"} if attention == "none" else set()
    unused |= {"d_ff"} if config["score"] != "concat" and attention != "luong-local-p" else set()
    unused |= set() if attention.startswith("luong") else {"input_feeding"}
    return unused if "local" in attention else unused | {"window"}


def _value(value: object) -> str:
    if isinstance(value, bool) or value in ("pre", "post"):
        return _(VALUE_TEXTS[value])  # pyright: ignore
    if isinstance(value, list):
        return ", ".join(map(_value, value))
    return _("{n:,}", n=value) if isinstance(value, int) else str(value).replace("_", " ")


def training_section(training: Training) -> str:
    """Return the command, seed, steps, tokens, minutes and machine of training.json."""
    versions = ", ".join(
        f"{name.capitalize() if name == 'python' else name} {version}"
        for name, version in training.versions.items()
    )
    said = _(
        "`{command}`, seed {seed}: {steps:,} steps, {tokens:,} tokens, {minutes:,.1f} minutes on {machine}; {versions}.",
        command=training.command,
        seed=training.seed,
        steps=training.steps,
        tokens=training.tokens,
        minutes=training.minutes,
        machine=training.machine,
        versions=versions,
    )
    return "\n\n".join(filter(None, (said, training.note)))


def picture(folder: Path) -> str | None:
    """Return the curve of the training as SVG; None where there is no log to draw."""
    training = read_training(folder)
    lines: dict[str, list[tuple[float, float]]] = {}
    if training is not None:
        lines = {words: training.curve(name) for name, words in NAMES.items()}
    lines = {words: points for words, points in lines.items() if points}
    return card_curve.draw_svg(lines, f"Training of {folder.name}") if lines else None


def scores_section(scores: Sequence[Score], name: str) -> str:
    """Return a table for each split, the model above its baselines, then the measures that have parts, one sentence each."""
    parts: list[str] = []
    for split in dict.fromkeys(score.split for score in scores):
        here = {(score.subject, score.measure): score.value for score in scores if score.split == split}
        shown = [measure for measure in MEASURES if any(measure == of[1] for of in here)]
        owners = sorted(
            dict.fromkeys(of for of, measure in here if measure in MEASURES), key=lambda of: of != name
        )
        cells = [
            (_(of), *(_score(here[of, m], MEASURES[m].number) if (of, m) in here else "" for m in shown))
            for of in owners
        ]
        if cells:
            parts.append(table((_(split), *(_(MEASURES[m].words) for m in shown)), cells))
        own = [
            of
            for of in dict.fromkeys(s.subject for s in scores if s.split == split)
            if of.startswith(f"{name} with ")
        ]
        for of in (name, *own):  # then its weights under another mask
            whose = of.removeprefix(name).strip()
            on = f"{_(split)}, {_(whose)}" if whose else _(split)
            sentences = part_sentences(scores, split, of)
            parts += [_("On {split}, {sentence}", split=on, sentence=sentence) for sentence in sentences]
    return "\n\n".join(parts)


def part_sentences(scores: Sequence[Score], split: str, subject: str) -> list[str]:
    """Return one sentence for each measure that is split into parts; for BLEU by length also the ratio of the longest third to the shortest.

    >>> part_sentences([Score("bleu_by_length, 6-20 words", "test", "m", 44.0), Score("bleu_by_length, 2-5 words", "test", "m", 55.0)], "test", "m")
    ['BLEU (beam search of 4) by length of the source: 2-5 words 55.0, 6-20 words 44.0. Longest to shortest third: 0.80.']
    """
    sentences: list[str] = []
    for table, words in TABLES.items():
        rows = by_part(scores, table, split, subject)
        number = NUMBERS.get(table, "{:.1%}")
        if rows:
            parts = ", ".join(f"{_(part)} {_score(value, number)}" for part, value in rows.items())
            sentences.append(_("{words}: {parts}.", words=_(words), parts=parts))
        if rows and table == "bleu_by_length":
            first, last = next(iter(rows.values())), next(reversed(rows.values()))
            ratio = f"{last / first:.2f}" if first else _("undefined")
            sentences[-1] += " " + _("Longest to shortest third: {ratio}.", ratio=ratio)
    return sentences


def _score(value: float, number: str) -> str:
    """Return a number in its form, such as "{:.1f}", with the marks of the reader's language."""
    return _(number.replace(":", "value:"), value=value)


def heads_section(heads: HeadMeasures) -> str:
    """Return a table of the clearest head of each habit, then of the heads that attend to linked words, each compared with the untrained copy."""
    parts: list[str] = []
    for rows, what, control in (
        (card_heads.habits(heads), "looks at", "shuffled"),
        (card_heads.linked(heads), "should find", "other words"),
    ):
        if rows:
            cells = [(row.attention, row.words, row.name, *row.numbers) for row in rows]
            parts.append(table(("attention", what, "head", "score", control, "untrained", "its best"), cells))
    return "\n\n".join((*parts, column_notes(heads)))


def column_notes(heads: HeadMeasures) -> str:
    """Return a sentence that explains the columns of `heads_section`."""
    columns = EXPLAINED["own" if heads.own_items else "battery" if card_heads.linked(heads) else "pairs"]
    return f"{_(columns)} {_(UNTRAINED, seed=heads.seed)}"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table.

    >>> print(table(("a", ""), [("1|2", "3")]))
    | a |  |
    | --- | --- |
    | 1\\|2 | 3 |
    """
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)
