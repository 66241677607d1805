"""A decoding as data: there and back, run twice with equal steps, and everything that is refused."""

from __future__ import annotations

import json

import pytest
from decoding_helpers import build, counted

from core.decoding import Beam, Greedy, Sample
from core.decoding.record import Decoding, decode_force, encode_force
from core.errors import InputError
from core.serving.engine import default

STRATEGIES = [
    Greedy(),
    Sample(temperature=0, repetition_penalty=1.3),
    Sample(0.8, 9, 0.9, 7, 0.05, 1.2),
    Beam(3),
    Beam(4, 0.5, False, groups=2, diversity=0.7),
]
GOOD = {"decoding": 1, "model": "gpt", "text": "the old cat", "strategy": {"name": "sample", "seed": 3}}


@pytest.fixture(scope="module", params=["gpt", "transformer"])
def m(request):
    return build(request.param)


@pytest.mark.quick(7)
@pytest.mark.parametrize("force", [(), ((1, 60), (3, 70))])
@pytest.mark.parametrize("strategy", STRATEGIES, ids=str)
def test_a_decoding_that_was_sent_writes_the_same(m, strategy, force):
    decoding = Decoding(m.name, "the old cat", strategy, max_new_tokens=6, force=force)
    sent = Decoding.from_json(decoding.to_json())
    assert sent == decoding
    assert hash(sent) == hash(decoding)
    one, two = (list(d.run(lambda name: {m.name: m}[name])) for d in (decoding, sent))
    assert len(one) > 1
    assert [(s.id, s.logprob, s.draw, s.candidates, s.text, s.ids, s.tree) for s in one] == [
        (s.id, s.logprob, s.draw, s.candidates, s.text, s.ids, s.tree) for s in two
    ]
    if force and not isinstance(strategy, Beam):
        assert one[1].id == 60 and one[1].chosen_by == "forced"


def test_every_field_comes_back():
    decoding = Decoding("bahdanau", 'año 😀\n"\ud800', Beam(2), "el gato", 17, [[4, 2], (0, 9)])
    again = Decoding.from_json(decoding.to_json())
    assert again == decoding
    assert again.force == ((0, 9), (4, 2))
    assert "\n" not in decoding.to_json()


def test_what_is_missing_and_has_a_default_takes_it():
    assert Decoding.from_json(json.dumps(GOOD)) == Decoding("gpt", "the old cat", Sample(seed=3))
    assert Decoding.from_json('{"decoding": 1, "model": "gpt", "text": ""}') == Decoding("gpt", "")


def without(name):
    return {key: value for key, value in GOOD.items() if key != name}


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        ("", "cannot be read"),
        ("{", "cannot be read"),
        ("[" * 100_000, "nested too deeply"),
        ("[]", "no decoding"),
        ("null", "no decoding"),
        ('{"decoding": 1, "decoding": 1}', "occurs twice"),
        ('{"decoding": NaN}', "NaN is not a number"),
        ("\ud800", "not UTF-8"),
        ('{"width": 3}', "no decoding"),
        (json.dumps(GOOD | {"decoding": 2}), "no decoding"),
        (json.dumps(without("model")), "no field 'model'"),
        (json.dumps(without("text")), "no field 'text'"),
        (json.dumps(GOOD | {"edits": []}), "unknown field 'edits'"),
        (
            json.dumps(GOOD | {"strategy": {"name": "sample", "top_q": 1}}),
            "strategy 'sample' has an unknown field 'top_q'",
        ),
        (json.dumps(GOOD | {"strategy": {"name": "magic"}}), "no strategy"),
        (json.dumps(GOOD | {"strategy": {"name": ["beam"]}}), "no strategy"),
        (json.dumps(GOOD | {"strategy": "beam"}), "no strategy"),
        (json.dumps(GOOD | {"strategy": {"seed": 1}}), "no strategy"),
        (json.dumps(GOOD | {"strategy": {"name": "sample", "temperature": "hot"}}), "temperature is hot"),
        (json.dumps(GOOD | {"strategy": {"name": "beam", "early_stopping": "yes"}}), "Early stopping is yes"),
        (json.dumps(GOOD | {"model": 3}), "model of the decoding is no text"),
        (json.dumps(GOOD | {"text": None}), "text of the decoding is no text"),
        (json.dumps(GOOD | {"max_new_tokens": -1}), "max_new_tokens is -1"),
        (json.dumps(GOOD | {"max_new_tokens": True}), "max_new_tokens is True"),
        (json.dumps(GOOD | {"force": {"1": 2}}), "no (step, id) pairs"),
        (json.dumps(GOOD | {"force": [[1]]}), "no (step, id) pairs"),
        (json.dumps(GOOD | {"force": [[1, "m"]]}), "no (step, id) pairs"),
        (json.dumps(GOOD | {"force": [[1, -2]]}), "no (step, id) pairs"),
        (json.dumps(GOOD | {"force": [[1, 2], [1, 3]]}), "two forced tokens"),
        (json.dumps(GOOD | {"text": "a" * 10**6}), "letters"),
    ],
)
def test_a_broken_or_foreign_one_is_refused_in_three_parts(raw, says):
    with pytest.raises(InputError) as error:
        Decoding.from_json(raw)
    assert says in error.value.wrong
    assert all((error.value.wrong, error.value.rule, error.value.remedy))


def test_a_model_is_opened_by_a_listed_name_and_never_by_a_path(tmp_path):
    for name in ("no such model", str(tmp_path), "../models", "hf:gpt2"):
        with pytest.raises(InputError):
            Decoding(name, "the").run(default().open)


def test_closing_stops_the_work_and_nothing_is_done_before_the_first_step(m):
    count = counted(m)
    for strategy in STRATEGIES:
        before = count[0]
        steps = Decoding(m.name, "the old cat", strategy, max_new_tokens=20).run(lambda _: m)
        assert count[0] == before
        next(steps), next(steps)
        used = count[0]
        steps.close()
        assert list(steps) == []
        assert count[0] == used <= before + 3


@pytest.mark.parametrize("force", [(), ((0, 0),), ((3, 512), (7, 18)), ((0, 1), (1, 2), (40, 50_256))])
def test_forced_tokens_in_a_link_come_back(force):
    assert decode_force(encode_force(force)) == force


@pytest.mark.parametrize(
    "raw",
    [
        "3",
        "3:",
        ":3",
        "3:5:7",
        "a:1",
        "3:512,7:18",
        "3:512.",
        ".3:512",
        "3:-1",
        "-3:1",
        " 3:1",
        "3:1\n",
        "03:1",
        "3:01",
        "3:1.3:2",
        "7:1.3:2",
        "٣:1",
        "1_0:2",
        "1:9999999999",
        "3:1..4:2",
        "3:1.5",
        ".",
    ],
)
def test_a_broken_link_is_refused(raw):
    with pytest.raises(ValueError, match="step:id"):
        decode_force(raw)


def test_a_forced_token_outside_the_vocabulary_shows_when_it_is_run(m):
    with pytest.raises(InputError, match="no token"):
        Decoding(m.name, "the", force=decode_force("0:99999")).run(lambda _: m)
