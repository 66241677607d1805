"""Privacy and accessibility: the numbers and names of the statements are those of the code."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

import viz
from viz import languages
from viz.classroom.room import LASTS
from viz.classroom.seats import LEAD, SEAT
from viz.classroom.store import Guesses
from viz.workspace.accessibility import page as accessibility
from viz.workspace.privacy import page as privacy

VIZ = Path(viz.__file__).parent


def test_names_and_times_of_the_privacy_statement_are_those_of_the_code() -> None:
    text = "\n".join(words for _, words in privacy.compute())
    stored = {
        match[1]
        for file in (VIZ / "shell" / "progress.js", VIZ / "workspace" / "lessons" / "player.js")
        for match in re.finditer(r'"(atlas\.\w+)"', file.read_text("utf-8"))
    }
    assert {f"`{name}`" for name in (LEAD, SEAT, *stored)} <= {*re.findall(r"`[\w.]+`", text)}
    assert LASTS == 4 * 3600 and text.count("four hours") == 3
    assert f"{Guesses.MOST_ADDRESSES:,} newer" in text
    config = tomllib.loads((VIZ.parent / ".streamlit" / "config.toml").read_text("utf-8"))
    assert config["server"]["disconnectedSessionTTL"] == 60 and text.count("one minute after") == 2
    assert config["browser"]["gatherUsageStats"] is False


def test_the_privacy_page_says_what_this_server_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = privacy.settings()
    monkeypatch.setenv("ATLAS_HUB", "1")
    monkeypatch.setenv("ATLAS_UPLOAD", "1")
    allowed = privacy.settings()
    assert [one == other for one, other in zip(plain, allowed, strict=True)] == [False, False, True]
    assert "Hub" in allowed[0]


def test_each_statement_has_its_parts_and_names_what_is_missing() -> None:
    for module, missing in ((privacy, "What is not claimed"), (accessibility, "Known gaps")):
        parts = dict(module.compute())
        assert "" in parts and missing in parts and all(parts.values())
    gaps = dict(accessibility.compute())["Known gaps"].splitlines()
    assert len(gaps) >= 8 and all(gap.startswith("- ") for gap in gaps)


@pytest.mark.parametrize("module", [privacy, accessibility])
@pytest.mark.parametrize("code", [one.code for one in languages.LANGUAGES.values() if not one.hidden])
def test_a_statement_has_the_same_parts_lines_names_and_numbers_in_each_language(module, code: str) -> None:
    def skeleton() -> list[tuple[int, list[str], list[str]]]:
        return [
            (
                text.count("\n"),
                re.findall(r"`[^`]*`", text),
                re.findall(r"\d+", re.sub(r"(?<=\d)[,\u202f](?=\d)", "", text)),
            )
            for _, text in module.compute()
        ]

    english = skeleton()
    with languages.using(code):
        assert skeleton() == english
        words = "\n".join(text for _, text in module.compute())
    assert (words == "\n".join(text for _, text in module.compute())) == (code == "en")
