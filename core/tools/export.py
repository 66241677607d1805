"""Write a model as a folder in Hugging Face format: `python -m core.tools.export NAME OUT [--dtype float16]`.

The tensors are those that reading such a folder takes, the other way round: there is one list of names.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tokenizers
import torch
from safetensors.torch import save_file

from core.checkpoints import open_model
from core.checkpoints.files import printable
from core.checkpoints.foreign import BAD_WORDS, FIRST, Format, formats
from core.checkpoints.load import GENERATION
from core.checkpoints.tokenizer import FILE, RULES
from core.checkpoints.weights import SINGLE
from core.checkpoints.writing import fitting, whole_folder, write_json
from core.errors import InputError
from core.model import Model
from core.text import PieceTokenizer
from core.text.learn import add_frame
from core.tools.card_template import remove_places

DTYPES: Mapping[str, torch.dtype] = {"float32": torch.float32, "float16": torch.float16}
SPECIAL = "special_tokens_map.json"


def export_model(model: Model, out: Path, dtype: str = "float32") -> Path:
    """Return a folder that `transformers` and `open_model` open, with the same numbers.

    The card, which holds the terms, goes with it.
    Raises InputError: a kind of model that has no such folder, a place that is taken, a number that does not fit.
    """
    if model.head is not None:
        rule = (
            "Bodies, and heads for words, are written; the head of a fine-tuned model was not trained here."
        )
        raise InputError(f"{model.name} has a head for {model.head.output}.", rule, "Use its own folder.")
    form, said = _form(model)
    if out.exists() and not (out.is_dir() and not any(out.iterdir())):
        raise InputError(
            f"'{printable(out.name)}' exists and is not empty.",
            "Nothing is written over.",
            "Name a new folder.",
        )
    ours = model.network.state_dict()
    stored = {
        form.full(take.name): fitting(take.name, take.to_stored(ours), DTYPES[dtype])
        for take in form.takes(model.config)
    }
    backend = tokenizers.Tokenizer.from_str(model.tokenizer.to_json())
    marks = _special_tokens(model, backend)
    if isinstance(model.tokenizer, PieceTokenizer):
        files, reader = model.tokenizer.files, "MarianTokenizer"
    else:
        if model.spec.framed:
            add_frame(backend, marks["cls_token"], marks["sep_token"])
        files, reader = {FILE: backend.to_str().encode()}, "PreTrainedTokenizerFast"
    with whole_folder(out) as new:
        save_file(stored, new / SINGLE, metadata={"format": "pt"})
        write_json(new / "config.json", {**_ids(model), **said, "torch_dtype": dtype})
        writing = {BAD_WORDS: model.bad_words or None, FIRST: model.first}
        if any(value is not None for value in writing.values()):
            write_json(new / GENERATION, {**_ids(model), **writing})
        for file, content in files.items():
            (new / file).write_bytes(content)
        write_json(new / RULES, {**marks, "tokenizer_class": reader, **_reading(model)})
        write_json(new / SPECIAL, marks)
        if model.card:
            (new / "README.md").write_text(
                remove_places(model.card, "curve"), encoding="utf-8"
            )  # the picture stays behind
    return out


def _form(model: Model) -> tuple[Format, dict[str, Any]]:
    """Return the format that can express this config, and the values of its config.json."""
    for form in formats().values():
        values = form.values(model.config)
        if values is not None:
            head = {
                "model_type": form.config_model_type or form.model_type,
                "architectures": [form.class_of(model.config)],
            }
            return form, {**head, "tie_word_embeddings": True, **values}
    known = ", ".join(sorted({form.family for form in formats().values()}))
    if any(form.family == model.family for form in formats().values()):
        wrong = f"No Hugging Face format holds a {model.family} of this shape: {printable(repr(model.config), 300)}."
    else:
        wrong = f"{model.name} is a {model.family}, which has no Hugging Face format."
    raise InputError(
        wrong, f"Families that are written: {known}.", "Use the folder as it is, with core.open_model."
    )


def _ids(model: Model) -> dict[str, int | None]:
    tokenizer = model.tokenizer
    if model.spec.framed:
        return {"pad_token_id": tokenizer.pad}
    if model.spec.has_source:
        marks = {"decoder_start": tokenizer.start, "eos": tokenizer.end, "pad": tokenizer.pad}
        return {f"{name}_token_id": index for name, index in marks.items()}
    return {"bos_token_id": tokenizer.start, "eos_token_id": tokenizer.end, "pad_token_id": tokenizer.pad}


def _special_tokens(model: Model, backend: tokenizers.Tokenizer) -> dict[str, str]:
    """Return the special tokens by the library's names for them."""
    names = {"start": "cls", "end": "sep"} if model.spec.framed else {"start": "bos", "end": "eos"}
    ids = {
        name: getattr(model.tokenizer, mark) for mark, name in {**names, "pad": "pad", "mask": "mask"}.items()
    }
    marks = {
        f"{name}_token": str(backend.id_to_token(index)) for name, index in ids.items() if index is not None
    }
    return marks | ({"unk_token": "[UNK]"} if "[UNK]" in model.tokenizer.special_tokens else {})


def _reading(model: Model) -> dict[str, Any]:
    parted = model.spec.framed and model.config.n_segments > 1
    segments = ["token_type_ids"] if parted else []
    inputs = ["input_ids", *segments, "attention_mask"]
    return {
        "model_max_length": model.config.n_ctx,
        "model_input_names": inputs,
        "clean_up_tokenization_spaces": False,
    }


def main(argv: list[str] | None = None) -> int:
    ask = argparse.ArgumentParser(prog="python -m core.tools.export", description=__doc__)
    ask.add_argument("name", help="a shipped model, or a folder")
    ask.add_argument("out", type=Path, help="the folder to write: new, or empty")
    ask.add_argument("--dtype", choices=DTYPES, default="float32", help="how numbers are stored")
    opts = ask.parse_args(argv)
    try:
        print(f"saved {export_model(open_model(opts.name), opts.out.absolute(), opts.dtype)}")
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
