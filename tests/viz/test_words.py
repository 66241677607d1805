"""The pages of words: equations that can be touched, names, by document, homework."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from exhibit_visits import answered
from shown_values import states
from streamlit.testing.v1 import AppTest
from workspace_pages import page, said

from core import glossary
from viz.course import errata
from viz.course.equations import EQUATIONS, Equation
from viz.course.kit import equation_view as equations
from viz.course.pages.names import mentioned, sections
from viz.course.pages.names import page as names
from viz.labels import has_index
from viz.sources import SOURCES

ROOT = Path(__file__).resolve().parents[2]

SCRIPT = (ROOT / "viz" / "course" / "kit" / "equation_view.js").read_text("utf-8")


@pytest.mark.parametrize("equation", EQUATIONS.values(), ids=lambda equation: equation.key)
def test_the_browser_can_draw_every_equation(equation: Equation) -> None:
    known = set(re.findall(r'case "(\w+)"', SCRIPT))
    told_ = equations.payload(equation, {}, {})

    def walk(tree: list) -> None:
        assert tree[0] in known, tree
        for part in tree[1:]:
            if isinstance(part, list):
                walk(part)
            elif tree[0] == "sign":
                assert told_["signs"][part]["word"]

    walk(told_["columns"])
    walk(told_["rows"])
    assert all(document in SOURCES for document, _, _ in equation.where)
    assert all(SOURCES[document].short in told_["where"] for document, _, _ in equation.where)


def test_numbers_and_marks_belong_to_symbols_that_are_there() -> None:
    equation = EQUATIONS["attention.context"]
    found = equations.payload(equation, {"a_ij": "0.41", "h_j": ["0.2", "0.7"]}, {"a_ij": "row 2"})["signs"]
    assert (found["a_ij"]["value"], found["a_ij"]["mark"], found["h_j"]["value"]) == (
        ["0.41"],
        "row 2",
        ["0.2", "0.7"],
    )
    with pytest.raises(KeyError, match="a_ij"):
        equations.payload(equation, {"a_kl": "1"}, {})


def test_the_convention_of_the_link_reaches_every_equation_and_nonsense_is_told() -> None:
    script = (
        "import streamlit as st\nfrom viz.course.kit import equation_view as equations\nfrom viz.shell import notices\nnotices.reserve_notice_area()\n"
        "equations.show('self.matrix', 'x.')\nst.text(equations.convention())"
    )
    for linked, shown in (("rows", "rows"), ("columns", "columns"), ("diagonal", "columns")):
        test = AppTest.from_string(script)
        test.query_params["convention"] = linked
        test.run()
        assert not test.exception and test.text[-1].value == shown
    assert not re.search("inner" + "HTML", SCRIPT)


NAMES = (
    *("n-gram", "word2vec", "Markov", "random field", "Recurrent", "Florence", "PaLM", "Pathways", "MAE"),
    *("Megatron", "Turing-NLG", "Dropout", "discrepancy", "ResNet", "Batch norm", "Area attention"),
    *("Hugging Face", "Survey of vision"),
)


def test_the_names_page_explains_the_letters_that_collide_and_the_names_that_are_only_named() -> None:
    told = said(page("names", {"fold:names.letters": True, "fold:names.named": True}))
    assert [letter.letter for letter in glossary.LETTERS] == list("phnkSMVH")
    meanings = [words for letter in glossary.LETTERS for meaning in letter.meanings for words in meaning]
    named = [words for one in mentioned.NAMED for words in (one.sentence, one.paper)]
    assert [each for each in (*NAMES, *meanings, *named) if each not in told] == []


def test_the_seven_tasks_say_who_is_query_key_and_value() -> None:
    told = said(page("names", {"fold:names.tasks": True}))
    for task in mentioned.TASKS:
        assert task.name in told and task.paper in told
        assert f"Query: {task.query}. Key: {task.key}. Value: {task.value}." in told


ATTEND = {
    "Show, attend and tell": ("region", {"Xu"}),
    "Protect, show, attend and tell": ("region", {"Lim"}),
    "Show, attend and read": ("region", {"Li"}),
    "Show, attend and translate": ("place", {"Zhang", "Yang"}),
    "Show, ask, attend and answer": ("region", {"Kazemi"}),
    "Show, attend and interact": ("region", {"Qureshi"}),
    "Listen, attend and spell": ("stretch", {"Chan"}),
}
"""The seven of Ghojogh and Ghodsi 2020, as printed there: of what the keys are parts (of a picture, of sound), and who is cited."""


def test_the_seven_tasks_are_those_of_the_survey_and_attend_as_it_defines() -> None:
    """What is attended to gives keys and values alike; the query is another thing; "ask" asks with the question, "spell" spells sound."""
    tasks = {task.name: task for task in mentioned.TASKS}
    assert set(tasks) == set(ATTEND)
    for name, (part, authors) in ATTEND.items():
        task = tasks[name]
        assert {cited.split()[0] for cited in task.paper.split("; ")} == authors
        assert (
            part in task.key
            and part in task.value
            and part not in task.query
            and task.value.startswith("the same")
        )
        assert ("sound" in task.key) == name.startswith("Listen") and (
            "picture" in task.key
        ) == name.removeprefix("Protect, ").lower().startswith("show")
        assert ("question" in task.query) == (", ask," in name)
    assert len(re.findall(r"20\d\d", " ".join(task.paper for task in mentioned.TASKS))) == 9, (
        "two papers each for images and for speech"
    )


def test_the_other_sections_hold_all_terms_axes_and_bridges() -> None:
    state = {f"fold:names.{slug}": True for slug in ("tensors", "axes", "methods", "bridges")}
    told = said(page("names", state))
    assert all(term.sentence in told for term in (*glossary.LEAVES, *glossary.AXES, *glossary.METHODS))
    assert all(row.columns in told and row.rows in told and row.bridge in told for row in mentioned.BRIDGES)


def test_one_box_searches_all_sections() -> None:
    assert states(said(page("names", names__find="query decoder")), "“query decoder”")
    found = {section.slug: lines for section, lines in names.compute(names.Params("resnet"))}
    assert found["named"][0].head == "ResNet"
    assert all(line.holds(["query"]) for _, lines in names.compute(names.Params("QUERY")) for line in lines)
    odd = "<b>![x](http://a)"
    assert f"No entry contains “{odd}”" in said(page("names", names__find=odd))


def test_every_symbol_of_the_course_is_a_name() -> None:
    listed = {
        line.head for section in sections.sections() if section.slug == "symbols" for line in section.lines
    }
    assert listed == {name for equation in EQUATIONS.values() for name in equation.signs}


LUONG_DOCUMENTS = {"fold:Global and local attention.documents": True}


def test_mathematics_is_set_or_said_in_plain_words():
    """Charts cannot set it: there a letter has a real small index, or a word stands for it; documents and errata are set like the rest."""
    typed = []
    for path in (
        file
        for file in (ROOT / "viz").rglob("*.py")
        if "charts" in (*file.relative_to(ROOT).parts[:-1], file.stem)
    ):
        tree = ast.parse(path.read_text("utf-8"))
        notes = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        typed += [
            (path.stem, node.value)
            for node in ast.walk(tree)
            if isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in notes
            and has_index(node.value)
        ]
    panels = [panel for id in ("E27", "E29", "E31") for panel in errata.find(id).evidence().panels]
    assert typed == [] and not any(
        has_index(" ".join((panel.title, *panel.rows, *panel.columns))) for panel in panels
    )
    told = [line.value for line in answered(page("luong", LUONG_DOCUMENTS)).markdown]
    assert any("$p_{t}$, $a_{st}$" in line for line in told) and not [
        line for line in told if has_index(line.replace("\\", ""))
    ]


def test_pictures_of_an_erratum_are_its_own_and_the_pages_are_the_pages():
    shown = answered(page("luong", LUONG_DOCUMENTS))
    charts = [*shown.get("vega_lite_chart"), *shown.get("plotly_chart")]
    whose = {(*filter(None, chart.proto.alt.split("\n")[1:]),) for chart in charts}
    assert charts and whose <= {("E27",), ("E29",)}, "neither the page's model nor its sentence"
    assert shown.session_state["_instrument_origin"].model == "bahdanau-en-es"


def test_the_rows_and_columns_of_attention_have_one_name_on_all_pages() -> None:
    """`labels.query_and_key` names them: no page has words of its own for who looks and what is looked at."""
    own = re.compile(r"\b(?:quer(?:y|ies)|keys?|written|reads?|source|target|looks?|looked|asks)\b")
    typed = []
    for path in (
        file for home in ("course", "workspace") for file in sorted((ROOT / "viz" / home).rglob("*.py"))
    ):
        source = path.read_text("utf-8")
        for node in ast.walk(ast.parse(source)) if "axis=" in source else ():
            if not (
                isinstance(node, ast.keyword) and node.arg == "axis" and isinstance(node.value, ast.Tuple)
            ):
                continue
            words = [
                word.value
                for part in node.value.elts
                for word in (part.args if isinstance(part, ast.Call) else [part])
                if isinstance(word, ast.Constant)
            ]
            if words != ["query", "key"]:
                home = f"{path.parent.name}/{path.stem}"
                typed += [(home, word) for word in words if own.search(str(word))]
    assert typed == [
        ("cls_and_pairs/steps", "read by [CLS]"),
        ("be_the_head/page", "token looked at"),
    ], "one row, two rows of guesses"
