"""Small random models written as folders, and an engine that serves nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import core.serving.engine
from core.analysis.heads.habits import HeadHabits
from core.checkpoints import manifest, store
from core.data.episodes import SIGNS
from core.data.tasks import COPY_LETTERS, PROMPT_LETTERS, PROMPTS
from core.data.texts import texts
from core.model import Model
from core.models import families
from core.serving.engine import Engine
from core.text.learn import character_tokenizer, learn_byte_level_bpe, learn_word_list, learn_wordpiece
from core.training.recipes.speller import LETTERS

MARKS = ("<pad>", "<start>", "<end>")
ATTENTIONS = {
    "bahdanau": {},
    "luong-global": {"score": "general", "input_feeding": True},
    "luong-local-m": {"score": "dot"},
    "none": {},
}
MODELS = {
    "tiny-gpt": ("gpt", {}),
    "tiny-translator": ("transformer", {}),
    **{name: ("seq2seq", {"attention": name, **more}) for name, more in ATTENTIONS.items()},
    "tiny-llama": ("llama", {}),
    "tiny-t5": ("t5", {}),
    "tiny-bert": ("bert", {}),
    "tiny-bigbird": (
        "bigbird",
        {"block": 4, "window": 3, "n_global": 2, "n_random": 1, "pooler": False, "next_sentence": False},
    ),
    "tiny-elmo": ("elmo", {}),
    "tiny-albert": ("albert", {}),
    "tiny-han": ("han", {}),
    "copy-lstm-attention": ("seq2seq", {"attention": "luong-global", "score": "general"}),
    "prompt-tiny": ("gpt", {}),
    "snail-recall": ("snail", {}),
    "speller": ("las", {}),
}
TOYS = {
    "copy-lstm-attention": lambda: character_tokenizer(COPY_LETTERS, (*MARKS, "<unk>")),
    "prompt-tiny": lambda: character_tokenizer(
        ":=" + PROMPT_LETTERS, (*MARKS, "<unk>"), words=tuple(PROMPTS)
    ),
    "snail-recall": lambda: character_tokenizer(SIGNS, (*MARKS, "<unk>")),
    "speller": lambda: character_tokenizer(LETTERS, (*MARKS, "<unk>")),
}


WRITES = 12
"""Tokens of a translation that finds no end, as random weights find none; more for a long text."""


def write(folder: Path, name: str) -> Path:
    """One model, every weight drawn anew."""
    family, changes = MODELS[name]
    framed = families()[family].framed
    by_sentence = families()[family].sentences
    rows = [row for row in texts("presets") if row.kind != "recall" and (row.kind == "genre") == by_sentence]
    lines = [text for row in rows for text in (row.text, row.second)] * 2
    backend = (
        TOYS[name]()
        if name in TOYS
        else learn_wordpiece(lines, 500)
        if framed
        else learn_word_list(lines, 400)
        if by_sentence
        else learn_byte_level_bpe(lines, 400, MARKS, prefix_space=families()[family].has_source)
    )
    folder.mkdir(parents=True, exist_ok=True)
    backend.save(str(tokenizer := folder / f"{name}.json"))
    config = replace(families()[family].config.tiny(), n_vocab=backend.get_vocab_size(), n_ctx=180, **changes)
    torch.manual_seed(5)
    network = families()[family].network(config)
    for weight in network.parameters():
        torch.nn.init.normal_(weight, std=0.3)
    ids = {"pad": 0, "start": 2, "end": 3, "mask": 4} if framed else {"pad": 0, "start": 1, "end": 2}
    ids = {"pad": 0} if by_sentence else ids
    return store.save_model(
        folder / name,
        family=family,
        config=config,
        weights=network.state_dict(),
        tokenizer=tokenizer,
        ids=ids,
        training={},
    )


def _unmeasured(model: Model) -> dict[str, HeadHabits]:
    """The heads without their habits: measuring them takes longer than most tests."""
    spec, config = model.spec, model.config
    shapes = {kind.name: (kind.n_layers(config), config.n_heads) for kind in spec.kinds_of(config)}
    return {
        name: HeadHabits({"first": np.full(shape, 0.1), "spread": np.full(shape, 0.9)}, 1)
        for name, shape in shapes.items()
    }


@contextmanager
def behind_pages(patch: pytest.MonkeyPatch, folder: Path) -> Iterator[Engine]:
    """The models of this folder, and no others, behind the pages."""
    patch.setattr(manifest, "shipped_folder", lambda: folder / "none")
    patch.setenv("ATLAS_MODELS", str(folder))
    with Engine() as engine:
        patch.setattr(core.serving.engine, "_default", engine)
        patch.setattr("viz.workspace.shared.head_survey.survey", lambda name: _unmeasured(engine.open(name)))
        yield engine


@contextmanager
def served(patch: pytest.MonkeyPatch, folder: Path, *names: str) -> Iterator[Engine]:
    """These models, and no others, behind the pages, which take them for models of ours."""
    for name in names:
        write(folder, name)
    patch.setattr("core.reading.provenance.is_foreign", lambda name: False)
    for module in ("viz.workspace.what_if.data", "core.reading.bounds", "core.model"):
        patch.setattr(f"{module}.WRITES", WRITES)
    with behind_pages(patch, folder) as engine:
        yield engine


def serving(
    *names: str,
    autouse: bool = False,
    models: Mapping[str, tuple[str, dict[str, Any]]] = {},
    changed: Sequence[tuple[Any, str, Any]] = (),
) -> Any:
    """Return a fixture for a module: an engine with these models, and no others; `models`: also random ones by other names, `changed`: what is patched."""

    @pytest.fixture(scope="module", autouse=autouse)
    def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
        with pytest.MonkeyPatch.context() as patch:
            for name, model in models.items():
                patch.setitem(MODELS, name, model)
            for change in changed:
                patch.setattr(*change)
            with served(patch, tmp_path_factory.mktemp("models"), *names, *models) as only:
                yield only

    return engine


def stand_ins(models: Mapping[str, tuple[str, dict[str, Any]]]) -> Any:
    """Return the fixture of a file whose pages open random models under the names of shipped ones."""
    return serving(autouse=True, models=models)
