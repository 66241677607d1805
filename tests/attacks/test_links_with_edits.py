"""Edits out of a link that anyone may have written: each is made, or refused in words; the run after them ends."""

from __future__ import annotations

import random

import pytest

from core.edits.serialize import NAMES
from core.edits.validate import shapes
from viz.shell.selection import Selection
from viz.workspace.what_if import data

TEXT = {
    "gpt-mini": "The cat sat on the mat.",
    "bert-mini": "The [MASK] sat on the mat.",
    "translator-en-es": "The cat sat.",
}
NUMBERS = [
    "0",
    "-1",
    "1",
    "5",
    "99999",
    "-99999",
    "1e30",
    "-1e38",
    "1e39",
    "1e300",
    "1e-320",
    "nan",
    "inf",
    "0x1",
    "1_0",
    "",
    "x" * 500,
    "1,0",
    "0,0,0",
    "1e38,1e38",
    ",".join(["0.1"] * 256),
    ",".join(["1e38"] * 256),
    "11,10",
    "0" * 4000,
    "The%20cat",
    "%ED%A0%80",
    "%00",
    "our%20sentences",
    "lines%20of%20its%20task",
]


@pytest.fixture(scope="module", params=TEXT)
def before(request):
    return data.first(Selection(request.param, TEXT[request.param]))


def outcome(raw, before):
    """Whether the edits of a link are all refused, or made; anything but words is an error of this test."""
    _, kept, errors = data.changed(before, raw)
    for error in errors:
        assert len(str(error)) < 900
        assert str(error).isprintable(), raw
    return "made" if kept else "refused"


CASES = {
    "a vector of another width": "add:{stack}.0.resid_in:1,2,3",
    "a vector of another width at one place": "add:{stack}.0.resid_in:1,2,3:0",
    "a vector of no width": "add:{stack}.0.resid_in:1",
    "a factor that overflows": "times:{stack}.0.resid_in:1e300",
    "a factor that overflows for one head": "scale:{heads}:0:1e300",
    "everything times two": "times:*:2",
    "a mask times two": "times:*.allowed:2",
    "a pattern onto a stream": "row:{stack}.0.resid_in:0:1",
    "a pattern whose sum overflows": "row:{pattern}:0:1e308,1e308",
    "a pattern without a sum": "row:{pattern}:0:0,0,0",
    "a root of less than nothing": "unscaled:{scores}:-4",
    "a temperature next to nothing": "temperature:{scores}:1e-320",
    "a mask onto a stream": "mask:{stack}.0.resid_in:1",
    "a mask of unlike rows": "mask:{allowed}:10,1",
    "a head of a stream": "zero:{stack}.0.resid_in:0",
    "a cell of a stream": "forbid:{stack}.0.resid_in:0:0",
    "a word onto a pattern": "word:{pattern}:0:%20cat",
    "a mean of another width": "mean:{heads}:0:1,2,3",
    "positions of everything": "swap:*:0:9",
    "a pattern of stars": "zero:" + "*?" * 400 + "x:0",
    "a class of letters backwards": "zero:[z-a]:0",
}


@pytest.mark.quick(20)
@pytest.mark.parametrize("case", CASES)
def test_a_misfit_is_refused_in_words(before, case):
    kinds = before.model.spec.kinds_of(before.model.config)
    kind = kinds[-1]
    names = {leaf: kind.path(0, leaf) for leaf in ("heads", "pattern", "scores", "allowed")}
    stack = next(iter(before.model.spec.stacks.values()), "decoder.layer")
    assert outcome(CASES[case].format(stack=stack, **names), before) == "refused"


def test_changes_that_are_together_too_much_are_refused_after_the_run(before):
    stack = next(iter(before.model.spec.stacks.values()))
    after, kept, errors = data.changed(before, ";".join([f"times:{stack}.1.resid_mid:1e38"] * 3))
    assert after is before
    assert kept == ()
    assert "NaN or infinite" in str(errors[-1])


@pytest.mark.quick(1)
def test_thousands_of_edits_end_in_words(before):
    draw, paths = random.Random(3), [*shapes(before), "*", "*.allowed", "*.heads", "no.such"]
    seen = set()
    for _ in range(600):
        parts = []
        for _ in range(draw.randint(1, 2)):
            parts.append(
                ":".join(
                    [
                        draw.choice(list(NAMES)),
                        draw.choice(paths),
                        *draw.choices(NUMBERS, k=draw.randint(0, 4)),
                    ]
                )
            )
        seen.add(outcome(";".join(parts), before))
    assert seen == {"made", "refused"}
