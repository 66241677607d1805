"""GGUF files of the Llama kinds, as llama.cpp, Ollama and LM Studio keep them: dequantised with the gguf library.

Names, sizes and switches are told to the reader of Hugging Face folders in its own words, so every check of those holds here.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from core.checkpoints.files import inside, shown
from core.checkpoints.foreign import MORE_ENDS, plan_foreign
from core.checkpoints.safety.gguf_header import AGAIN, GGUFHeader, Stored, bad, read_gguf_header
from core.checkpoints.safety.load_plan import Plan
from core.checkpoints.safety.safetensors_header import Entry
from core.checkpoints.tokenizer import FILE, Reading
from core.checkpoints.weights import Weights
from core.errors import InputError

SUFFIX = ".gguf"
KINDS = ("llama", "qwen2", "qwen3")
SIZES = {
    "embedding_length": "hidden_size",
    "feed_forward_length": "intermediate_size",
    "block_count": "num_hidden_layers",
    "attention.head_count": "num_attention_heads",
    "attention.head_count_kv": "num_key_value_heads",
    "attention.key_length": "head_dim",
    "context_length": "max_position_embeddings",
    "attention.layer_norm_rms_epsilon": "rms_norm_eps",
    "rope.freq_base": "rope_theta",
    "attention.sliding_window": "sliding_window",
}
"""What GGUF calls behind the kind's name what a Hugging Face config calls otherwise."""
WHOLE = {
    "token_embd.weight": "model.embed_tokens.weight",
    "output_norm.weight": "model.norm.weight",
    "output.weight": "lm_head.weight",
}
PARTS = {
    "attn_norm": "input_layernorm",
    "ffn_norm": "post_attention_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "attn_q_norm": "self_attn.q_norm",
    "attn_k_norm": "self_attn.k_norm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
LAYER = re.compile(r"blk\.(\d+)\.(\w+)\.(weight|bias)")
DIGITS: list[dict[str, Any]] = [{"type": "Digits", "individual_digits": True}]
CUTS: Mapping[str, list[dict[str, Any]]] = {"gpt-2": [], "smollm": DIGITS}
"""What cuts a text before byte-level BPE's own rule does, by the name that the file gives."""
CONTROL, USER = 3, 4
"""Types of tokens that are no pieces of text."""


@dataclass(frozen=True)
class Dequantised(Weights):
    """The tensors of a GGUF file by the names of a Hugging Face folder, each read and dequantised when asked for."""

    in_files: ClassVar[bool] = False
    tensors: Mapping[str, Stored] = field(default_factory=dict)
    begin: int = 0
    turned: Mapping[str, int] = field(default_factory=dict)

    @property
    def precisions(self) -> tuple[str, ...]:
        kinds = _library().GGMLQuantizationType
        return tuple(sorted({kinds(stored.kind).name for stored in self.tensors.values()}))

    def _held(self, entry: Entry, name: str) -> Tensor:
        gguf, stored, file = _library(), self.tensors[name], entry.file
        kind = _numbers(file, name, stored)
        block, size = gguf.GGML_QUANT_SIZES[kind]
        n_bytes = prod(stored.shape) // block * size
        place = self.begin + stored.begin
        if prod(stored.shape) % block or place + n_bytes > file.stat().st_size:
            raise bad(file, f"the bytes of '{shown(name)}' do not fit its shape, or are cut off")
        raw = np.memmap(file, dtype=np.uint8, mode="r", offset=place, shape=(n_bytes,))
        try:
            numbers = gguf.quants.dequantize(np.asarray(raw), kind)
        except NotImplementedError:
            wrong = f"'{shown(name)}' is stored as {kind.name}."
            raise InputError(
                wrong, "The gguf library does not dequantise it.", "Use a file in Q4, Q8 or F16."
            ) from None
        found = torch.from_numpy(np.array(numbers, dtype=np.float32).reshape(stored.shape))
        if name in self.turned:  # llama.cpp turns neighbouring features; Hugging Face the halves of a head
            found = found.unflatten(0, (self.turned[name], -1, 2)).transpose(1, 2).flatten(0, 2).contiguous()
        return found


def gguf_in(folder: Path) -> Path | None:
    """The one GGUF file of a folder that has no config.json; None where there is none, or several."""
    if (folder / "config.json").exists():
        return None
    found = [path.name for path in folder.glob(f"*{SUFFIX}")]
    return inside(folder, found[0]) if len(found) == 1 else None


def plan_gguf(file: Path) -> tuple[Plan, Weights]:
    """The plan for a GGUF file, and its weights. Raises InputError for a kind, a switch or a tensor that is not read here."""
    header = read_gguf_header(file)
    kind = header.facts.get("general.architecture")
    if kind not in KINDS:
        wrong = f"{file.name} holds a model of the kind {shown(repr(kind), 40)}."
        raise InputError(wrong, f"Kinds read from GGUF: {', '.join(KINDS)}.", "Open one of these.")
    values, names = _values(header, kind), _names(header)
    heads = {"self_attn.q_proj": "num_attention_heads", "self_attn.k_proj": "num_key_value_heads"}
    turned = {
        name: values[size]
        for name in names
        for part, size in heads.items()
        if kind == "llama" and part in name and type(values.get(size)) is int and values[size] > 0
    }
    entries = {name: Entry(file, "F32", stored.shape) for name, stored in names.items()}
    weights = Dequantised(entries, tensors=names, begin=header.begin, turned=turned)
    for name, n_heads in turned.items():
        if names[name].shape[0] % (2 * n_heads):
            raise bad(file, f"'{shown(name)}' has {names[name].shape[0]:,} rows for {n_heads} heads")
    try:
        return plan_foreign(values, weights)
    except InputError as error:
        said = {theirs: f"{kind}.{ours}" for ours, theirs in SIZES.items()}
        wrong = re.sub(r"\w+", lambda found: said.get(found[0], found[0]), error.wrong)
        rule = error.rule.replace("Config and weights", "The facts and the tensors of a file")
        remedy = error.remedy if error.remedy.startswith("Open") else AGAIN
        raise InputError(wrong.replace("config.json", file.name), rule, remedy) from None


@contextmanager
def gguf_reading(file: Path, plan: Plan) -> Iterator[Reading]:
    """The tokenizer of the file's own words and merges, tried in the child as that of any foreign folder is."""
    facts = read_gguf_header(file).facts
    kind, cut = facts.get("tokenizer.ggml.model"), facts.get("tokenizer.ggml.pre", "gpt-2")
    words, merges = facts.get("tokenizer.ggml.tokens"), facts.get("tokenizer.ggml.merges")
    if not isinstance(words, list) or not isinstance(merges, list):
        raise bad(file, "it has no list of words, or none of merges")
    if kind != "gpt2" or cut not in CUTS:
        wrong = f"The tokenizer of {file.name} is of the kind {shown(repr(kind), 20)}, and cuts a text as {shown(repr(cut), 30)} does."
        known = "Read here: byte-level BPE (gpt2) that is cut as " + " or ".join(CUTS) + " does it."
        raise InputError(wrong, known, "Use a folder with its tokenizer.json.")
    types = facts.get("tokenizer.ggml.token_type") or [1] * len(words)
    added = [
        {
            "id": at,
            "content": word,
            "special": kind == CONTROL,
            **dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False),
        }
        for at, (word, kind) in enumerate(zip(words, types, strict=False))
        if kind in (CONTROL, USER)
    ]
    opens = facts.get("tokenizer.ggml.bos_token_id") if facts.get("tokenizer.ggml.add_bos_token") else None
    bytes_alone = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    whole = {
        "version": "1.0",
        "added_tokens": added,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [*CUTS[cut], bytes_alone]},
        "post_processor": _opening(words, opens),
        "decoder": bytes_alone,
        "model": {
            "type": "BPE",
            "vocab": {word: at for at, word in enumerate(words)},
            "merges": [merge.split(" ") for merge in merges if isinstance(merge, str)],
        },
    }
    with tempfile.TemporaryDirectory() as place:
        (Path(place) / FILE).write_text(json.dumps(whole), encoding="utf-8")
        with Reading(Path(place), plan, f"The tokenizer of {shown(file.name)}") as reading:
            yield reading


def _opening(words: list[Any], bos: Any) -> dict[str, Any] | None:
    """What puts the token of that number before a text, where the file asks for it."""
    if type(bos) is not int or not 0 <= bos < len(words):
        return None
    mark = {"id": str(words[bos]), "type_id": 0}
    whole = [{"SpecialToken": mark}, {"Sequence": {"id": "A", "type_id": 0}}]
    known = {mark["id"]: {"id": mark["id"], "ids": [bos], "tokens": [mark["id"]]}}
    pair = [*whole, {"Sequence": {"id": "B", "type_id": 0}}]
    return {"type": "TemplateProcessing", "single": whole, "pair": pair, "special_tokens": known}


def gguf_card(file: Path) -> str:
    """What the file says of its model, and in which precision its numbers are."""
    header = read_gguf_header(file)
    n: Counter[str] = Counter()
    for name, stored in header.tensors.items():
        n[_numbers(file, name, stored).name] += prod(stored.shape)
    said = {
        name: shown(str(header.facts.get(f"general.{name}", "")), 200)
        for name in ("name", "organization", "license")
    }
    stored = ", ".join(f"{count:,} numbers in {kind}" for kind, count in n.most_common())
    rows = [f"- {name.capitalize()}: {value}" for name, value in said.items() if value]
    return "\n".join(
        [f"# {file.stem}", "", f"From the file `{shown(file.name)}`, dequantised: {stored}.", "", *rows, ""]
    )


def _values(header: GGUFHeader, kind: str) -> dict[str, Any]:
    """What a config.json of a Hugging Face folder would say."""
    facts = header.facts
    values = {theirs: facts.get(f"{kind}.{ours}") for ours, theirs in SIZES.items()}
    table = header.tensors.get("token_embd.weight")
    marks = {
        f"{mark}_token_id": facts.get(f"tokenizer.ggml.{name}_token_id")
        for mark, name in (("bos", "bos"), ("eos", "eos"), ("pad", "padding"))
    }
    marks[MORE_ENDS] = [facts.get(f"tokenizer.ggml.{name}_token_id") for name in ("eot", "eom")]
    scaling = facts.get(f"{kind}.rope.scaling.type")
    return {
        "model_type": kind,
        **values,
        **marks,
        "vocab_size": None if table is None else table.shape[0],
        "tie_word_embeddings": "output.weight" not in header.tensors,
        "rope_scaling": None if scaling in (None, "none") else {"rope_type": scaling},
        "use_sliding_window": bool(values["sliding_window"]),
    }


def _names(header: GGUFHeader) -> dict[str, Stored]:
    """The tensors by the names of a Hugging Face folder; what has none keeps its own, and is refused by it."""
    found: dict[str, Stored] = {}
    for name, stored in header.tensors.items():
        part = LAYER.fullmatch(name)
        known = part and PARTS.get(part[2])
        found[f"model.layers.{part[1]}.{known}.{part[3]}" if part and known else WHOLE.get(name, name)] = (
            stored
        )
    return found


def _numbers(file: Path, name: str, stored: Stored) -> Any:
    """How the numbers of a tensor are packed, as the library calls it. Raises InputError for a kind that it does not know."""
    kinds = _library().GGMLQuantizationType
    if stored.kind not in [kind.value for kind in kinds]:
        wrong = f"'{shown(name)}' in {file.name} is stored in a format with the number {stored.kind:,}."
        raise InputError(
            wrong, "The gguf library has no type of that number.", "Use a file in Q4, Q8 or F16."
        )
    return kinds(stored.kind)


def _library() -> Any:
    try:
        import gguf
        import gguf.quants
    except ImportError:
        wrong = "The gguf library is not installed."
        raise InputError(
            wrong, "That library decodes the numbers of such a file.", "pip install gguf"
        ) from None
    return gguf
