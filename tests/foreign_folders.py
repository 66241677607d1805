"""Tiny random models in Hugging Face folders, as people have them: of the Llama kind and of the RoBERTa kind."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from kind_shapes import random_network, tiny

from core.checkpoints.foreign import formats
from core.data.texts import texts
from core.model import Model
from core.models import families
from core.text import Tokenizer
from core.text.learn import learn_byte_level_bpe, learn_wordpiece
from core.tools.export import export_model

MARKS = ("<pad>", "<start>", "<end>")
NAMES = {"tiny-llama": "llama", "tiny-roberta": "roberta"}


def write(folder: Path, name: str = "tiny-llama", seed: int = 5) -> Path:
    """The folder `name` in `folder`, every weight drawn anew from this seed."""
    kind = NAMES[name.partition("@")[0]]
    spec = families()[formats()[kind].family]
    rows = [row for row in texts("presets") if row.kind not in ("recall", "genre")]
    lines = [text for row in rows for text in (row.text, row.second)] * 2
    backend = (
        learn_wordpiece(lines, 500)
        if spec.framed
        else learn_byte_level_bpe(lines, 400, MARKS, prefix_space=False)
    )
    ids = {"pad": 0, "start": 2, "end": 3, "mask": 4} if spec.framed else {"pad": 0, "start": 1, "end": 2}
    config = replace(tiny(kind), n_vocab=backend.get_vocab_size(), n_ctx=180)
    network = random_network(spec, config, seed)
    model = Model(name, spec, config, network, Tokenizer(backend, **ids), f"A tiny random {kind}.")
    return export_model(model, folder / name)
