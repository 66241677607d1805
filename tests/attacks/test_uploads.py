"""What a browser may send as a model: lies about lengths, bombs, wrong names, wrong orders, sleepers, and the model of another."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from crafted import case
from crafted.vocabulary import replace
from crafting import CONFIG as GOOD
from crafting import good_folder, packed, tensor
from upload_sender import CONFIG, HEAD, TOKENIZER, WEIGHTS, Sender, Watch, refused

import core.serving.engine
from core.checkpoints.safety.load_plan import Plan
from core.errors import InputError
from core.jobs import user_models
from core.serving.engine import Engine, RunRequest
from viz.uploads import routes, store
from viz.uploads.store import UPLOADS


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return good_folder(tmp_path_factory.mktemp("upload") / "model")


@pytest.fixture
def sender(good: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Sender]:
    """A visitor of a server that takes a megabyte of weights."""
    monkeypatch.setenv("ATLAS_UPLOAD", "1M")
    monkeypatch.setattr(UPLOADS, "_uploads", {})
    monkeypatch.setattr(user_models.SHELF, "_models", {})
    monkeypatch.setattr(routes, "SPARE", 0)
    with Engine() as engine:
        monkeypatch.setattr(core.serving.engine, "_default", engine)
        yield Sender.of(good)
        UPLOADS.forget_absent(())


def edited(change: Callable[[dict[str, Any]], object]) -> Callable[[bytes], bytes]:
    """A file of JSON with something else in it."""

    def upload(given: bytes) -> bytes:
        values = json.loads(given)
        change(values)
        return json.dumps(values).encode()

    return upload


def header(values: dict[str, Any] | Callable[[bytes], bytes]) -> Callable[[Sender], bytes]:
    """The good weights with this header in place of theirs, or with theirs changed."""

    def upload(sender: Sender) -> bytes:
        own = values(sender.head[8:]) if callable(values) else values
        return packed(own, sender.files[WEIGHTS][len(sender.head) :])

    return upload


def first(values: dict[str, Any]) -> dict[str, Any]:
    return next(value for name, value in values.items() if name != "__metadata__")


def test_a_good_model_opens_for_its_visitor_alone_and_goes_with_the_visit(sender: Sender) -> None:
    status, told = sender.all()
    assert status == 200 and told["name"].startswith("upload: gpt2 (")
    name, engine, shelf = told["name"], core.serving.engine.default(), user_models.SHELF
    run = engine.run(RunRequest(name, "the animal"), session="Ana")
    assert run.tokens and list(shelf.listings("Ana")) == [name] and not shelf.listings("Ben")
    with pytest.raises(InputError, match="no longer here"):
        engine.open(name, "Ben")
    folder = shelf.find(name, "Ana").folder
    again = sender.all()[1]["name"]
    assert again != name and not folder.exists() and list(shelf.listings("Ana")) == [again], "one a visitor"
    folder, before = shelf.find(again, "Ana").folder, engine.cached_bytes
    engine.run(RunRequest(again, "the street"), session="Ana")
    UPLOADS.forget_absent({"Ben"})
    assert not folder.exists() and not UPLOADS and engine.cached_bytes <= before
    with pytest.raises(InputError, match="no longer here"):
        engine.open(again)


@pytest.mark.parametrize(
    ("part", "how", "words"),
    [
        (CONFIG, {"length": None}, "not said how long"),
        (CONFIG, {"length": "-5"}, "not said how long"),
        (CONFIG, {"length": "1e3"}, "not said how long"),
        (CONFIG, {"length": "9" * 30}, "not said how long"),
        (CONFIG, {"length": 2**20 + 1}, "at most 1,048,576"),
        (CONFIG, {"body": [b"{", b"}" * 99], "length": 2}, "longer than was said"),
        (CONFIG, {"body": b"{}", "length": 200}, "ended after 2 of 200"),
        (TOKENIZER, {"length": 2**25 + 1}, "at most 33,554,432"),
        (f"{HEAD}?bytes=", {}, "not said how long model.safetensors is"),
        (f"{HEAD}?bytes=-1", {}, "not said how long model.safetensors is"),
        (f"{HEAD}?bytes={2**20 + 1}", {}, "takes up to 1,048,576"),
        (f"{HEAD}?bytes=9", {}, "has 9 bytes"),
        (HEAD, {"length": 2**23}, "at most 5,242,888"),
        (WEIGHTS, {}, "its beginning has not come"),
        ("pytorch_model.bin", {}, "none of the files"),
        ("model.safetensors.index.json", {}, "none of the files"),
        ("..%2f..%2fetc", {}, "none of the files"),
        ("chat_template.jinja", {}, "none of the files"),
        ("modeling.py", {}, "none of the files"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_lies_about_lengths_and_names(sender: Sender, part: str, how: dict[str, Any], words: str) -> None:
    if part != CONFIG:
        sender.all(CONFIG, TOKENIZER)
    with Watch():
        refused(sender.send(part, **how), words)
    assert not user_models.SHELF.all("Ana")


def test_a_model_of_pictures_comes_without_a_tokenizer(sender: Sender) -> None:
    files = case.good("vit")
    pictures = Sender({CONFIG: files[CONFIG], WEIGHTS: files[WEIGHTS]})
    status, told = pictures.all(CONFIG, HEAD, WEIGHTS)
    assert status == 200 and told["name"].startswith("upload: vit")


def test_the_files_come_in_order_and_for_a_known_visit(sender: Sender, monkeypatch) -> None:
    refused(sender.send(TOKENIZER), "config.json has not come")
    refused(sender.send(HEAD), "config.json has not come")
    sender.all(CONFIG)
    refused(sender.send(HEAD), "tokenizer.json is missing")
    refused(sender.send(CONFIG, ticket="guessed"), "not known here any more")
    UPLOADS.find(UPLOADS.ticket("Ana")).busy = True
    refused(sender.send(TOKENIZER), "being sent already")
    UPLOADS.find(UPLOADS.ticket("Ana")).busy = False
    monkeypatch.setattr(store, "VISITORS", 1)
    refused(Sender(sender.files, "Ben").send(CONFIG), "At most 1 may")
    monkeypatch.delenv("ATLAS_UPLOAD")
    refused(sender.send(CONFIG), "Nothing can be uploaded")


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        (lambda _: packed(b"{}", length=2**63), "does not fit into 10"),
        (lambda _: packed(b'{"a":', b"x" * 9, length=900_000), "cut off"),
        (lambda _: packed(b"{" + b'"a":{' * 30_000 + b"}" * 30_001), "cannot be read"),
        (lambda _: packed(b"{" + b'"a":{' * 90_000 + b"}" * 90_001), "too many tensors"),
        (lambda _: packed(b"[" * 5000 + b"]" * 5000), "not a safetensors file"),
        (lambda _: packed(b'{"a": {"dtype": "F32"}, "a": {}}'), "'a' occurs twice"),
        (lambda _: packed(b'{"a": NaN}'), "NaN is not a number"),
        (lambda _: packed(b'{"\xff": 1}'), "not UTF-8"),
        (lambda _: b"PK\x03\x04" + b"\0" * 100, "a zip archive"),
        (lambda _: b"\x80\x04\x95" + b"\0" * 100, "Python pickle"),
        (lambda _: b"GGUF" + b"\0" * 100, "a GGUF file"),
        (lambda _: b"version https://git-lfs.github.com/spec/v1\n" + b" " * 99, "Git LFS pointer"),
        (lambda _: b"<!doctype html>" + b" " * 100, "a web page"),
        (header({"../../etc/passwd": tensor([1], 0, 4)}), "no paths"),
        (header({"a": tensor([2**31, 2**31], 0, 4)}), "do not fit its shape"),
        (header({"a": tensor([-1], 0, 4)}), "no possible shape"),
        (header({"a": {**tensor([1], 0, 4), "file": "x"}}), "is not described by"),
        (header({"a": tensor([1], 0, 4, "Q4_0")}), "stored as Q4_0"),
        (header({"a": tensor([1], 0, 4), "b": tensor([1], 0, 4)}), "overlap"),
        (header({"a": tensor([1], 4, 8)}), "a hole"),
        (header(edited(lambda values: first(values).update(dtype="I32"))), "stored as I32"),
        (header(edited(lambda values: values.pop(next(iter(values))))), "is damaged"),
        (lambda sender: sender.files[WEIGHTS] + b"more", "4 bytes follow"),
        (lambda sender: sender.files[WEIGHTS][:-4], "cut off"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_list_of_tensors_is_judged_before_a_tensor_is_sent(
    sender: Sender, weights: Any, words: str
) -> None:
    sender.all(CONFIG, TOKENIZER)
    sender.files[WEIGHTS] = weights(sender)
    with Watch():
        refused(sender.send(HEAD), words)
        refused(sender.send(WEIGHTS), "its beginning has not come")


@pytest.mark.parametrize(
    ("config", "words"),
    [
        (b"", "cannot be read"),
        (b"[1]", "holds no JSON object"),
        (b'{"a": ' * 90_000, "nested too deeply"),
        (b'{"model_type": "gpt2", "model_type": "bert"}', "'model_type' occurs twice"),
        (b'{"n": ' + b"9" * 90_000 + b"}", "too many digits"),
        (GOOD | {"model_type": "evil", "auto_map": {"AutoModel": "evil.Evil"}}, "model_type is 'evil'"),
        (GOOD | {"n_layer": 10**9}, "n_layer is 1000000000"),
        (GOOD | {"n_embd": 2**16, "n_head": 4, "vocab_size": 2**22}, "has the shape"),
        (GOOD | {"quantization_config": {"bits": 4}}, "quantization_config is set"),
        (GOOD | {"n_layer": 3}, "Weights missing"),
        (GOOD | {"vocab_size": 276}, "has the shape"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_config_is_judged_before_a_tensor_is_sent(sender: Sender, config: Any, words: str) -> None:
    sender.files[CONFIG] = config if isinstance(config, bytes) else json.dumps(config).encode()
    with Watch():
        refused(sender.all(CONFIG, TOKENIZER, HEAD), words)


SPLIT = {"type": "Split", "pattern": {"Regex": "(a+)+$"}, "behavior": "Isolated", "invert": False}
TEMPLATE = {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "absent", "type_id": 0}}]}
TEMPLATE |= {"pair": [], "special_tokens": {}}


@pytest.mark.quick(1)
@pytest.mark.parametrize(
    ("tokenizer", "words"),
    [
        (edited(lambda held: held.update(pre_tokenizer=SPLIT)), "regular expression"),
        (lambda _: b"\x80\x04.", "not readable"),
        (lambda _: b"[" * 10**6, "not readable"),
        (edited(lambda held: held.update(post_processor=TEMPLATE)), "refused"),
        (edited(lambda held: held["model"].update(dropout=0.5)), "dropout"),
        (edited(lambda held: held["model"].update(type="Lua")), "not among"),
        (edited(lambda held: held["model"]["vocab"].update(far=10**6)), "1,000,000"),
        (edited(lambda held: held["model"]["merges"].insert(0, ["a" * 999, "b"])), "refused"),
        (edited(lambda held: held.update(normalizer=replace("a", "a" * 999))), "times longer"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_tokenizer_is_tried_in_the_child_before_a_tensor_is_sent(
    sender: Sender, tokenizer: Any, words: str
) -> None:
    sender.files[TOKENIZER] = tokenizer(sender.files[TOKENIZER])
    with Watch():
        refused(sender.all(CONFIG, TOKENIZER, HEAD), words)


def test_the_weights_are_those_that_were_judged(sender: Sender) -> None:
    good = sender.files[WEIGHTS]

    def judged(body: Any, words: str, **how: Any) -> None:
        assert sender.all(CONFIG, TOKENIZER, HEAD)[0] == 200
        with Watch():
            refused(sender.send(WEIGHTS, body, **how), words)
            refused(sender.send(WEIGHTS, good), "its beginning has not come")
        assert not user_models.SHELF.all("Ana")

    judged(b"\0" * len(good), "begins otherwise")
    nan = np.full((len(good) - len(sender.head)) // 4, np.nan, np.float32).tobytes()
    judged(sender.head + nan, "NaN or infinite")


@pytest.mark.parametrize(
    ("body", "how", "words"),
    [
        (lambda good: good + b"x", {}, "and had"),
        (lambda good: [good, b"x" * 99], {"length": -99}, "longer than was said"),
        (lambda good: good[:-1], {"length": 1}, "ended after"),
    ],
)
def test_the_weights_are_as_long_as_was_said(
    sender: Sender, monkeypatch, body: Any, how: Any, words: str
) -> None:
    monkeypatch.setattr(routes, "read_tokenizer", lambda *_: None)
    assert sender.all(CONFIG, TOKENIZER, HEAD)[0] == 200
    given = body(sender.files[WEIGHTS])
    whole = len(given) if isinstance(given, bytes) else sum(map(len, given))
    refused(sender.send(WEIGHTS, given, length=whole + how.get("length", 0)), words)


def test_who_sleeps_or_trickles_is_given_up(sender: Sender, monkeypatch) -> None:
    monkeypatch.setattr(routes, "QUIET", 0.05)
    with Watch():
        refused(sender.send(CONFIG, [b"{", b"}"], pause=0.2), "comes too slowly")
    monkeypatch.setattr(routes, "QUIET", 5.0)
    monkeypatch.setattr(routes, "FIRST", 0.0)
    with Watch():
        refused(sender.send(CONFIG, [b"{", b"}"] * 50, pause=0.02), "comes too slowly")


def test_what_no_disk_and_no_memory_holds_is_refused_before_it_is_sent(sender: Sender, monkeypatch) -> None:
    monkeypatch.setattr(routes, "read_tokenizer", lambda *_: None)
    engine = core.serving.engine.default()
    engine.set_memory_budget(lambda: 1000)
    refused(sender.all(CONFIG, TOKENIZER, HEAD), "This gpt2 needs", "can be had")
    engine.set_memory_budget(lambda: 1e9)
    assert sender.send(HEAD)[0] == 200
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=1000))
    refused(sender.send(HEAD), "disk of this server has no room")


def test_two_visitors_at_once_get_each_his_own(sender: Sender, monkeypatch) -> None:
    monkeypatch.setattr("core.checkpoints.load.TokenizerLoader", _shared(sender))
    monkeypatch.setattr(routes, "read_tokenizer", lambda *_: None)
    visitors, came = [Sender(sender.files, f"visitor {i}") for i in range(4)], dict[str, str]()
    threads = [
        threading.Thread(target=lambda one=one: came.update({one.session: one.all()[1]["name"]}))
        for one in visitors
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for session, name in came.items():
        assert [one.name for one in user_models.SHELF.all(session)] == [name]
    assert len({*came.values()}) == len(visitors)


def _shared(sender: Sender) -> Callable[..., Any]:
    """The tokenizer of the good model, tried already."""
    import tokenizers

    from core.text import Tokenizer

    def tried(_: Path, plan: Plan) -> Any:
        backend = tokenizers.Tokenizer.from_str(sender.files[TOKENIZER].decode())
        return nullcontext(SimpleNamespace(check=lambda: None, tokenizer=Tokenizer(backend, **plan.ids)))

    return tried
