"""The editor of masks on small random models: every kind of mask, its link and its folds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
import torch
from drawn_layers import drawn_rows
from exhibit_pages import StepPages, instruments, said
from hypothesis import given
from hypothesis import strategies as some
from hypothesis.extra.numpy import arrays
from shown_values import states

import core.serving.engine
from core import masks
from core.errors import InputError
from core.model import Model
from core.models import families
from core.serving.engine import Engine, Listing
from core.text import Tokenizer
from core.text.learn import learn_byte_level_bpe
from viz.course.kit import erratum_card as errata
from viz.course.self_attention.masks import editor, read
from viz.course.self_attention.masks.read import SENTENCES, MaskedHead, matrices
from viz.course.shared import masks as lesson
from viz.course.shared import masks_batch, masks_panels
from viz.labels import percent

NAMES = {"gpt-mini": "gpt", "translator-en-es": "transformer"}
TEXT, N = "I am a student.", 5
page = StepPages("masks", {"text": TEXT}, ("text", "layer", "head"))
EDITOR = 6


def _open_random(name: str) -> Model:
    """Open a random model under a shipped name: these tests are about the page, not about what was learned."""
    corpus = [*SENTENCES, "The red house on the hill is very old.", "She has a white car."] * 6
    backend = learn_byte_level_bpe(corpus, 420, ("<pad>", "<start>", "<end>"), prefix_space=True)
    family = families()[NAMES[name]]
    config = replace(family.config.tiny(), n_vocab=backend.get_vocab_size(), n_ctx=128)
    with torch.random.fork_rng():
        torch.manual_seed(5)
        network = family.network(config)
        for weight in network.parameters():
            torch.nn.init.normal_(weight, std=0.3)
    return Model(name, family, config, network, Tokenizer(backend, pad=0, start=1, end=2))


@pytest.fixture(scope="module", autouse=True)
def _engine() -> Iterator[None]:
    listing = tuple(Listing(name, True) for name in NAMES)
    with (
        pytest.MonkeyPatch.context() as patch,
        Engine(opener=_open_random, listing=lambda: listing) as engine,
    ):
        patch.setattr(core.serving.engine, "_default", engine)
        yield


@pytest.mark.parametrize("kind", lesson.KINDS)
def test_the_mask_is_in_the_real_run_and_the_pattern_is_its_tensor(kind):
    params = MaskedHead(layer=1, head=2, recipe=lesson.Recipe(kind, count=1, seed=4))
    data = matrices(params)
    n = len(data.tokens)
    assert data.path == "layer.1.self_attn" and data.scores.shape == data.pattern.shape == (n, n)
    assert np.array_equal(data.allowed, params.recipe.allowed(n))
    assert (data.pattern[~data.allowed] == 0).all()
    np.testing.assert_allclose(data.pattern.sum(-1), data.allowed.any(-1), atol=1e-5)
    rows = [lesson.row(*each).weights for each in zip(data.scores, data.allowed, strict=True)]
    np.testing.assert_allclose(rows, data.pattern, atol=1e-5)


def test_in_one_layer_the_scores_stay_and_in_every_layer_they_change():
    causal, here, everywhere = (
        matrices(MaskedHead(layer=1, recipe=lesson.Recipe(kind), everywhere=where)).scores
        for kind, where in (("causal", False), ("full", False), ("full", True))
    )
    assert np.array_equal(causal, here) and not np.allclose(here, everywhere)


def test_a_mask_drawn_by_hand_is_used_and_one_of_another_size_refused_in_three_parts():
    rows = tuple(tuple(bool((i + j) % 2) for j in range(N)) for i in range(N))
    data = matrices(MaskedHead(text=SENTENCES[0], mask_rows=rows))
    assert tuple(map(tuple, data.allowed.tolist())) == rows
    with pytest.raises(InputError) as caught:
        matrices(MaskedHead(text=SENTENCES[0], mask_rows=((True,),)))
    assert caught.value.wrong and caught.value.rule and caught.value.remedy


def test_the_lines_to_take_away_make_the_same_numbers():
    for params in (
        MaskedHead(layer=1, head=1, recipe=lesson.Recipe("sparse")),
        MaskedHead(text=TEXT, mask_rows=tuple(map(tuple, masks.strict(N).tolist()))),
    ):
        names = {"open_random": _open_random}
        exec(editor.code(params).replace("core.open_model", "open_random"), names)
        np.testing.assert_allclose(names["pattern"], matrices(params).pattern, atol=1e-6)


@pytest.mark.quick(3)
@pytest.mark.parametrize("kind", masks_panels.PILLS)
def test_every_kind_of_mask_shows_three_matrices_and_a_sentence_of_numbers(kind):
    """C033."""
    test = page(EDITOR, kind=kind)
    scales = {header["title"]: header.get("scale") for header in instruments(test, "queries")}
    assert "Mask" in scales and len(scales) == 3
    assert scales["Scores, before the mask"] == "score" and scales["Pattern, after softmax"] == "pattern"
    words = ["I", "am", "a", "student", "."]
    assert all(header["queries"] == words for header in instruments(test, "queries"))
    assert any("may attend to" in text.value for text in test.text)


def test_a_row_with_nothing_allowed_is_told_in_words():
    """C036."""
    strict, chosen = (said(page(EDITOR, kind="strict", **cell)) for cell in ({}, {"cell": "0.3"}))
    assert states(strict, "“I”", "NaN") and states(chosen, "“I”", "= 0 in all 5 cells")
    assert "nan" not in chosen.replace("NaN", "").lower().split()


def test_the_sentence_says_what_the_mask_took_away():
    data = matrices(MaskedHead(text=TEXT, layer=1))
    row, told = lesson.row(data.scores[1], data.allowed[1]), editor.sentence(data, 1, 0)
    assert states(told, "“am”", "2 of 5 words") and f"{percent(data.pattern[1, 0])} to “I”" in told
    assert f"{1 / (1 - row.hidden):.2f} times as large" in told and states(told, percent(row.hidden))
    without = data.pattern[1, :2] * (1 - row.hidden)
    np.testing.assert_allclose(without, lesson.softmax(data.scores)[1, :2], rtol=1e-4)


def test_the_page_opens_on_the_head_that_looks_back_most_sharply():
    layer, head = read.opening().layer, read.opening().head
    runs = [_open_random("gpt-mini").run(text).attention("causal").weights for text in SENTENCES]
    by_hand = [np.mean([w[layer, head, i, 1 : i - 1].max() for i in range(3, w.shape[-1])]) for w in runs]
    assert np.mean(by_hand) == pytest.approx(lesson.looks_back(runs).max())
    state = page(EDITOR).session_state
    assert (state["pills::layer"], state["pills::head"]) == (layer, head)


def test_a_link_restores_a_drawn_mask():
    drawn = masks_panels.pack(np.eye(N, dtype=bool))
    assert states(said(page(EDITOR, kind="own", drawn=drawn)), "1 of 5 words")
    page(EDITOR, kind="own", drawn=drawn, text=SENTENCES[1])  # a mask of another sentence: another stands in


def test_closed_folds_compute_nothing(monkeypatch):
    for module, name in ((errata, "show"), (editor.masks, "leak_curve"), (masks_batch, "run_batch")):
        monkeypatch.setattr(module, name, None)
    page(EDITOR)


def test_a_finite_number_leaks():
    """C037."""
    data = matrices(MaskedHead(text=TEXT))
    leak = lesson.filled(data.scores, data.allowed, -1, p=data.d_head, inside=True).worst[1]
    test = page(EDITOR, "finite", fill=-1, layer=0, head=0)
    assert percent(leak, 2) in said(test) and leak > 0.2
    lines = dict.fromkeys(point["line"] for point in drawn_rows(test, mark="line"))
    assert list(lines) == [f"{when} dividing by √{data.d_head}" for when in ("before", "after")]


def test_a_batch_of_two_sentences_shows_every_mask():
    """C071."""
    test = page(EDITOR, "batch")
    titles = {header.get("title") for header in instruments(test)}
    assert {"Source padding", "Target padding", "Causal", "Target: both"} <= titles
    assert states(said(test), "0.0")


def test_the_question_is_answered_with_this_rows_numbers():
    test, data = page(EDITOR, layer=0, head=0, guess={"guess": "It is lost"}), matrices(MaskedHead(text=TEXT))
    told = lesson.mask_favourite(data.scores, data.allowed, 2)
    assert told is not None and f"from {told.before:.3f} to {told.after:.3f}" in said(test)


@given(some.integers(1, 40).flatmap(lambda n: arrays(bool, (n, n))))
def test_a_drawn_mask_survives_the_link(mask):
    text = masks_panels.pack(mask)
    back = masks_panels.unpack(text, len(mask))
    assert back is not None and np.array_equal(back, mask)
    assert masks_panels.unpack(text, len(mask) + 1) is None
    assert len(mask) > 100 or len(text) < 2000


@given(some.text(max_size=40), some.integers(1, 9))
def test_no_text_breaks_the_link(text, n):
    found = masks_panels.unpack(text, n)
    assert found is None or found.shape == (n, n)
