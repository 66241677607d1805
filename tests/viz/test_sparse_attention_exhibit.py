"""The exhibit on sparse attention: the mask part by part, the share kept, ways, the clock, and a long text in blocks."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import torch
from drawn_layers import all_rows, drawn_rows
from exhibit_pages import StepPages, said
from exhibit_visits import answered
from shown_values import states

from core import masks
from core.layers.block_sparse import PARTS, over_all_pairs, sparse
from core.scoring.cost import Cost
from viz.course.bert.sparse_attention import clock, maths, read
from viz.course.bert.sparse_attention.maths import Mask, Shape
from viz.course.bert.sparse_attention.params import LONG, Params

STORY = "One two three four five six seven eight nine ten. "
page = StepPages("sparse_attention")


def parts(test) -> list[str]:
    """Return the part of the mask of each cell."""
    return [row["part"] for row in all_rows(test) if "part" in row]


def test_the_mask_of_the_course_is_counted_and_drawn_in_three_colours():
    """C095: local, global, random together; 622 of 4,096 blocks, 15.2%."""
    test, mask = answered(page()), Mask.from_shape(Shape(4096))
    assert "622 of 4,096, 15.2%" in said(test)
    counts = mask.counts()
    assert (counts["window"], counts["global"], counts["random"]) == (190, 252, 186)
    shared = int((mask.parts["window"] & mask.parts["global"]).sum())
    drawn = {part: parts(test).count(part) for part in PARTS}
    assert drawn == counts | {"window": counts["window"] - shared} and sum(drawn.values()) == 622


@pytest.mark.parametrize("part", PARTS)
def test_each_part_is_drawn_by_itself(part):
    """C095: separately."""
    assert parts(page(shown=part)) == [part] * Mask.from_shape(Shape(4096)).counts()[part]


def test_the_sliders_change_the_mask_and_the_seed_its_random_blocks_alone():
    mask, other = (Mask.from_shape(Shape(1024, 32, 5, 1, 2, seed)) for seed in (3, 4))
    assert (mask.parts["window"] == masks.window(32, 2).numpy()).all()
    assert (mask.parts["global"] == masks.global_tokens(32, [0]).numpy()).all()
    assert (other.parts["random"] != mask.parts["random"]).any()
    assert (other.union(PARTS[:2]) == mask.union(PARTS[:2])).all()
    test = page(n=1024, block=32, window=5, n_global=1, n_random=2, seed=3)
    assert len(parts(test)) == mask.union().sum()


def test_the_share_kept_falls_with_the_length_and_full_is_768_mib_against_12():
    test = answered(page(2))
    assert states(said(test), "768 MiB") and "12 MiB" in said(test) and "15.2%" in said(test)
    kept = [row["y"] for row in drawn_rows(test, mark="line") if row["line"] == "kept"]
    wanted = [maths.score_bytes(n, maths.share(Shape(n))) for n in maths.LENGTHS]
    assert kept == pytest.approx(wanted) and wanted[-1] == 12 * 622 * 64 * 64 * 4
    assert all(later < earlier for earlier, later in pairwise(maths.shares(Shape())))


def test_full_mask_equals_full_attention():
    """C095: with a window as wide as the text every pair is kept, and the blocks give the numbers of full attention."""
    whole = Shape(128, 16, 9, 6, 6)
    assert maths.share(whole) == 1 > maths.share(Shape(512, 16, 9, 6, 6))
    q, k, v = torch.randn(3, 1, 1, 128, 8, generator=torch.Generator().manual_seed(2))
    ours = sparse(q, k, v, whole.layout(), 16, torch.ones(1, 128, dtype=torch.bool))
    torch.testing.assert_close(ours, over_all_pairs(q, k, v, masks.full(128)), atol=1e-5, rtol=1e-5)


def test_a_way_is_as_long_as_a_search_by_powers_says():
    mask = Mask.from_shape(Shape(1024, 32, 3, 1, 1, 5))
    for chosen in (PARTS, PARTS[:1], ("random",), ("global",)):
        kept = mask.union(chosen) | np.eye(32, dtype=bool)
        found, reached, layers = maths.distances(mask.union(chosen)), np.eye(32, dtype=bool), 0
        while layers <= found.max():
            assert ((found >= 0) & (found <= layers) == reached).all()
            reached, layers = (kept.astype(int) @ reached) > 0, layers + 1
        for source, target in ((0, 31), (7, 20), (31, 3), (4, 4)):
            way = maths.way(mask, source, target, chosen)
            steps = found[target, source]
            assert (way.steps if way.steps is not None else -1) == steps
            assert all(mask.union(chosen)[after, at] for at, after in pairwise(way.path))
            assert len(way.parts) == max(0, steps)
    assert maths.far(mask, PARTS).most == 2 and maths.far(mask, PARTS[:1]).most == 31


@pytest.mark.slow
def test_the_path_waits_for_the_guess_and_names_its_blocks():
    steps = str(Params().target - Params().source)
    assert not parts(page(3)) and len(parts(page(3, guess={"path.window": steps}))) == int(steps)
    for question, answer, words, link in (
        ("path.window", steps, steps, {}),
        ("path.all", "2", "all three 2", {"allowed": "all"}),
        ("path.random", "never", "No path", {"allowed": "random", "n_random": 0}),
    ):
        test = page(3, guess={question: answer}, **link)
        assert page.answer(test, question) == answer and words in said(test)
    assert "Both words" in said(page(3, first=50, second=50))


def test_the_recorded_run_comes_first_and_a_press_measures_this_mask(monkeypatch):
    """Time and memory of full against block-sparse attention at 256 to 4,096."""
    where, rows, _ = clock.recorded()
    test = page(4)
    assert where in said(test) and [row.n for row in rows] == list(maths.LENGTHS)
    assert rows[-1].full.nbytes > 5 * rows[-1].blocks.nbytes
    assert rows[-1].full.seconds > 2 * rows[-1].blocks.seconds
    asked: list[tuple] = []

    def measure(n: int, *shape: int) -> maths.Timing:
        asked.append((n, *shape))
        return maths.Timing(n, Cost(2e-3, 800), Cost(1e-3, 400))

    monkeypatch.setattr(maths, "measure", measure)
    test.button(key="sparse_attention.measure").click().run()
    assert not test.exception and "this server" in said(test)
    assert asked == [(n, 64, 3, 2, 3, 0) for n in maths.LENGTHS]
    test.button(key="sparse_attention.recorded").click().run()
    assert where in said(test)


def test_both_ways_are_measured_on_this_machine():
    found = maths.measure(512, 16, 3, 2, 3, 0, budget=0.0)
    assert found.full.seconds > 0 and found.blocks.seconds > 0
    assert found.full.nbytes >= 4 * 512 * 512 * 2


@pytest.mark.slow
def test_a_long_text_is_read_in_blocks_and_guesses_follow_the_answer():
    test, found, guessed = answered(page(5)), read.reading(LONG, 3, 0), read.guesses(LONG)
    assert not test.error and found.n > 512 and found.model == "bigbird-mini"
    assert found.blocks.shape == (-(-found.n // found.block),) * 2
    np.testing.assert_allclose(found.blocks.sum(1), 1, atol=1e-4)
    assert found.blocks[~found.allowed].max() == 0 and 0.1 < found.allowed.mean() < 0.5
    assert sum(found.attention_by_part.values()) == pytest.approx(1, abs=1e-4)
    assert states(said(test), guessed.n, guessed.blocks)
    assert 0 < guessed.blocks <= guessed.n and 0 < guessed.same <= guessed.n


@pytest.mark.quick(1)
@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Moon", "tokens in 1 block of 16"),
        pytest.param(f"{LONG} {LONG}", "are read.", marks=pytest.mark.slow),
        pytest.param(STORY * 90, "62 blocks of 16", marks=pytest.mark.slow),
        (" ", "no word"),
    ],
    ids=["one word", "longer than is read", "900 words", "empty"],
)
def test_any_text_is_read_calmly(text, wanted):
    test = page(5, own=text)
    assert wanted in " ".join([said(test), *(str(each.value) for each in test.error)])
