"""A lesson published as pages: what is recorded of each stop, what the pages hold, and what is refused."""

from __future__ import annotations

import base64
import dataclasses
import html
import io
import json
import re
import zipfile
import zlib
from pathlib import Path
from typing import Any

import pytest
from deep import deep
from small_lesson import MARKUP, PLAN, visit
from streamlit import config
from streamlit.testing.v1 import AppTest
from workspace_pages import page as draw

from core.errors import InputError
from viz.export import __main__ as command
from viz.export import record, site
from viz.export.live import pack
from viz.languages import extract, pseudo, using
from viz.platform.visits import visit_from_thread
from viz.shell.lessons.plan import Plan, Stop
from viz.widgets import quiz
from viz.widgets.quiz import PageQuestion


@pytest.fixture(scope="module")
def recording() -> record.Recording:
    return record.record(PLAN, visit=visit)


def test_each_stop_has_its_phases_and_the_reason_of_this_run(recording: record.Recording) -> None:
    asked, own, live = recording.stops
    assert [one["ask"] and one["ask"]["words"] for one in asked["phases"]] == ["Which?", None]
    question = asked["phases"][0]["ask"]
    assert (question["truth"], question["why"]) == ([0], "Because of x_1.")
    assert ["1", "sub"] in question["typeset"]["why"], "an index is set as one"
    (before, same), (after, again) = (one["pictures"] for one in asked["phases"])
    assert before["chart"]["mark"] == "rule" and after["chart"]["mark"] == "bar"
    assert before["key"] != after["key"] and same["key"] == again["key"], "what did not change is drawn once"
    assert [*asked["parts"].values()] == [[base64.b64encode(b"12").decode(), 0]], "code is in the page, once"
    (first, last) = own["phases"]
    assert (first["ask"]["truth"], first["ask"]["near"], first["ask"]["unit"]) == (4, 0.5, "words")
    assert last["ask"] is None and first["pictures"] == last["pictures"]
    assert live["unseen"] and recording.missing == ("Nothing to record",)


def test_a_question_of_a_page_is_recorded_with_its_right_answer_and_its_reason() -> None:
    """The listener hears a page's own questions: a choice with what is level, a number in percent, a touch."""
    heard: list[PageQuestion] = []
    script = """
from viz.widgets import quiz
quiz.predict("p.c", "Which?", {"a": 0.5, "b": 0.5, "c": 0.1}, "a", lambda: "Level.")
quiz.predict_number("p.n", "How much?", 0.0, 1.0, 0.337, "So.", 0.05, "%")
quiz.predict_mark("p.m", "Touch it.", "", "car", "There.")
"""
    page = AppTest.from_string(script)
    page.session_state[quiz.LISTENER] = heard.append
    page.run()
    choice, number, touch = heard
    assert (choice.truth, choice.explanation, choice.answered) == ([0, 1], "", False)
    assert (number.truth, number.near, number.right_answer) == (pytest.approx(33.7), 5.0, "34")
    assert (touch.form, touch.right_answer) == (None, "car")
    page = AppTest.from_string(script)
    page.session_state[quiz.LISTENER] = (again := []).append
    for one in heard:
        for name, value in one.state.items():
            page.session_state[name] = value
    assert not page.run().exception
    assert [(one.answered, one.explanation) for one in again] == [
        (True, "Level."),
        (True, "So."),
        (True, "There."),
    ]


def test_no_note_is_published_unless_asked_for(recording: record.Recording) -> None:
    assert "Say <b>this" not in repr(recording)
    noted = record.record(PLAN, notes=True, visit=visit)
    assert [stop["note"] for stop in noted.lesson["stops"]] == ["Say <b>this</b>.", "", MARKUP]


def test_nothing_typed_is_markup_and_no_script_runs_that_the_policy_does_not_name(
    recording: record.Recording,
) -> None:
    files = site.folder_files(recording)
    assert [*files] == sorted(files) and {"index.html", "worker.js", "LICENSES.txt", "parts/vega.js"} <= {
        *files
    }
    for page in (files["index.html"].decode(), site.single_file(recording).decode()):
        assert "<img" not in page and "onerror=alert" not in page.replace(
            "\\u003cimg src=x onerror=alert", ""
        ).replace("&lt;img src=x onerror=alert", "")
        policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page)[1]
        assert "default-src 'none'" in policy and "unsafe-inline" not in policy.replace(
            "style-src 'unsafe-inline'", ""
        )
        assert not re.search(r"https?://", policy) and "connect-src" not in policy
        running = re.findall(r"<script(?: data-code=\"\w+\")?>", page)
        assert len(running) == policy.count("'sha256-") == 3, "the kit, one instrument, the lesson"
    stop = re.fullmatch(r'lessonPart\("stop-1", "([\w+/=]+)"\);\n', files["parts/stop-1.js"].decode())
    assert json.loads(zlib.decompress(base64.b64decode(stop[1]))) == recording.stops[0]
    assert site.folder_files(recording) == files, "the same lesson is the same files"


def test_a_newer_lesson_has_a_newer_worker_and_names_all_files(recording: record.Recording) -> None:
    files, other = (
        site.folder_files(recording),
        site.folder_files(record.record(PLAN, notes=True, visit=visit)),
    )
    assert files["worker.js"] != other["worker.js"]
    named = json.loads(re.search(r"FILES = (\[.*\]);", files["worker.js"].decode())[1])
    assert {*named} == {*files} - {"worker.js", "LICENSES.txt"}


def test_a_lesson_above_the_limit_has_no_single_file(
    recording: record.Recording, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder, single = site.write(recording, tmp_path / "out")
    assert single == (tmp_path / "out.html").stat().st_size > 100_000 and folder > 100_000
    monkeypatch.setattr(site, "MOST_IN_ONE", 1000)
    assert site.write(recording, tmp_path / "out")[1] == 0
    assert not (tmp_path / "out.html").exists(), "an older one would show another lesson"


def language_of(page: bytes) -> dict[str, Any]:
    """Return the words and numbers that a page brings for its scripts."""
    return json.loads(html.unescape(re.search(r'data-language="([^"]*)"', page.decode())[1]))


def test_a_lesson_recorded_in_spanish_is_in_spanish_and_in_english_as_it_was(
    recording: record.Recording,
) -> None:
    asked: list[str] = []

    def noted(slug: str, query: str, state: Any) -> Any:
        asked.append(query)
        return visit(slug, query, state)

    with using("es"):
        spanish = record.record(PLAN, visit=noted)
    assert {query.rpartition("&")[2] for query in asked} == {"lang=es"}
    assert [stop["link"] for stop in spanish.stops] == [stop["link"] for stop in recording.stops]
    assert spanish.stops[2]["title"] == "Al aprender" != recording.stops[2]["title"]
    for page in (site.folder_files(spanish)["index.html"], site.single_file(spanish)):
        shown = extract.html_messages(page.decode())
        assert b'<html lang="es" dir="ltr">' in page and {"Parada siguiente »", "Paradas"} <= {*shown}
        told = language_of(page)
        assert told["words"]["Stop {n} of {all}"] == "Parada {n} de {all}"
        assert told["words"]["You answered {answer}."] == "Respondiste {answer}."
        assert told["numbers"]["percent"] == "\u202f%"
    page = site.folder_files(recording)["index.html"]
    template = extract.html_messages((site.PAGE / "lesson.html").read_text("utf-8"))
    assert language_of(page) == {} and b'<html lang="en" dir="ltr">' in page
    assert {*template} <= {*extract.html_messages(page.decode())}


def test_no_text_of_a_template_stays_plain_in_another_language(recording: record.Recording) -> None:
    made = dataclasses.replace(recording, language=pseudo.CODE)
    (page,) = (data for name, data in site.folder_files(made).items() if name == "index.html")
    plain = [text for text in extract.html_messages(page.decode()) if not text.startswith(pseudo.OPEN)]
    assert plain == [recording.lesson["title"]]
    assert pseudo.OPEN in site.licences(made)


def test_the_language_is_that_of_the_file_and_an_unknown_one_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.main(["attention_in_15_minutes", str(tmp_path / "new"), "--lang", "fr"]) == 2
    assert not (tmp_path / "new").exists() and "es (Español)" in capsys.readouterr().err
    drawn = record.record
    monkeypatch.setattr(record, "record", lambda lesson, **more: drawn(PLAN, visit=visit, **more))
    titles = []
    monkeypatch.setattr(
        command, "lesson_named", lambda name, find=command.lesson_named: titles.append(find(name).title)
    )
    ready = command.READY / "attention_in_15_minutes.es.toml"
    for code, arguments in (
        ("es", [str(ready)]),
        ("es", ["attention_in_15_minutes", "--lang", "es"]),
        ("en", ["attention_in_15_minutes"]),
        ("en", [str(ready), "--lang", "en"]),
    ):
        assert command.main([*arguments[:1], str(tmp_path / "out"), *arguments[1:]]) == 0
        assert f'<html lang="{code}"' in (tmp_path / "out" / "index.html").read_text("utf-8")
    assert [title.endswith("minutos") for title in titles] == [True, True, False, True]


def test_vega_is_read_in_an_order_in_which_each_module_finds_what_it_imports() -> None:
    modules = site.vega_modules()
    before: set[str] = set()
    for name, text in modules:
        assert {*site._IMPORTED.findall(text)} <= before, name
        before.add(name)
    assert modules[-1][0].startswith("loadVegaEmbed") and len(modules) > 3


def test_what_is_there_is_not_overwritten_and_a_lesson_that_is_none_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "index.html").write_text("<p>mine</p>")
    with pytest.raises(InputError, match="not a published lesson"):
        site.require_free(tmp_path / "mine")
    (tmp_path / "empty").mkdir()
    site.require_free(tmp_path / "empty")
    (tmp_path / "bad.toml").write_text('title = "A"\n[[stop]]\nview = "nowhere"\nname = "x"')
    for name, says in (("nothing", "There is no lesson 'nothing'."), (str(tmp_path / "bad.toml"), "Line 3")):
        assert command.main([name, str(tmp_path / "new")]) == 2
        assert says in capsys.readouterr().err
    assert not (tmp_path / "new").exists()


def test_where_nothing_can_be_written_is_said_before_the_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("mine")
    monkeypatch.chdir(tmp_path)
    for out in ("file/out", "/"):
        assert command.main(["vision", out]) == 2
        assert "written" in capsys.readouterr().err
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    drawn = record.Recording({"title": "A"}, ())
    monkeypatch.setattr(record, "record", lambda *_, **__: drawn)
    assert command.main(["vision", "."]) == 0, "the folder in which one is"
    assert (tmp_path / "empty" / "index.html").is_file() and (tmp_path / "empty.html").is_file()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(site, "write", full)
    assert command.main(["vision", "../new"]) == 2
    assert "No space" in capsys.readouterr().err


def test_a_page_is_drawn_with_our_settings_in_any_folder() -> None:
    """Streamlit reads `.streamlit` of the folder in which a command is started; without ours it warns of each step."""
    name = "global.disableWidgetStateDuplicationWarning"
    before = config.get_option(name)
    try:
        config.set_option(name, False)
        visit_from_thread("sizes", "sizes.step=2")
        assert config.get_option(name)
    finally:
        config.set_option(name, before)


@pytest.mark.parametrize("chapter", deep([*record.Chapter], quick=[record.Chapter.VISION]))
def test_every_chapter_is_a_lesson_with_a_stop_for_each_step(chapter: record.Chapter) -> None:
    lesson = record.lesson_of_chapter(chapter)
    assert len(lesson.stops) == sum(len(entry.steps) for entry in record.pages.exhibits(chapter))
    assert lesson.title == chapter.title and command.lesson_named(chapter.folder) == lesson


def test_publish_on_the_page_lessons_saves_what_the_command_writes(
    recording: record.Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[bool] = []

    def recorded(lesson: Plan, *, notes: bool, report: Any) -> record.Recording:
        asked.append(notes)
        report(0.5, MARKUP)
        return recording

    monkeypatch.setattr(record, "record", recorded)
    page = draw("lessons")
    assert not page.get("download_button"), "nothing is recorded before it is asked for"
    page.button(key="lessons.record.ready-0").click().run()
    assert asked == [False] and not page.exception
    labels = [one.proto.label for one in page.get("download_button")]
    assert [word in label for word, label in zip(("folder", "one file"), labels, strict=True)] == [True, True]
    assert "Nothing to record" in " ".join(str(line.value) for line in page.text)
    page.checkbox(key="lessons.publish.notes.ready-0").check().run()
    assert not page.get("download_button"), "with notes it is another publication"


def publish(
    monkeypatch: pytest.MonkeyPatch, models: list[str], view: str, language: str = "en"
) -> zipfile.ZipFile:
    """Publish one stop of `view` with these models on the page Lessons, read in a language; return the folder that it saves."""
    one = Plan("One", (Stop(view, "Stop"),))
    saved: list[bytes] = []
    archive = site.archive
    drawn = record.record
    monkeypatch.setattr(record, "record", lambda _, **options: drawn(one, visit=visit, **options))
    monkeypatch.setattr(site, "archive", lambda *given: saved.append(archive(*given)) or saved[-1])
    page = draw("lessons", lang=language)
    choice = page.button_group(key="lessons.publish.models.ready-0")
    assert choice.value == []
    choice.set_value(models).run()
    page.button(key="lessons.record.ready-0").click().run()
    assert not page.exception
    return zipfile.ZipFile(io.BytesIO(saved[-1]))


def test_packing_that_takes_too_long_ends_in_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pack, "LONGEST", 0.05)
    monkeypatch.setattr(pack, "_PROGRAM", "import time; time.sleep(60)")
    with pytest.raises(InputError) as refused:
        pack.pack_apart("gpt-mini")
    assert "gpt-mini" in refused.value.wrong
    with using("es"):
        assert refused.value.wrong.startswith("gpt-mini no quedó")


@pytest.mark.parametrize("language", ["en", "es"])
def test_models_chosen_on_publish_go_into_the_folder_and_are_linked(
    monkeypatch: pytest.MonkeyPatch, language: str
) -> None:
    monkeypatch.setattr(pack, "pack_apart", lambda name: f"liveModel({name!r}, ``);".encode())
    with using(language):  # the test names the choices, as the page does
        folder = publish(monkeypatch, ["gpt-mini", "bert-mini"], "look?model=bert-mini&text=Hi", language)
    names = {name.partition("/")[2] for name in folder.namelist()}
    assert {"live/index.html", "live/models/bert-mini.js", "live/models/gpt-mini.js", "index.html"} <= names
    (home,) = {name.partition("/")[0] for name in folder.namelist()}
    assert b'"live": "live/index.html"' in folder.read(f"{home}/index.html")
    pages = [folder.read(f"{home}/{name}") for name in ("index.html", "live/index.html")]
    assert all(f'<html lang="{language}"'.encode() in page for page in pages)
    assert [text in pages[1] for text in (b">Your sentence<", b'"languages": {')] == [
        language == "en",
        language != "en",
    ]
    assert b'"lesson": "../index.html"' in pages[1]
    packed = re.search(rb'"([\w+/=]{20,})"', folder.read(f"{home}/parts/stop-1.js"))
    assert (
        packed
        and json.loads(zlib.decompress(base64.b64decode(packed[1])))["own"] == "model=bert-mini&text=Hi"
    )


@pytest.mark.slow
def test_a_model_packed_in_a_process_of_its_own_is_the_same_file_and_no_larger_than_the_page_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder = publish(monkeypatch, [*pack.MODELS], "look?model=gpt-mini&text=Hi")
    for name in pack.MODELS:
        data = next(folder.read(one) for one in folder.namelist() if one.endswith(f"live/models/{name}.js"))
        assert data == pack.pack_apart(name) and len(data) <= pack.most_bytes(name)
    assert pack.pack_apart("bert-mini") == pack.pack("bert-mini")
