"""The models in a published page, against the runs of the same models in Python: from a stick, and from a static server."""

from __future__ import annotations

import base64
import json
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pytest
from deep import deep
from playwright.sync_api import expect
from settling import press
from static_folder import served

import core
from core.edits import SetAllowed, ZeroHead
from core.run import Run
from viz.export import __main__ as command
from viz.export.live import site
from viz.export.live.pack import MODELS, tokenizer_rules
from viz.export.site import VIZ
from viz.instruments.kit.modules import follow, join_modules
from viz.shell.lessons import toml_format
from viz.shell.lessons.plan import Plan, Stop

NEAR = 1e-3
"""The largest difference of an attention weight."""
LEAVES = {"self": "self_attn", "causal": "self_attn", "cross": "cross_attn"}
SENTENCES = {
    "gpt-mini": (
        "The old man sat by the fire and told the king about the",
        "Once upon a time there was a girl who lived in a small house.",
        "A",
        "it's I'LL  two  spaces\nand a line",
        "naïve café \U0001f600 \u65e5\u672c \u200b\u0301 Ünïcödé",
        "<|endoftext|> is read as letters",
        "</script><img src=x onerror=alert(1)>",
        "1 2 3 4 5 6 7 8 9 10",
        "the the the the the the the the",
        "He said: “No!” – and went away … to the sea.",
    ),
    "bert-mini": (
        "The capital of [MASK] is Paris.",
        "I [MASK] to the [MASK] yesterday.",
        "A",
        "[mask] [CLS] [MASK][MASK]",
        "naïve CAFÉ \U0001f600 \u65e5\u672c \u200b\u0301 Ünïcödé İstanbul ΑΣ",
        "unbelievableness " + "x" * 120,
        "</script><img src=x onerror=alert(1)>",
        "1 2 3 4 5 6 7 8 9 10",
        "the the the the the the the the",
        "He said: “No!” – and went away … to the sea.",
    ),
    "translator-en-es": (
        "She has a white car.",
        "The old man and the sea were not in the house that I bought yesterday.",
        "A",
        "My brother, who lives in Boston, is coming to visit us next week.",
        "naïve café \U0001f600 \u65e5\u672c",
        "Ünïcödé tést, asdf jkl",
        "Tom said that he didn't want to go to school with Mary.",
        "1 2 3 4 5 6 7 8 9 10",
        "If I had known that, I would never have told her the truth about it.",
        "I would like to know whether you can come to the party on Friday evening.",
    ),
}
golden = cache(core.open_model)


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Publish a page of these models once; return its folder."""
    place = tmp_path_factory.mktemp("live")

    @cache
    def publish(*names: str) -> Path:
        site.write(names, folder := place / "-".join(names))
        return folder

    return publish


READ = """({ attentions, ids, written, predictions, refused }) => {
  const bytes = (weights) => { let text = ""; for (const byte of new Uint8Array(weights.buffer)) text += String.fromCharCode(byte); return btoa(text); };
  return { ids, written, predictions, refused, attentions: attentions?.map((one) => ({ ...one, weights: bytes(one.weights), allowed: [...one.allowed] })) };
}"""


def differences(answer: dict[str, Any], run: Run) -> Iterator[float]:
    """Yield the largest difference of the patterns of each kind; their axes must have the same names."""
    for one in answer["attentions"]:
        attention = run.attention(one["kind"], writing=one["kind"] == "cross")
        weights = np.frombuffer(base64.b64decode(one["weights"]), "<f4").reshape(one["shape"])
        assert tuple(one["queries"]) == attention.queries and tuple(one["keys"]) == attention.keys
        assert [*map(tuple, one["special"])] == [*attention.special_positions]
        assert np.array_equal(np.array(one["allowed"], bool), attention.allowed[0, 0].ravel())
        yield float(np.abs(weights - attention.weights).max())


def check(answer: dict[str, Any], run: Run) -> float:
    """Check a run in the browser against one in Python; return the largest difference of a pattern."""
    assert answer.get("written") == run.target_text
    for told in answer.get("predictions") or ():
        chances = np.exp(logits := run.logits[told["place"]] - run.logits[told["place"]].max())
        chances /= chances.sum()
        order = np.argsort(-logits)[: len(told["best"])]
        assert [one["id"] for one in told["best"]] == order.tolist()
        assert [one["probability"] for one in told["best"]] == pytest.approx(chances[order], abs=NEAR)
    return max(differences(answer, run))


def test_a_sentence_typed_on_a_stick_is_run_as_in_python(
    published: Callable[..., Path], reader: Callable[..., Any]
) -> None:
    """All patterns and the prediction; a head chosen by key, then zero; a bad text keeps what is typed; markup is text."""
    url = (published("bert-mini") / "index.html").as_uri()
    page = reader(url, viewport={"width": 390, "height": 844}, color_scheme="dark", offline=True)
    expect(page.locator("#back")).to_be_hidden()  # it is in no lesson
    expect(page.locator("#pictures .atlas.heads")).to_be_visible()
    text = "The <b>king</b> and the [MASK]."
    page.get_by_label("Your sentence").fill(text)
    page.get_by_role("button", name="Run").click()
    run = golden("bert-mini").run(text)
    expect(page.locator("#state")).to_contain_text(str(len(run.tokens)))
    expect(page.locator("#pictures .words")).to_contain_text("king")
    assert check(page.evaluate(f"({READ})(attentionAtlas.run)"), run) < 1e-4
    assert page.locator("#pictures b:has-text('king<')").count() == 0
    tiles = page.locator("#pictures .atlas.heads")
    tiles.locator(".frame").focus()
    press(page, "Home", "ArrowRight", "Enter")
    page.locator("#zero", has_text="L0.H1").click()
    expect(page.locator("#effect")).to_contain_text("L0.H1")
    zero = golden("bert-mini").run(text, edits=[ZeroHead("layer.0.self_attn.heads", head=1)])
    assert check(page.evaluate(f"({READ})(attentionAtlas.run)"), zero) < 1e-4
    for bad in ("   ", "word " * 300):
        page.get_by_label("Your sentence").fill(bad)
        expect(page.get_by_role("alert")).to_contain_text("256" if bad.strip() else "empty")
        expect(page.get_by_label("Your sentence")).to_have_value(bad)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


RUN_ALL = """async ([name, jobs]) => {
  await import(URL.createObjectURL(new Blob([document.getElementById("data-engine").textContent], { type: "text/javascript" })));
  await liveAnswer({ name, content: await (await fetch(`models/${name}.js`)).arrayBuffer() });
  const found = [], read = (READ);
  for (const { text, zero, masks } of jobs) found.push(read(await liveAnswer({ name, text, edits: { zero, masks: Object.fromEntries(Object.entries(masks ?? {}).map(([kind, cells]) => [kind, Uint8Array.from(cells)])) } })));
  return found;
}""".replace("READ", READ)


def in_browser(reader: Callable[..., Any], folder: Path, name: str, jobs: Sequence[Any]) -> list[Any]:
    """Return the answers of a model to jobs, {text, zero, masks}, in a page of a static server."""
    with served(folder) as url:
        return reader(f"{url}/index.html").evaluate(RUN_ALL, [name, [*jobs]])


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_ten_sentences_have_the_patterns_of_python(
    published: Callable[..., Path], reader: Callable[..., Any], name: str
) -> None:
    answers = in_browser(reader, published(*MODELS), name, [{"text": text} for text in SENTENCES[name]])
    found = [
        check(answer, golden(name).run(text)) for text, answer in zip(SENTENCES[name], answers, strict=True)
    ]
    print(f"\n{name}: largest difference of a pattern {max(found):.1e}")
    assert max(found) < (NEAR if name == "translator-en-es" else 1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_zeroed_heads_and_masks_change_what_they_change_in_python(
    published: Callable[..., Path], reader: Callable[..., Any], name: str
) -> None:
    model = golden(name)
    jobs, runs = [], []
    for text in SENTENCES[name][:3]:
        for kind in model.spec.kinds_of(model.config):
            where = f"{kind.stack}.1.{LEAVES[kind.name]}"
            jobs.append({"text": text, "zero": [{"kind": kind.name, "layer": 1, "head": 2}]})
            runs.append(model.run(text, edits=[ZeroHead(f"{where}.heads", head=2)]))
        kind = model.spec.kinds_of(model.config)[0]
        side = len(runs[-1].axis(kind.queries).ids)
        mask = np.tri(side, dtype=bool) & (np.arange(side)[:, None] - np.arange(side) < 3)
        mask[-1] = False  # a row that allows nothing
        rows = tuple(tuple(row) for row in mask.tolist())
        jobs.append({"text": text, "masks": {kind.name: mask.ravel().astype(int).tolist()}})
        runs.append(model.run(text, edits=[SetAllowed(f"{kind.stack}.*.{LEAVES[kind.name]}.allowed", rows)]))
    answers = in_browser(reader, published(*MODELS), name, jobs)
    assert max(check(answer, run) for answer, run in zip(answers, runs, strict=True)) < NEAR


@pytest.mark.parametrize("name", deep(MODELS, quick=["bert-mini"]))
def test_odd_texts_have_the_tokens_of_python(reader: Callable[..., Any], name: str) -> None:
    """Blocks of the Basic Multilingual Plane as long as Unicode knows them, emoji, and what no reader expects."""
    codes = [code for code in range(1, 0x3000, 7) if chr(code).isprintable() or code < 256]
    old = unicodedata.ucd_3_2_0.category
    codes = [code for code in codes if old(chr(code)) == unicodedata.category(chr(code))]
    texts = ["".join(map(chr, codes[at : at + 8])) for at in range(0, len(codes), 8)]
    texts += [f"a{chr(code)}b {chr(code)}" for code in (*range(0x2000, 0x2070), 0xFEFF, 0xFFFD, 0x1F469)]
    texts += [
        "\U0001f469\u200d\U0001f52c\ufe0f",
        "e\u0301 \ufb01 ﬀ ß",
        "\u4e2d\u6587 text",
        "tab\tand\r\nline",
    ]
    texts += SENTENCES[name]
    code = join_modules(follow(site.PAGE / "tokenize.js"), VIZ)
    tokenizer = golden(name).tokenizer
    call = f"([rules, texts]) => {{ {code}; const {{ encode }} = export_live_page_tokenize.tokenizer(rules); return texts.map(encode); }}"
    found = reader("about:blank").evaluate(call, [tokenizer_rules(tokenizer), texts])
    assert len(texts) > 200
    for text, ids in zip(texts, found, strict=True):
        assert ids == [*tokenizer.encode(text).ids], json.dumps(text)


@pytest.mark.slow
def test_a_mask_is_edited_and_a_page_without_a_worker_runs_by_itself(
    published: Callable[..., Path], reader: Callable[..., Any]
) -> None:
    with served(published(*MODELS)) as url:
        page = reader(f"{url}/index.html#model=translator-en-es&text=The+dog+barks.")
        expect(page.locator("#output")).to_contain_text(
            golden("translator-en-es").run("The dog barks.").target_text
        )
        page.get_by_role("button", name="Encoder").click()
        page.locator("#mask summary").click()
        page.get_by_role("button", name="itself only").click()
        expect(page.locator("#effect")).to_be_visible()
        allowed = page.evaluate("attentionAtlas.run.attentions[0].allowed.reduce((sum, v) => sum + v, 0)")
        assert allowed == page.evaluate("attentionAtlas.run.attentions[0].queries.length")
        page.get_by_role("button", name="Undo all").click()
        expect(page.locator("#effect")).to_be_hidden()
        page.get_by_role("button", name="gpt-mini").click()
        expect(page.locator("#text")).to_have_value(site.EXAMPLES["gpt-mini"])
        expect(page.locator("#output")).to_contain_text("%")
        page.add_init_script("globalThis.Worker = class { constructor() { throw new Error('no worker'); } };")
        page.goto(f"{url}/index.html?alone#model=bert-mini")
        expect(page.locator("#text")).to_have_value(site.EXAMPLES["bert-mini"])
        expect(page.locator("#output")).to_contain_text("%")


@pytest.mark.slow
def test_a_stop_of_a_lesson_leads_to_its_model_also_without_the_network(
    reader: Callable[..., Any], tmp_path: Path
) -> None:
    text = "The dog barks at the [MASK]."
    lesson = Plan("One", (Stop(f"look?{urlencode({'model': 'bert-mini', 'text': text})}", "Masked words"),))
    (tmp_path / "lesson.toml").write_bytes(toml_format.dumps(lesson).encode())
    assert command.main(["--live", str(tmp_path / "lesson.toml"), str(tmp_path / "out")]) == 0
    page = reader((tmp_path / "out" / "index.html").as_uri())
    page.get_by_role("link", name="own sentence").click()
    expect(page.locator("#text")).to_have_value(text)
    expect(page.locator("#output")).to_contain_text("%")
    with served(tmp_path / "out") as url:
        page = reader(f"{url}/index.html")
        page.evaluate("async () => { await navigator.serviceWorker.ready; }")
        page.reload()
        page.get_by_role("link", name="own sentence").click()
        expect(page.locator("#output")).to_contain_text("%")
        page.keyboard.press("Tab")
        expect(page.locator("#back a")).to_be_focused()
        page.keyboard.press("Enter")
        expect(page.locator("#name")).to_have_text("Masked words")
        page.keyboard.press("PageDown")
        page.get_by_role("link", name="own sentence").click()
        page.locator("#back a").click()
        expect(page.locator("#finished")).to_be_visible()
        page.keyboard.press("PageUp")
    page.get_by_role("link", name="own sentence").click()
    expect(page.locator("#output")).to_contain_text("%")
    alone = reader((tmp_path / "out.html").as_uri())
    expect(alone.locator("#pictures [data-drawn]").first).to_be_visible()
    expect(alone.get_by_role("link", name="own sentence")).to_have_count(0)
