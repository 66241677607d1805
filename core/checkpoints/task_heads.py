"""Heads of fine-tuned models of the transformers library: the tensors of each kind, and the classes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from core.checkpoints.files import printable
from core.checkpoints.safety.config_schema import Fields
from core.checkpoints.safety.load_plan import WeightMapping
from core.checkpoints.safety.safetensors_header import Entry
from core.errors import InputError
from core.layers.config_checks import LONGEST_NAME
from core.layers.feedforward import ACTIVATIONS
from core.layers.task_head import Head

CLASSES, TAGS, ANSWER = "SequenceClassification", "TokenClassification", "QuestionAnswering"
CHOICE = "MultipleChoice"
"""Ends of the names of the library's classes whose heads are read."""
OUTPUTS: Mapping[str, str] = {CLASSES: "classes", TAGS: "tags", ANSWER: "answer", CHOICE: "score"}
EXACT: Mapping[str, int] = {ANSWER: 2, CHOICE: 1}
"""How many numbers these give: the two ends of an answer, and how well a second text goes with the first."""
MOST = 2**16
"""Classes that a head may tell apart."""
ACTIVATION_ALIASES: Mapping[str, str] = {
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "gelu_fast": "gelu_tanh",
    "gelu_python": "gelu",
    "swish": "silu",
}
"""Names of activations in configs by ours."""
BENDS: Mapping[str, str] = {**{name: name for name in (*ACTIVATIONS, "tanh")}, **ACTIVATION_ALIASES}


@dataclass(frozen=True)
class HeadSpec:
    """Stored form of one head: the last map, its input, and a first map with its activation.

    `pool` is a key of `core.layers.task_head.POOLS`, or "pooled" for the network's own pooled output; `pool_field` names
    the field of a config that says another. `activation_field` names the field that says the activation, which is
    `activation` where the config is silent. `plain` are maps and norms that may be stored without a bias.
    """

    out: str
    pool: str = ""
    dense: str = ""
    activation: str = "tanh"
    activation_field: str = ""
    norm: str = ""
    eps_field: str = ""
    eps: float = 1e-5
    pool_field: str = ""
    plain: tuple[str, ...] = ()

    @property
    def parts(self) -> tuple[str, ...]:
        """Return the stored names of first map, norm and last map, without their ends."""
        return self.dense, self.norm, self.out


POOLING: Mapping[str, str] = {"cls": "first", "mean": "mean"}


def read_head(
    specs: Mapping[str, HeadSpec], fields: Fields, entries: Mapping[str, Entry], d_model: int
) -> tuple[Head | None, tuple[WeightMapping, ...]]:
    """Return the head that the class in `architectures` has, and its tensors; none where it has none, or its file has not.

    Raises InputError for a head of other arithmetic or of too many classes.
    """
    task = _task(fields)
    spec = specs.get(task)
    if spec is None or f"{spec.out}.weight" not in entries:
        return None, ()
    n_out = _rows(entries, spec.out)
    if not 0 < n_out <= MOST:
        raise InputError(
            "'{name}' has {n:,} rows.",
            "A head has at most {most:,} classes here.",
            "Open another model.",
            name=printable(spec.out),
            n=n_out,
            most=MOST,
        )
    alone = n_out == 1 or (task == CLASSES and fields.raw("problem_type") == "regression")
    if (task == CLASSES and alone and n_out > 1) or (task in EXACT and n_out != EXACT[task]):
        return None, ()  # several numbers that are no classes, or more than two edges
    width = _rows(entries, spec.dense) if spec.dense else 0
    head = Head(
        output="score" if task == CLASSES and alone else OUTPUTS[task],
        n_out=n_out,
        pool="" if spec.pool == "pooled" else _pool(spec, fields),
        pooled=spec.pool == "pooled",
        d_in=d_model,
        width=width,
        activation=_activation(spec, fields),
        eps=fields.small(spec.eps_field, spec.eps) if spec.norm else 0.0,
        biases=_biases(spec, entries),
        names=() if task in EXACT else class_names(fields.raw("id2label"), n_out),
        several=fields.raw("problem_type") == "multi_label_classification",
    )
    return head, tuple(_takes(spec, head))


def _task(fields: Fields) -> str:
    given = fields.raw("architectures")
    name = given[0] if isinstance(given, list) and given and isinstance(given[0], str) else ""
    ending = re.search(f"For({'|'.join(OUTPUTS)})$", name)
    return ending[1] if ending else ""


def class_names(labels: Any, n: int) -> tuple[str, ...]:
    """Return the names of `id2label` in the order of their numbers, short and each once; none where they are not those of n classes.

    >>> class_names({"1": "bad", "0": "good"}, 2), class_names({"0": "a", "1": "a"}, 2), class_names({"0": "x"}, 3)
    (('good', 'bad'), ('a', 'a (1)'), ())
    """
    if not isinstance(labels, dict) or len(labels) != n:
        return ()
    read = [str(name) for i in range(n) if isinstance(name := labels.get(str(i)), str) and name.strip()]
    if len(read) < n:
        return ()
    found: dict[str, None] = {}
    for i, name in enumerate(read):
        short = printable(" ".join(name.split()), LONGEST_NAME)
        found[short if short not in found else f"{printable(short, LONGEST_NAME - 8)} ({i})"] = None
    return tuple(found) if len(found) == n else ()


def _rows(entries: Mapping[str, Entry], name: str) -> int:
    """Return the number of rows of a stored matrix; 0 where it is missing, which `check_names` reports better."""
    entry = entries.get(f"{name}.weight")
    return entry.shape[0] if entry is not None and len(entry.shape) == 2 else 0


def _pool(spec: HeadSpec, fields: Fields) -> str:
    return fields.one_of(spec.pool_field, POOLING, "cls") if spec.pool_field else spec.pool


def _activation(spec: HeadSpec, fields: Fields) -> str:
    if not spec.activation_field:
        return spec.activation
    return fields.one_of(spec.activation_field, BENDS, spec.activation)


def _biases(spec: HeadSpec, entries: Mapping[str, Entry]) -> tuple[bool, bool, bool]:
    dense, norm, out = (part not in spec.plain or f"{part}.bias" in entries for part in spec.parts)
    return dense, norm, out


def _takes(spec: HeadSpec, head: Head) -> list[WeightMapping]:
    """Return every tensor of a head."""
    inner = head.width or head.d_in
    shapes = {"dense": (head.width, head.d_in), "norm": (head.width,), "out": (head.n_out, inner)}
    found = []
    for part, (ours, shape), bias in zip(spec.parts, shapes.items(), head.biases, strict=True):
        if part:
            found.append(WeightMapping(f"{part}.weight", shape, (f"task.{ours}.weight",)))
        if part and bias:
            found.append(WeightMapping(f"{part}.bias", shape[:1], (f"task.{ours}.bias",)))
    return found


TAGGER, ANSWERER = HeadSpec("classifier"), HeadSpec("qa_outputs")
POOLED: dict[str, HeadSpec] = {
    CLASSES: HeadSpec("classifier", "pooled"),
    TAGS: TAGGER,
    ANSWER: ANSWERER,
    CHOICE: HeadSpec("classifier", "pooled"),
}
"""BERT's heads: the classes are read off its own pooled output."""


def two_maps(activation: str = "tanh", activation_field: str = "") -> dict[str, HeadSpec]:
    """Return RoBERTa's heads: classes of the first position through a map of its own."""
    return POOLED | {
        CLASSES: HeadSpec("classifier.out_proj", "first", "classifier.dense", activation, activation_field)
    }


def first_map(dense: str, activation: str, activation_field: str = "") -> dict[str, HeadSpec]:
    """Return heads whose classes and choices are read off the first position through a map of their own."""
    spec = HeadSpec("classifier", "first", dense, activation, activation_field)
    return POOLED | dict.fromkeys((CLASSES, CHOICE), spec)


def of_decoder(tags: str, *, biased: bool = False) -> dict[str, HeadSpec]:
    """Return the heads of a decoder: classes of the last position; `tags` names the tagger's map."""
    plain = () if biased else ("score",)
    return {
        CLASSES: HeadSpec("score", "last", plain=plain),
        TAGS: HeadSpec(tags),
        ANSWER: ANSWERER,
    }


TWO_STACKS: dict[str, HeadSpec] = {
    CLASSES: HeadSpec("classification_head.out_proj", "last", "classification_head.dense"),
    ANSWER: ANSWERER,
}
"""BART's and T5's heads: the decoder reads the text once more, and the classes are read where it ends."""
