"""Strings of the screen go through the catalogues: how many of each package do not yet, and whether the catalogues are whole.

A count may fall at any time and may not rise; `python tests/test_languages.py` prints all counts, with a package its places.
"""

from __future__ import annotations

import ast
import gettext
import json
import pickle
import re
import string
import sys
from collections.abc import Iterator
from functools import cache
from io import BytesIO
from pathlib import Path

import pytest
from starlette.requests import Request

from core.abilities import ABILITIES
from core.checkpoints.manifest import shipped_folder
from core.checkpoints.safety.config_schema import Fields, build_config
from core.checkpoints.tokenizer import FILE, try_in_child
from core.errors import InputError, in_reader_language, reason_of
from core.models.gpt import GPTConfig
from core.tools.card_sections import card_in_reader_language
from core.tools.card_template import first_paragraph
from viz import languages
from viz.classroom.light_pages import reader_language
from viz.languages import LANGUAGES, extract, pseudo
from viz.languages import __main__ as catalogues

ROOT = Path(__file__).resolve().parents[1]
BARE = {
    "viz/__init__.py": 1,
    "viz/charts": 4,
    "viz/classroom": 9,
    "viz/course": 2621,
    "viz/export": 9,
    "viz/instruments": 6,
    "viz/sources.py": 2,
    "viz/theme.py": 3,
    "viz/widgets": 1,
    "viz/workspace": 98,
}
"""How many strings of a package, or a file of `viz` itself, may still be prose that no catalogue has."""
WORD = re.compile(r"[“„‘\"'(*]*[^\W\d_]+(?:['’-][^\W\d_]+)*[”“’\"'),.;:?!*…]*")
CODE = re.compile(r"[<{;=\\]|\w_\w|::|^\W*$")
SENTENCE = re.compile(r"[A-Z][a-z]+ [a-z]+ [a-z]+")
THROUGH = {"_", "ngettext", "mark", "Phrase", "Page", "ScriptWords", "Sentences"}
"""Calls whose strings the catalogues have."""
WORDED = (
    *extract.CHAPTERS,
    *(
        f"viz/{name}/"
        for name in ("classroom", "export", "instruments", "shell", "uploads", "widgets", "workspace")
    ),
)
"""Packages and chapters that are in Spanish whole."""
QUIET = {
    "PageError",
    "ValueError",
    "TypeError",
    "RuntimeError",
    "KeyError",
    "SystemExit",
    "AssertionError",
} | {
    "compile",
    "info",
    "warning",
    "critical",
    "exception",
    "debug",
    "add_argument",
    "ArgumentParser",
    "print",
}
"""Calls whose strings only programmers read, and who started the server."""
OF_PYTHON = {
    "viz/instruments/kit/figure.py",
    "viz/instruments/kit/notebook.py",
    "viz/instruments/kit/picture.py",
    "viz/instruments/tree/tree.py",
    "viz/instruments/qkv/of_run.py",
    "viz/instruments/whole_model/of_run.py",
    "viz/export/__main__.py",
    "viz/platform/run_context.py",
    "viz/platform/security.py",
    "viz/platform/start.py",
    "viz/platform/versions.py",
    "viz/platform/warm.py",
    "viz/platform/streamlit_patches/__init__.py",
    "viz/platform/streamlit_patches/forget_widgets.py",
    "viz/platform/streamlit_patches/patch.py",
}
"""Files whose other strings only who calls them from Python reads: errors of `viz.heatmap` and `Picture.save`, names of pictures in a notebook; or who starts the server, or types a command."""
DRAWING = {
    "button",
    "caption",
    "checkbox",
    "download_button",
    "header",
    "link_button",
    "markdown",
    "multiselect",
} | {
    "number_input",
    "pills",
    "popover",
    "radio",
    "segmented_control",
    "select_slider",
    "selectbox",
    "slider",
    "subheader",
    "tabs",
    "text",
    "text_area",
    "text_input",
    "title",
    "toggle",
}
"""Functions of Streamlit whose first argument is on the screen, be it one word."""


def function_name(node: ast.Call) -> str:
    """Return the last part of the name of a function that is called."""
    return getattr(node.func, "attr", getattr(node.func, "id", ""))


def literal_text(node: ast.AST) -> str:
    """Return the text of a string or an f-string, 0 in place of what is filled in; "" for any other node."""
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "0" for part in node.values)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def prose(text: str) -> bool:
    """Return whether a text has two words of a language, not only our name, and looks like no code.

    >>> prose("Draw again"), prose("draw"), prose("a_b = c d"), prose("<b>It is bold now</b>")
    (True, False, False, True)
    """
    if CODE.search(text) and not SENTENCE.search(text):
        return False
    words = text.replace("Attention Atlas", "").split()
    return sum(bool(WORD.fullmatch(word)) for word in words) >= 2


def bare_strings(node: ast.AST, worded: bool = False) -> Iterator[ast.AST]:
    """Yield the strings below a node that are prose, or drawn, and go through no catalogue; `worded`: those of errors do.

    >>> source = 'st.button("Draw"); st.text(_("Draw")); x = f"{n} more words"; raise ValueError("not seen by anybody")'
    >>> [ast.unparse(each) for each in bare_strings(ast.parse(source))]
    ["'Draw'", "f'{n} more words'"]
    """
    if isinstance(node, ast.Call):
        name = function_name(node)
        if name in extract.ERRORS and worded:
            for part in node.args:
                if not extract.error_messages(ast.unparse(ast.Call(node.func, [part], []))):
                    yield from bare_strings(part, worded)
            return
        if name in THROUGH | QUIET:
            return
        if name in DRAWING and isinstance(node.func, ast.Attribute) and node.args:
            text = literal_text(node.args[0])
            if re.search(r"[^\W\d_]{3}", text) and not prose(text) and not re.match(r":\w+|\*\*0", text):
                yield node.args[0]
    elif isinstance(node, ast.Constant | ast.JoinedStr):
        if prose(literal_text(node)):
            yield node
        for part in getattr(node, "values", ()):
            if isinstance(part, ast.FormattedValue):
                yield from bare_strings(part.value, worded)
        return
    elif is_silent(node):
        return
    for child in ast.iter_child_nodes(node):
        yield from bare_strings(child, worded)


def is_silent(node: ast.AST) -> bool:
    """Return whether a node is a docstring, a comparison, or the HTML of a component."""
    if isinstance(node, ast.ClassDef):
        return node.name == extract.SENTENCES
    if isinstance(node, ast.Assign):
        return ast.unparse(node.targets[0]) == extract.HTML_NAME
    return isinstance(node, ast.Compare) or (
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    )


def package(path: Path) -> str:
    """Return the package of a file, `viz/shell`, or the file itself where it is none's."""
    parts = path.relative_to(ROOT).parts
    return "/".join(parts[:2])


@cache
def trees() -> dict[Path, ast.Module]:
    """Return the files of `viz`, parsed."""
    return {path: ast.parse(path.read_text("utf-8")) for path in sorted((ROOT / "viz").rglob("*.py"))}


@cache
def survey() -> dict[str, list[str]]:
    """Return the places of bare strings by package."""
    places: dict[str, list[str]] = {}
    for path, tree in trees().items():
        if path.relative_to(ROOT).as_posix() in OF_PYTHON:
            continue
        lines = places.setdefault(package(path), [])
        for node in bare_strings(tree, path.relative_to(ROOT).as_posix().startswith(extract.WORDED)):
            lines.append(f"{path.relative_to(ROOT)}:{node.lineno}: {ast.unparse(node)[:120]}")  # type: ignore[attr-defined]
    return places


def test_no_string_is_added_that_the_catalogues_do_not_have() -> None:
    grown = {name: lines for name, lines in survey().items() if len(lines) > BARE.get(name, 0)}
    assert not grown, "".join(
        f"\n{name}: {len(lines)} bare strings, {BARE.get(name, 0)} allowed (write _() of viz.languages):\n"
        + "\n".join(lines)
        for name, lines in grown.items()
    )


def test_messages_are_looked_up_when_they_are_drawn() -> None:
    """A call while a module is imported would keep the language of whoever came first; a name `_` of its own would hide the function."""
    early, hidden = [], []
    for path, tree in trees().items():
        if "viz.languages import" not in path.read_text("utf-8"):
            continue
        functions = [
            node
            for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        ]
        inside = {id(node) for function in functions for part in _bodies(function) for node in ast.walk(part)}
        for node in ast.walk(tree):
            if (
                isinstance(node, ast.Call)
                and function_name(node) in ("_", "ngettext")
                and id(node) not in inside
            ):
                early.append(f"{path.relative_to(ROOT)}:{node.lineno}")
        for function in functions:
            names = {
                node.id
                for part in _bodies(function)
                for node in ast.walk(part)
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
            }
            calls = {
                function_name(node)
                for part in _bodies(function)
                for node in ast.walk(part)
                if isinstance(node, ast.Call)
            }
            if "_" in names and "_" in calls:
                hidden.append(f"{path.relative_to(ROOT)}:{function.lineno}")
    assert not early and not hidden, (early, hidden)


def _bodies(function: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> list[ast.AST]:
    return [function.body] if isinstance(function, ast.Lambda) else list(function.body)


def placeholders(text: str) -> set[str]:
    """Return the names that are filled into a text.

    >>> sorted(placeholders("{n:,} of {name}"))
    ['n', 'name']
    """
    return {name for _text, name, _form, _conversion in string.Formatter().parse(text) if name}


WRITTEN = [code for code, language in LANGUAGES.items() if code != "en" and not language.hidden]


@pytest.mark.parametrize("code", WRITTEN)
def test_a_catalogue_has_every_message_with_the_same_placeholders(code: str) -> None:
    pytest.importorskip("babel", reason='pip install -e ".[test]"')
    folder = languages.FOLDER / code
    read = catalogues.read(folder)
    entries = {(each.id if isinstance(each.id, str) else each.id[0]): each for each in read if each.id}
    messages = extract.messages()
    assert {*entries} == {*messages}, "python -m viz.languages extract"
    for text, entry in entries.items():
        assert not entry.fuzzy, text
        forms = entry.string if isinstance(entry.string, tuple) else (entry.string,)
        assert (len(forms) > 1) == bool(messages[text].plural), text
        for form in forms:
            assert form and placeholders(form) - {"n"} == placeholders(text) - {"n"}, text
            assert ("n" in placeholders(form)) == ("n" in placeholders(text)) or messages[text].plural, text
            assert form.count("**") == text.count("**"), text
    of_text, of_file = (
        gettext.GNUTranslations(BytesIO(catalogues.compiled(folder))),
        languages.catalogue(code),
    )
    assert [text for text in messages if of_text.gettext(text) != of_file.gettext(text)] == [], (
        "python -m viz.languages compile"
    )


def test_the_pseudo_language_keeps_what_code_fills_in() -> None:
    for text in extract.messages():
        made = pseudo.pseudonymise(text)
        assert placeholders(made) == placeholders(text) and len(made) >= len(text)
        assert pseudo.pseudonymise(made) == made


def test_a_number_is_written_as_the_language_does() -> None:
    from viz.number_text import megabytes, number, percent, trimmed, with_unit

    def written() -> list[str]:
        return [
            percent(0.614, 2),
            number(-1234.5, 1, grouped=True),
            trimmed(0.250),
            with_unit(1.28e6),
            megabytes(2**31),
        ]

    assert written() == ["61.4%", "−1,234.5", "0.25", "1.28 M", "2,048 MB"]
    with languages.using("es"):
        assert written() == ["61.4\u202f%", "−1\u202f234.5", "0.25", "1.28 M", "2\u202f048 MB"]
    with languages.using("qps"):
        assert written()[:3] == ["61,4\u202f%", "−1’234,5", "0,25"]
        assert languages._("{x} and {y:.1f}", x=0.5, y=1.25).startswith("⟦0,5 áñd 1,2")


def test_a_thread_begins_in_english_and_an_unknown_language_is_english() -> None:
    with languages.using("es"):
        assert languages.current().code == "es"
        languages.use("xx")
        assert languages.current() is languages.ENGLISH
    assert languages.current() is languages.ENGLISH and languages._("Course") == "Course"


def test_an_error_is_worded_where_it_is_read() -> None:
    error = InputError(
        "The text has {n:,} tokens.", "A model needs at least one.", "Name '{name}'.", n=4000, name="{x}"
    )
    again = pickle.loads(pickle.dumps(error))
    with languages.using("es"):
        spanish = (again.wrong, again.rule, str(again))
    assert spanish[:2] == ("El texto tiene 4\u202f000 tokens.", "Un modelo necesita al menos uno.")
    assert spanish[2] == str(error) == f"{error.wrong} {error.rule} {error.remedy}" and "{x}" in error.remedy


def test_an_error_words_a_message_among_its_values() -> None:
    lack = ABILITIES["choose_experts"].lacks(None)
    error = InputError(
        "{name} has no router.",
        "A router belongs to layers with experts; {lack}",
        "",
        name="gpt-mini",
        lack=lack,
    )
    again = pickle.loads(pickle.dumps(error))
    with languages.using("es"):
        spanish = again.text
    assert str(again) == f"gpt-mini has no router. A router belongs to layers with experts; {lack} "
    assert spanish.split("; ")[1].strip() == "cada una de sus capas tiene una sola red feed-forward."


def test_a_reason_that_was_kept_is_worded_where_it_is_read() -> None:
    error = InputError("{name} has no layers.", "A model is a folder.", "Check the path.", name="gpt-mini")
    reason = pickle.loads(pickle.dumps(reason_of(error)))
    assert reason == str(error) == in_reader_language(reason)
    with languages.using("es"):
        assert (
            in_reader_language(reason) == "gpt-mini no tiene capas. Un modelo es una carpeta. Revisa la ruta."
        )
        assert in_reader_language("gpt-mini") == "gpt-mini" and reason == str(error)


def test_a_phrase_is_worded_with_its_error_and_keeps_the_names_of_the_file() -> None:
    with pytest.raises(InputError) as refused:
        build_config(GPTConfig, vars(GPTConfig.tiny()) | {"n_heads": 5})
    error = Fields({"n_head": 5}).in_their_words(refused.value, {"n_heads": ("n_head",)})
    again = pickle.loads(pickle.dumps(error))
    width = GPTConfig.tiny().d_model
    assert again.wrong == f"config.json: d_model={width} is not divisible by n_head=5."
    with languages.using("es"):
        assert again.wrong == f"config.json: d_model={width} no es divisible por n_head=5."
        assert str(again).startswith("config.json: d_model")


def test_what_the_child_says_of_a_tokenizer_is_in_the_readers_language(tmp_path: Path) -> None:
    file = tmp_path / FILE
    file.write_text(json.dumps({"model": {"type": "BPE", "vocab": {"a": 0}}, "added_tokens": [{}]}))
    with pytest.raises(InputError) as refused:
        try_in_child([file], FILE)
    assert refused.value.wrong == "tokenizer.json is refused: it adds a token without a name."
    with languages.using("es"):
        assert refused.value.wrong == "tokenizer.json se rechaza: añade un token sin nombre."


def test_a_card_has_its_first_paragraph_and_its_tables_in_the_readers_language() -> None:
    folder = shipped_folder() / "gpt-twin"
    card = (folder / "README.md").read_text("utf-8")
    assert card_in_reader_language(card, folder).split() == card.split()
    with languages.using("es"):
        written = card_in_reader_language(card, folder)
    assert "| Capas |" in written and first_paragraph(written).startswith("Un gemelo")
    assert [line.count("|") for line in written.splitlines() if "|" in line] == [
        line.count("|") for line in card.splitlines() if "|" in line
    ]


def test_errors_of_the_core_that_pages_show_have_their_parts_in_the_catalogues() -> None:
    """An f-string among the parts would be English on a Spanish page."""
    bare = [
        f"{path.relative_to(ROOT)}:{node.lineno}: {ast.unparse(part)[:100]}"
        for path in extract.worded_files()
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call) and function_name(node) in extract.ERRORS
        for part in node.args
        if [*bare_strings(ast.Call(node.func, [part], []), worded=True)]
    ]
    assert not bare, "\n".join(bare)


def test_a_reader_gets_the_language_of_the_link_then_that_of_the_browser() -> None:
    wishes = [b"de,es-AR;q=0.9,en;q=0.8", b"fr", b"es;q=oops", b""]
    asked = [
        Request({"type": "http", "query_string": query, "headers": [(b"accept-language", wish)]})
        for query in (b"", b"lang=es", b"lang=xx")
        for wish in wishes
    ]
    found = [reader_language(request) for request in asked]
    assert found == ["es", "en", "es", "en", *["es"] * 4, "es", "en", "es", "en"]


if __name__ == "__main__":
    if sys.argv[1:]:
        print(*(line for name in sys.argv[1:] for line in survey().get(name, [])), sep="\n")
    else:
        print(
            "BARE = {",
            *(f'    "{name}": {len(lines)},' for name, lines in survey().items() if lines),
            "}",
            sep="\n",
        )


def test_words_are_in_the_readers_quotation_marks() -> None:
    """A string with places in braces that is filled in at once has the marks of English in every language; `_("“{answer}”")` has not."""
    names = [
        *(ROOT / "viz").glob("*.py"),
        *(
            path
            for path in (ROOT / "viz").rglob("*.py")
            if path.relative_to(ROOT).as_posix().startswith(WORDED)
        ),
    ]
    marked = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in names
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.JoinedStr)
        if any(isinstance(part, ast.Constant) and {*"“”"} & {*part.value} for part in node.values)
    ]
    assert marked == ["viz/instruments/whole_model/whole_model.py:112"], "for who writes Python"
