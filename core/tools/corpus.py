"""Measure every head of a shipped model over a corpus: `python -m core.tools.corpus NAME --data DIR`.

Writes assets/heads/NAME.json.gz, from which the page of a head takes its strongest rows and those of the deciles. Models that learned from
books read held-out passages of books and held-out sentences, translators held-out pairs, all others the texts of their own task. Only the tokens
around each row are stored.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from core.analysis.heads.corpus import evenly, head_corpus
from core.analysis.heads.corpus_file import ModelCorpus, Source, corpus_path, write_corpus
from core.analysis.heads.corpus_writes import add_writes
from core.analysis.heads.head_file import weights_hash
from core.checkpoints import store
from core.data.corpora import BOOKS, NEW_TEXT, PAIRS, find_file, read_lines
from core.data.texts import Example
from core.edits import ZeroHead
from core.errors import InputError
from core.model import Model
from core.scoring.over_texts import over
from core.scoring.progress import progress
from core.trace import Edit
from core.training.recipe import SEED, recipes, untrained

PROSE_TEST, SENTENCES_TEST, PAIRS_TEST = (
    "prose_children/test.txt",
    "english_sentences/test.txt",
    "translation_tatoeba/en-es.test.tsv",
)
N_PROSE, N_SENTENCES, N_PAIRS = 1400, 600, 2000
FEWEST_WORDS, MOST_WORDS = 24, 48
"""Words of a paragraph that is taken, and those that are read of it."""
CONTROLS = 500
"""Passages that are read again as controls."""
EFFECTS = 60
"""Passages on which the loss is measured without each head."""
BOOKS_SOURCE = "children's books from Project Gutenberg, test split", "public domain"
TATOEBA = "{} from Tatoeba (tatoeba.org), test split", "CC BY 2.0 FR"


def passages(model: Model, data: Path | None) -> tuple[list[Example], tuple[Source, ...]]:
    """Return the passages for a model and where they are from. Raises InputError where they are not in the folder `data`."""
    recipe = recipes().get(model.name)
    reads = recipe.reads if recipe else None
    if reads not in (BOOKS, PAIRS):
        own = list(recipe.examples()) if recipe else []
        return own, (Source("texts of its own task", len(own), "Apache-2.0", is_own_task=True),)
    if data is None:
        raise InputError(
            f"The passages of {model.name} are in a folder.", "It is the one of --data.", "Give --data DIR."
        )
    if reads == PAIRS:
        rows = [line.split("\t")[:2] for line in read_lines(find_file(data, PAIRS_TEST))]
        pairs = [Example(text, target) for text, target in evenly(rows, N_PAIRS)]
        return pairs, (Source(TATOEBA[0].format("sentence pairs"), len(pairs), TATOEBA[1]),)
    prose = [Example(text) for text in evenly(list(_paragraphs(data)), N_PROSE)]
    lines = list(read_lines(find_file(data, SENTENCES_TEST)))
    short = [Example(text) for text in evenly(lines, N_SENTENCES)]
    return prose + short, (
        Source(BOOKS_SOURCE[0], len(prose), BOOKS_SOURCE[1]),
        Source(TATOEBA[0].format("sentences"), len(short), TATOEBA[1]),
    )


def _paragraphs(data: Path) -> Iterator[str]:
    """Yield the beginnings of the paragraphs of the books that no model has read."""
    for line in read_lines(find_file(data, PROSE_TEST)):
        words = line.split()
        if len(words) >= FEWEST_WORDS and not line.startswith(NEW_TEXT):
            yield " ".join(words[:MOST_WORDS])


def effects(model: Model, texts: Sequence[str]) -> Mapping[str, np.ndarray]:
    """Return how much the loss grows, in nats a token, without each head; {} for a model whose loss takes more than one reading of a text."""
    if not model.can("score_words") or model.can("fill_blanks") or model.spec.has_source:
        return {}

    def loss(*edits: Edit) -> float:
        return over(model, texts, "loss", edits=edits, progress=False).mean

    found, whole = {}, loss()
    for kind in model.spec.kinds_of(model.config):
        shape = kind.n_layers(model.config), model.config.n_heads
        table = [
            loss(ZeroHead(kind.path(layer, ZeroHead.leaf), head)) - whole for layer, head in np.ndindex(shape)
        ]
        found[kind.name] = np.reshape(table, shape)
    return found


def measure_heads(name: str, data: Path | None) -> tuple[ModelCorpus, int]:
    """Measure every head of a shipped model over its corpus, beside an untrained copy, and write the file.

    Returns the measurements and the size of the file in bytes. Raises InputError for a model without attention.
    """
    folder = store.shipped_folder() / name
    model = store.load_model(folder, name, shipped=True)
    if not model.spec.kinds_of(model.config):
        raise InputError(f"{name} has no attention.", "A corpus is one of heads.", "Choose another model.")
    texts, sources = passages(model, data)
    with progress(None, "batch") as bar:
        kinds = head_corpus(
            model, texts, untrained(model), controls=CONTROLS, seed=SEED, progress=lambda *_: bar.update(1)
        )
    changed = effects(model, [one.text for one in evenly(texts, EFFECTS)])
    kinds = {kind: replace(found, effect=changed.get(kind)) for kind, found in kinds.items()}
    kinds = add_writes(model, texts, kinds)
    corpus = ModelCorpus(sources, kinds, SEED)
    return corpus, write_corpus(corpus_path(name), corpus, weights_hash(folder))


def main(argv: list[str] | None = None) -> int:
    ask = argparse.ArgumentParser(
        prog="python -m core.tools.corpus", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    ask.add_argument("name", help="a shipped model")
    ask.add_argument("--data", type=Path, help="the folder of the training sets")
    given = ask.parse_args(argv)
    try:
        corpus, size = measure_heads(given.name, given.data)
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    for kind, found in corpus.kinds.items():
        print(f"{kind:10} {found.n} of {corpus.n} passages, {size / 1e3:.0f} kB")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
