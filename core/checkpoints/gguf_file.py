"""GGUF files of the Llama kinds, as llama.cpp writes them, one in a folder: dequantised with the gguf library.

Names, sizes and switches are given to the reader of Hugging Face folders in its own words, so every check of those holds here.
"""

from __future__ import annotations

import json
import math
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

from core.checkpoints.files import find_file, printable
from core.checkpoints.foreign import MORE_ENDS, plan_foreign
from core.checkpoints.safety.config_schema import CONFIG
from core.checkpoints.safety.gguf_header import REMEDY, GGUFHeader, Stored, bad, read_gguf_header
from core.checkpoints.safety.load_plan import TOGETHER, Plan
from core.checkpoints.safety.safetensors_header import Entry
from core.checkpoints.tokenizer import FILE, TokenizerLoader
from core.checkpoints.weights import Weights
from core.errors import InputError, Phrase
from core.wording import mark

SUFFIX, GGML = ".gguf", "tokenizer.ggml"
MOST_LETTERS = 2**22
"""Letters of all pieces together: the work of finding their merges grows with them."""
TOO_LONG = mark("its pieces have {n:,} letters together, of which at most {most:,} are read")
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
"""Fields of a Hugging Face config by their GGUF names, without the name of the kind."""
GLOBAL_NAMES = {
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
HARMLESS: Mapping[str, tuple[Any, ...]] = {
    "vocab_size": (),
    "rope.dimension_count": (),
    "attention.value_length": (),
    "rope.scaling.type": (),
    "rope.scaling.original_context_length": (),
    "rope.scaling.finetuned": (),
    "rope.scaling.factor": (0.0, 1.0),
    "rope.scaling.attn_factor": (0.0, 1.0),
    "rope.scale_linear": (0.0, 1.0),
    "attention.causal": (True,),
    "attention.layer_norm_epsilon": (),
    "attention.scale": (0.0,),
    "attention.clamp_kqv": (0.0,),
    "attention.max_alibi_bias": (0.0,),
    "expert_count": (0,),
    "expert_used_count": (0,),
    "use_parallel_residual": (False,),
    "tensor_data_layout": ("Meta AI original pth",),
    "pooling_type": (0,),
}
"""The other facts behind the kind's name that change nothing, each with the values for which that holds; () for all, checked elsewhere or without effect here."""
DIGITS: list[dict[str, Any]] = [{"type": "Digits", "individual_digits": True}]


def _split(pattern: str) -> list[dict[str, Any]]:
    return [{"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}]


WORDS = r"[^\r\n\p{L}\p{N}]?\p{L}+|"
REST = r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
SHORT = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|"
CUTS: Mapping[str, list[dict[str, Any]]] = {
    "gpt-2": [],
    "smollm": DIGITS,
    "qwen2": _split(SHORT + WORDS + r"\p{N}" + REST),
    "llama-bpe": _split(SHORT + WORDS + r"\p{N}{1,3}" + REST),
}
"""Rules that cut a text before byte-level BPE does, by the name in the file; a rule of its own replaces GPT-2's."""
ALIASES = {
    "llama3": "llama-bpe",
    "llama-v3": "llama-bpe",
    "deepseek-r1-qwen": "qwen2",
    "gpt2": "gpt-2",
    "smollm2": "smollm",
}
"""Other names of the same rules."""
UNNAMED = {"llama": "gpt-2", "qwen2": "qwen2", "qwen3": "qwen2"}
"""How the texts of a kind are cut where a file from before May 2024 does not say it."""
PIECES = "llama"
"""GGUF's name of SentencePiece tokenizers whose pieces have scores."""
CONTROL, USER = 3, 4
"""Types of tokens that are no pieces of text."""


@dataclass(frozen=True)
class Dequantised(Weights):
    """Tensors of a GGUF file by the names of a Hugging Face folder, each read and dequantised on demand."""

    in_files: ClassVar[bool] = False
    tensors: Mapping[str, Stored] = field(default_factory=dict)
    begin: int = 0
    turned: Mapping[str, int] = field(default_factory=dict)

    @property
    def precisions(self) -> tuple[str, ...]:
        kinds = _library().GGMLQuantizationType
        return tuple(sorted({kinds(stored.kind).name for stored in self.tensors.values()}))

    def _read_float32(self, entry: Entry, name: str) -> Tensor:
        gguf, stored, file = _library(), self.tensors[name], entry.file
        kind = _numbers(file, name, stored)
        block, size = gguf.GGML_QUANT_SIZES[kind]
        n_bytes = prod(stored.shape) // block * size
        place = self.begin + stored.begin
        if prod(stored.shape) % block or place + n_bytes > file.stat().st_size:
            raise bad(
                file, "the bytes of '{name}' do not fit its shape, or are cut off", name=printable(name)
            )
        raw = np.memmap(file, dtype=np.uint8, mode="r", offset=place, shape=(n_bytes,))
        try:
            numbers = gguf.quants.dequantize(np.asarray(raw), kind)
        except NotImplementedError:
            raise InputError(
                "'{name}' is stored as {dtype}.",
                "The gguf library does not dequantise it.",
                "Use a file in Q4, Q8 or F16.",
                name=printable(name),
                dtype=kind.name,
            ) from None
        tensor = torch.from_numpy(np.array(numbers, dtype=np.float32).reshape(stored.shape))
        if name in self.turned:  # llama.cpp turns neighbouring features; Hugging Face the halves of a head
            tensor = (
                tensor.unflatten(0, (self.turned[name], -1, 2)).transpose(1, 2).flatten(0, 2).contiguous()
            )
        return tensor


def gguf_in(folder: Path) -> Path | None:
    """Return the one GGUF file of a folder that has no config.json; None where there is none, or several."""
    if (folder / "config.json").exists():
        return None
    names = [path.name for path in folder.glob(f"*{SUFFIX}")]
    return find_file(folder, names[0]) if len(names) == 1 else None


def plan_gguf(file: Path) -> tuple[Plan, Weights]:
    """Return the plan for a GGUF file, and its weights. Raises InputError for a kind, a switch or a tensor that is not read here."""
    header = read_gguf_header(file)
    kind = header.facts.get("general.architecture")
    if kind not in KINDS:
        raise InputError(
            "{file} holds a model of the kind {kind}.",
            "Kinds read from GGUF: {kinds}.",
            "Open one of these.",
            file=file.name,
            kind=printable(repr(kind), 40),
            kinds=", ".join(KINDS),
        )
    _check_facts(file, header.facts, kind)
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
            n_rows = names[name].shape[0]
            wrong = mark("'{name}' has {n:,} rows for {heads} heads")
            raise bad(file, wrong, name=printable(name), n=n_rows, heads=n_heads)
    try:
        return plan_foreign(values, weights)
    except InputError as error:
        known_names = {theirs: f"{kind}.{ours}" for ours, theirs in SIZES.items()}
        wrong, rule, remedy = error.messages
        rule = mark("The facts and the tensors of a file must belong together.") if rule == TOGETHER else rule
        remedy = remedy if remedy.startswith("Open") else REMEDY
        again = InputError(wrong, rule, remedy, **error.values)

        def in_their_words(text: str) -> str:
            words = re.sub(r"\w+", lambda match: known_names.get(match[0], match[0]), text)
            return words.replace(CONFIG, file.name)

        raise again.with_values(in_their_words) from None


@contextmanager
def gguf_tokenizer_loader(file: Path, plan: Plan) -> Iterator[TokenizerLoader]:
    """Open, as a context, the loader of the model's tokenizer: `tokenizer.json` beside the file if there is one, else the one in the GGUF file."""
    if find_file(file.parent, FILE) is not None:
        with TokenizerLoader(file.parent, plan) as loader:
            yield loader
        return
    facts = read_gguf_header(file).facts
    whole = _pieces(file, facts) if facts.get(f"{GGML}.model") == PIECES else _bytes(file, facts)
    with tempfile.TemporaryDirectory() as place:
        (Path(place) / FILE).write_text(json.dumps(whole), encoding="utf-8")
        with TokenizerLoader(
            Path(place), plan, Phrase("The tokenizer of {file}", file=printable(file.name))
        ) as loader:
            yield loader


def _bytes(file: Path, facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return a byte-level tokenizer as a tokenizer.json."""
    kind, cut = facts.get(f"{GGML}.model"), cut_of(facts)
    words, merges = facts.get(f"{GGML}.tokens"), facts.get(f"{GGML}.merges")
    if kind != "gpt2" or cut not in CUTS:
        raise InputError(
            "The tokenizer of {file} is of the kind {kind}, and cuts a text as {cut} does.",
            "Read here: SentencePiece ({pieces}), and byte-level BPE (gpt2) that is cut as {cuts}.",
            "Put the {tokenizer} of the model into the folder of the file.",
            file=file.name,
            kind=printable(repr(kind), 20),
            cut=printable(repr(cut), 30),
            pieces=PIECES,
            cuts=", ".join(CUTS),
            tokenizer=FILE,
        )
    if not isinstance(words, list) or not isinstance(merges, list):
        raise bad(file, "it has no list of words, or none of merges")
    own = not any(step["type"] == "Split" for step in CUTS[cut])
    before = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": own}
    return {
        "version": "1.0",
        "added_tokens": _added(words, facts),
        "normalizer": {"type": "NFC"} if cut == "qwen2" else None,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [*CUTS[cut], before]},
        "post_processor": _opening(words, facts, by_default=cut == "llama-bpe"),
        "decoder": {**before, "use_regex": True},
        "model": {
            "type": "BPE",
            "vocab": {word: at for at, word in enumerate(words)},
            "merges": [merge.split(" ") for merge in merges if isinstance(merge, str)],
            "ignore_merges": cut == "llama-bpe",
        },
    }


def _finite(score: Any) -> bool:
    return isinstance(score, (int, float)) and math.isfinite(score)


def cut_of(facts: Mapping[str, Any]) -> Any:
    """Return the name of the rule that cuts a text: the one that the file names, or the default of its kind."""
    given = facts.get(f"{GGML}.pre")
    if given is None:
        return UNNAMED.get(str(facts.get("general.architecture")))
    return ALIASES.get(given, given) if isinstance(given, str) else given


def _pieces(file: Path, facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return a tokenizer of SentencePiece's BPE as a tokenizer.json whose merges follow from the scores of the pieces."""
    words, scores = facts.get(f"{GGML}.tokens"), facts.get(f"{GGML}.scores")
    if not isinstance(words, list) or not isinstance(scores, list) or len(words) != len(scores):
        raise bad(file, "it has no list of pieces, or not a score for each")
    if not all(isinstance(word, str) for word in words) or not all(map(_finite, scores)):
        raise bad(file, "its pieces are no texts, or their scores no numbers")
    if (n := sum(map(len, words))) > MOST_LETTERS:
        raise bad(file, TOO_LONG, n=n, most=MOST_LETTERS)
    prefix = facts.get(f"{GGML}.add_space_prefix", True)
    unknown = facts.get(f"{GGML}.unknown_token_id", 0)
    known = type(unknown) is int and 0 <= unknown < len(words)
    space = {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}
    back = {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}
    strip = [{"type": "Strip", "content": " ", "start": 1, "stop": 0}] if prefix else []
    return {
        "version": "1.0",
        "added_tokens": _added(words, facts),
        "normalizer": {
            "type": "Sequence",
            "normalizers": [*([{"type": "Prepend", "prepend": "▁"}] if prefix else []), space],
        },
        "post_processor": _opening(words, facts, by_default=True),
        "decoder": {
            "type": "Sequence",
            "decoders": [back, {"type": "ByteFallback"}, {"type": "Fuse"}, *strip],
        },
        "model": {
            "type": "BPE",
            "vocab": {word: at for at, word in enumerate(words)},
            "merges": merges_of(words, scores),
            "unk_token": words[unknown] if known else None,
            "fuse_unk": True,
            "byte_fallback": True,
        },
    }


def merges_of(words: list[str], scores: list[Any]) -> list[tuple[str, str]]:
    """Return the merges of pieces with scores: each way to make a piece of two others, those of the highest score first.

    >>> merges_of(["a", "b", "ab", "aba"], [0.0, 0.0, -1.0, -2.0])
    [('a', 'b'), ('ab', 'a')]
    """
    numbers = {word: at for at, word in enumerate(words)}
    merges = [
        (-scores[at], numbers[word[:cut]], numbers[word[cut:]], word, cut)
        for word, at in numbers.items()
        for cut in range(1, len(word))
        if word[:cut] in numbers and word[cut:] in numbers
    ]
    return [(word[:cut], word[cut:]) for *_, word, cut in sorted(merges)]


def _added(words: list[Any], facts: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the tokens that are no pieces of text, with their numbers."""
    types = facts.get(f"{GGML}.token_type") or [1] * len(words)
    return [
        {
            "id": at,
            "content": word,
            "special": kind == CONTROL,
            **dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False),
        }
        for at, (word, kind) in enumerate(zip(words, types, strict=False))
        if kind in (CONTROL, USER)
    ]


def _opening(words: list[Any], facts: Mapping[str, Any], *, by_default: bool) -> dict[str, Any] | None:
    """Return the post-processor that adds the beginning-of-text token, where the file or, if it is silent, the tokenizer's kind asks for one."""
    bos = facts.get(f"{GGML}.bos_token_id") if facts.get(f"{GGML}.add_bos_token", by_default) else None
    if type(bos) is not int or not 0 <= bos < len(words):
        return None
    mark = {"id": str(words[bos]), "type_id": 0}
    whole = [{"SpecialToken": mark}, {"Sequence": {"id": "A", "type_id": 0}}]
    known = {mark["id"]: {"id": mark["id"], "ids": [bos], "tokens": [mark["id"]]}}
    pair = [*whole, {"Sequence": {"id": "B", "type_id": 0}}]
    return {"type": "TemplateProcessing", "single": whole, "pair": pair, "special_tokens": known}


def gguf_card(file: Path) -> str:
    """Return a card: the file's facts about its model, and the precision of its numbers."""
    header = read_gguf_header(file)
    n: Counter[str] = Counter()
    for name, stored in header.tensors.items():
        n[_numbers(file, name, stored).name] += prod(stored.shape)
    said = {
        name: printable(str(header.facts.get(f"general.{name}", "")), 200)
        for name in ("name", "organization", "license")
    }
    stored = ", ".join(f"{count:,} numbers in {kind}" for kind, count in n.most_common())
    rows = [f"- {name.capitalize()}: {value}" for name, value in said.items() if value]
    opening = [
        f"# {file.stem}",
        "",
        f"From the file `{printable(file.name)}`, dequantised: {stored}.",
        *missing_cut_note(header),
    ]
    return "\n".join([*opening, "", *rows, ""])


def missing_cut_note(header: GGUFHeader) -> list[str]:
    """Return a paragraph of the card on a file from before May 2024, which lacks the rule that cuts texts."""
    if header.facts.get(f"{GGML}.model") != "gpt2" or f"{GGML}.pre" in header.facts:
        return []
    cut = cut_of(header.facts)
    return [
        "",
        f"The file does not say how its tokenizer cuts a text ({GGML}.pre is missing): it is cut as {cut} does it, and a {FILE} beside the file goes before that.",
    ]


def _check_facts(file: Path, facts: Mapping[str, Any], kind: str) -> None:
    """Raise InputError for a fact about the model that is not known to change nothing, as for a tensor."""
    for name, value in facts.items():
        of, _, fact = name.partition(".")
        if of != kind or fact in SIZES:
            continue
        alike = HARMLESS.get(fact)
        if alike is None or (alike and value not in alike):
            raise InputError(
                "{file} says {name} = {value}.",
                "A fact that may change the arithmetic and is not computed here is refused, never passed over.",
                "Open a file of this model without it, or its folder in Hugging Face format.",
                file=file.name,
                name=printable(name),
                value=printable(repr(value), 40),
            )
    width = facts.get(f"{kind}.attention.key_length")
    heads, wide = (facts.get(f"{kind}.{name}") for name in ("attention.head_count", "embedding_length"))
    if width is None and type(heads) is int and type(wide) is int and heads > 0:
        width = wide // heads
    for fact in ("rope.dimension_count", "attention.value_length"):
        value = facts.get(f"{kind}.{fact}", width)
        if value != width:
            raise InputError(
                "{file} says {name} = {value}, and a head has {width}.",
                "All features of a head are turned here, and its values are as wide as its keys.",
                "Open a model whose heads are so.",
                file=file.name,
                name=f"{kind}.{fact}",
                value=printable(repr(value), 40),
                width=width,
            )


def _values(header: GGUFHeader, kind: str) -> dict[str, Any]:
    """Return the values that a config.json of a Hugging Face folder would have."""
    facts = header.facts
    values = {theirs: facts.get(f"{kind}.{ours}") for ours, theirs in SIZES.items()}
    table = header.tensors.get("token_embd.weight")
    marks = {
        f"{mark}_token_id": facts.get(f"tokenizer.ggml.{name}_token_id")
        for mark, name in (("bos", "bos"), ("eos", "eos"), ("pad", "padding"))
    }
    marks[MORE_ENDS] = [facts.get(f"tokenizer.ggml.{name}_token_id") for name in ("eot", "eom")]
    scaling = facts.get(f"{kind}.rope.scaling.type")
    windowed = kind == "llama" and bool(values["sliding_window"])  # llama.cpp has one kind for both
    return {
        "model_type": "mistral" if windowed else kind,
        **values,
        **marks,
        "vocab_size": None if table is None else table.shape[0],
        "tie_word_embeddings": "output.weight" not in header.tensors,
        "rope_scaling": None if scaling in (None, "none") else {"rope_type": scaling},
        "use_sliding_window": bool(values["sliding_window"]),
    }


def _names(header: GGUFHeader) -> dict[str, Stored]:
    """Return the tensors under the names of a Hugging Face folder; unknown ones keep their own names, and are refused later."""
    by_name: dict[str, Stored] = {}
    for name, stored in header.tensors.items():
        part = LAYER.fullmatch(name)
        known = part and PARTS.get(part[2])
        by_name[
            f"model.layers.{part[1]}.{known}.{part[3]}" if part and known else GLOBAL_NAMES.get(name, name)
        ] = stored
    return by_name


def _numbers(file: Path, name: str, stored: Stored) -> Any:
    """Return the library's number format of a tensor. Raises InputError for a kind that it does not know."""
    kinds = _library().GGMLQuantizationType
    if stored.kind not in [kind.value for kind in kinds]:
        raise InputError(
            "'{name}' in {file} is stored in a format with the number {n:,}.",
            "The gguf library has no type of that number.",
            "Use a file in Q4, Q8 or F16.",
            name=printable(name),
            file=file.name,
            n=stored.kind,
        )
    return kinds(stored.kind)


def _library() -> Any:
    try:
        import gguf
        import gguf.quants
    except ImportError:
        raise InputError(
            "The gguf library is not installed.",
            "That library decodes the numbers of such a file.",
            "pip install gguf",
        ) from None
    return gguf
