"""The equations of the course: every symbol explained, every number of the documents there, both conventions equal."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from viz.course.equations import EQUATIONS, Equation, Node, glyph
from viz.course.equations.form import on_slides, read

SIZES = {
    "n": 5,
    "m": 4,
    "p": 3,
    "r": 2,
    "d": 7,
    "q": 6,
    "u": 11,
    "h": 2,
    "w": 13,
    "H": 5,
    "d_ff": 17,
    "V": 19,
    "d_k": 3,
    "T": 23,
    "c": 8,
    "f": 9,
}
NO_NUMBERS = {  # equations that name a function without saying how it is computed, or speak of chance
    "seq2seq": "probability",
    "attention": "probability similarity entropy",
    "bahdanau": "state weights",
    "luong": "weights gaussian",
    "retrieval": "hard similarity",
    "ntm": "read address",
    "hard": "draw gradient",
    "scaling": "spread",
    "masked": "mask",
    "positions": "sinusoid",
    "permutation": "equivariant",
    "autoencoder": "error",
    "training": "loss",
    "decoding": "greedy",
    "bert": "masked loss rate sparse",
    "gpt": "conditionals prompted",
    "elmo": "printed_forward printed_backward forward backward loss",
    "albert": "shared order",
    "tuning": "frozen full",
}
WORDS_ONLY = {f"{name}.{part}" for name, parts in NO_NUMBERS.items() for part in parts.split()}
OPENED = {"cases": 4, "lines": 2, "frac": 2, "sqrt": 1, "sum": 2, "prod": 2, "sup": 2, "sub": 2, "bracket": 1}


class Words(Exception):
    """This part of an equation cannot be computed."""


@pytest.mark.parametrize("equation", EQUATIONS.values(), ids=lambda equation: equation.key)
def test_every_symbol_is_explained_in_both_conventions(equation):
    assert equation.title and equation.where and equation.signs
    assert set(equation.signs) == set(equation.used())
    for name, sign in equation.signs.items():
        assert sign.word and sign.origin and sign.sentence.endswith("."), name
        turned = " × ".join(reversed(sign.columns.split(" × ")))
        assert sign.rows in (sign.columns, turned) or "→" in sign.rows, name
        assert all(glyph(name)[:1])
    for tree in (equation.columns, equation.rows):
        for node in tree:
            assert len(node.parts) == OPENED.get(node.kind, len(node.parts))


def test_every_numbered_equation_of_the_documents_is_there():
    told = {
        (document, int(number))
        for equation in EQUATIONS.values()
        for document, _, item in equation.where
        for number in re.findall(r"\((\d+)\)", item)
    }
    assert {number for document, number in told if document == "ghojogh2020"} == set(range(1, 30))
    assert {number for document, number in told if document == "ghojogh2023"} == set(range(1, 29))
    for equation in EQUATIONS.values():
        items = {document: item for document, _, item in equation.where if item}
        if {"ghojogh2020", "ghojogh2023"} <= set(items):
            survey, slides = (
                int(re.findall(r"\d+", items[name])[0]) for name in ("ghojogh2020", "ghojogh2023")
            )
            assert slides == on_slides(survey)


def value(name: str, equation: Equation, way: str, bound: Mapping[str, int], known) -> np.ndarray:
    """A random array of the symbol's shape: the same numbers in both conventions, turned round where the shape is."""
    sign, (letter, accent, index) = equation.signs[name], glyph(name)
    if name in SIZES and sign.columns == "one number":
        return np.array(float(SIZES[name]))
    at = tuple(bound.get(part, part) for part in re.findall(r"[A-Za-z]|\d+|-\d+", index))
    slot = (letter, accent, tuple(1 if part in ("i", "j", "k", "s", "t") else part for part in at))
    if slot not in known:
        shape = (
            () if sign.columns == "one number" else tuple(size(part) for part in sign.columns.split(" × "))
        )
        known[slot] = np.random.default_rng(len(known)).normal(size=shape)
    return known[slot].T if way == "rows" and sign.rows != sign.columns else known[slot]


def size(text: str) -> int:
    """ "2p", "hr", "(q + p)" and "d_ff" as whole numbers."""
    if text in SIZES:
        return SIZES[text]
    return sum(
        int(np.prod([int(part) if part.isdigit() else SIZES[part] for part in term if part.strip()]))
        for term in text.strip("()").split("+")
    )


def softmax(x: np.ndarray) -> np.ndarray:
    powers = np.exp(x)
    return powers / (powers.sum() if 1 in x.shape else powers.sum(-1, keepdims=True))


APPLY = {
    "softmax": softmax,
    "tanh": np.tanh,
    "exp": np.exp,
    "relu": lambda x: np.maximum(x, 0),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
}


class Reader:
    """Computes a tree with random numbers, in one convention."""

    def __init__(self, equation: Equation, way: str, known):
        self.equation, self.way, self.known, self.bound = equation, way, known, {}

    def row(self, nodes: tuple[Node, ...]) -> np.ndarray:
        terms = [(1.0, [])]
        for node in nodes:
            if node.kind == "operator" and node.text in "+−":
                terms.append((1.0 if node.text == "+" else -1.0, []))
            elif node.text != "·":
                terms[-1][1].append(node)
        total = None
        for sign, factors in terms:
            if factors:
                made = sign * self.product(factors)
                total = made if total is None else total + made
        assert total is not None
        return total

    def product(self, factors: list[Node]) -> np.ndarray:
        made = None
        while factors:
            node, factors = factors[0], factors[1:]
            if node.kind == "name":
                if node.text not in APPLY or not factors:
                    raise Words(node.text)
                inside, after = factors[0], ()
                if inside.kind == "sup":  # softmax( .. )^T: the transpose of the result
                    inside, *after = inside.parts
                one, factors = APPLY[node.text](self.one(inside)), factors[1:]
                one = one.T if after else one
            elif node.text == "‖":
                end = next(at for at, other in enumerate(factors) if other.text == "‖")
                one, factors = np.array(np.linalg.norm(self.row(tuple(factors[:end])))), factors[end + 1 :]
            elif node.text == "⊙":
                assert made is not None
                return made * self.product(factors)
            elif node.kind == "sum":
                return self.times(made, self.total(node, factors))
            else:
                one = self.one(node)
            made = self.times(made, one)
        assert made is not None
        return made

    @staticmethod
    def times(left: np.ndarray | None, right: np.ndarray) -> np.ndarray:
        if left is None:
            return right
        return (
            left * right
            if 0 in (left.ndim, right.ndim) or left.size == 1 or right.size == 1
            else left @ right
        )

    def total(self, node: Node, factors: list[Node]) -> np.ndarray:
        (name, _, first), last = node.parts[0].parts, node.parts[1].parts[0]
        parts = []
        for at in range(int(first.text), SIZES.get(last.text, 4) + 1):
            self.bound[name.text] = at
            parts.append(self.product(list(factors)))
        del self.bound[name.text]
        return np.sum(parts, axis=0)

    def one(self, node: Node) -> np.ndarray:
        if node.kind == "sign":
            return value(node.text, self.equation, self.way, self.bound, self.known)
        if node.kind == "number":
            return np.array(float(node.text))
        if node.kind == "row":
            return self.row(node.parts)
        if node.kind == "frac":
            above, below = map(self.one, node.parts)
            return above / below
        if node.kind == "sqrt":
            return np.sqrt(self.one(node.parts[0]))
        if node.kind == "sup":
            base, above = self.one(node.parts[0]), node.parts[1].text
            return base.T if above == "⊤" else base ** int(above)
        if node.kind == "bracket":
            inside = node.parts[0].parts
            cuts = [at for at, part in enumerate(inside) if part.text in (";", ",")]
            if not cuts:
                return self.row(inside)
            pieces = [inside[a + 1 : b] for a, b in zip([-1, *cuts], [*cuts, len(inside)], strict=True)]
            return np.concatenate(
                [self.row(piece) for piece in pieces if piece[0].text != "…"],
                0 if inside[cuts[0]].text == ";" else 1,
            )
        raise Words(node.kind)

    def right(self) -> np.ndarray:
        """What stands behind the last equals sign."""
        nodes = self.equation.form(self.way).parts
        at = max(i for i, node in enumerate(nodes) if node.text in ("=", "←", "≈"))
        return self.row(nodes[at + 1 :])


def computed(key: str) -> tuple[np.ndarray, np.ndarray, dict]:
    known = {}
    equation = EQUATIONS[key]
    return Reader(equation, "columns", known).right(), Reader(equation, "rows", known).right(), known


def test_the_list_of_what_cannot_be_computed_is_true():
    for key in sorted(WORDS_ONLY):
        with pytest.raises((Words, ValueError, AssertionError, KeyError, StopIteration)):
            computed(key)
    assert len(EQUATIONS) - len(WORDS_ONLY) >= 55


@pytest.mark.parametrize("key", [key for key in EQUATIONS if key not in WORDS_ONLY])
def test_both_conventions_say_the_same(key):
    columns, rows, _ = computed(key)
    first, second = EQUATIONS[key].columns.parts[:2]
    if (
        first.kind == "sign"
        and second.text in ("=", "←")
        and EQUATIONS[key].signs[first.text].columns not in ("one number", "one word")
    ):
        shape = EQUATIONS[key].signs[first.text]
        assert columns.shape == tuple(size(part) for part in shape.columns.split(" × "))
        assert rows.shape == tuple(size(part) for part in shape.rows.split(" × "))
        np.testing.assert_allclose(rows, columns.T if shape.rows != shape.columns else columns, atol=1e-12)
    elif columns.size == 1:
        np.testing.assert_allclose(float(rows.squeeze()), float(columns.squeeze()), atol=1e-12)
    else:
        np.testing.assert_allclose(rows, columns.T, atol=1e-12)


def tensors(known) -> dict[str, torch.Tensor]:
    return {
        letter + "".join(f"_{part}" for part in index): torch.from_numpy(np.atleast_2d(found))
        for (letter, _, index), found in known.items()
    }


def test_the_matrix_form_is_torchs_attention():
    _, rows, known = computed("self.matrix")
    found = tensors(known)
    wanted = F.scaled_dot_product_attention(found["Q"].T[None], found["K"].T[None], found["V"].T[None])[0]
    np.testing.assert_allclose(rows, wanted.numpy(), atol=1e-12)


def test_the_recurrent_state_is_torchs_cell():
    _, rows, known = computed("rnn.state")
    found = tensors(known)
    cell = torch.nn.RNNCell(SIZES["d"], SIZES["p"], dtype=torch.float64)
    with torch.no_grad():
        (
            cell.weight_hh.copy_(found["W"]),
            cell.weight_ih.copy_(found["U"]),
            cell.bias_ih.copy_(found["b"][:, 0]),
            cell.bias_hh.zero_(),
        )
        before = next(tensor for name, tensor in found.items() if name.startswith("h_"))
        wanted = cell(next(tensor for name, tensor in found.items() if name.startswith("x_")).T, before.T)
    np.testing.assert_allclose(rows, wanted.numpy(), atol=1e-12)


def test_the_feed_forward_network_is_two_linear_maps():
    _, rows, known = computed("ffn.inside")
    found = tensors(known)
    x = found["x"].T
    wanted = F.linear(F.relu(F.linear(x, found["W_1"], found["b_1"][:, 0])), found["W_2"], found["b_2"][:, 0])
    np.testing.assert_allclose(rows, wanted.numpy(), atol=1e-12)


@pytest.mark.parametrize(
    ("line", "why"),
    [("a_ij (", "not closed"), ("word", "neither a symbol"), ("frac{ 1 }", "needs 2"), ("a_ij )", "closes")],
)
def test_a_line_that_cannot_be_read_is_refused(line, why):
    with pytest.raises(ValueError, match=why):
        read(line, EQUATIONS["attention.context"].signs)
