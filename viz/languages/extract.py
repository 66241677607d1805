"""Messages of the source: what `_`, `ngettext` and `mark` are called with, what pages say of themselves, texts of HTML and scripts."""

from __future__ import annotations

import ast
import json
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path

from core.tools.card_template import first_paragraph

ROOT = Path(__file__).resolve().parents[2]
CALLS = ("_", "mark", "Phrase")
ERRORS = (
    *("InputError", "Refusal", "refusal", "Busy", "UnknownKind", "Refused", "Unreadable", "Problem"),
    *("config_error", "wrong_value", "only", "absent", "bad"),
)
"""Errors in words, and functions that make or raise one: their parts are looked up when they are read (`core.errors.language`)."""
REASONS = "UNREAD"
"""The table of kinds of models that are not read: why, and what to do."""
WORDED = (
    "viz/instruments/sketch/",
    "viz/instruments/picture/",
    "viz/classroom/",
    "viz/uploads/",
    "viz/export/",
    "viz/limits.py",
    "core/abilities.py",
    "core/model.py",
    "core/trace.py",
    "core/analysis/arithmetic/cell.py",
    "core/analysis/attention/aggregate.py",
    "core/analysis/attribution/",
    "core/analysis/diagram_nodes.py",
    "core/analysis/documents.py",
    "core/analysis/forcing.py",
    "core/analysis/heads/corpus.py",
    "core/analysis/heads/evidence.py",
    "core/analysis/heads/head_survey.py",
    "core/analysis/heads/sketch.py",
    "core/analysis/residual/",
    "core/analysis/routing.py",
    "core/analysis/similarity.py",
    "core/checkpoints/__init__.py",
    "core/checkpoints/files.py",
    "core/checkpoints/find.py",
    "core/checkpoints/foreign/",
    "core/checkpoints/gguf_file.py",
    "core/checkpoints/history.py",
    "core/checkpoints/hub.py",
    "core/checkpoints/inspect.py",
    "core/checkpoints/load.py",
    "core/checkpoints/manifest.py",
    "core/checkpoints/native_format.py",
    "core/checkpoints/safety/",
    "core/checkpoints/task_heads.py",
    "core/checkpoints/tokenizer.py",
    "core/checkpoints/weights.py",
    "core/data/doodles/",
    "core/data/patches.py",
    "core/data/scenes/language.py",
    "core/data/speech/reader.py",
    "core/data/text_lines.py",
    "core/decoding/",
    "core/edits/",
    "core/jobs/",
    "core/layers/config_checks.py",
    "core/models/",
    "core/reading/",
    "core/run/__init__.py",
    "core/run/lazy_logits.py",
    "core/scoring/data_set.py",
    "core/serving/registry.py",
    "core/serving/scheduler.py",
    "core/text/tokenizer.py",
    "core/training/growth.py",
    "core/training/records.py",
)
"""Places whose errors are worded when they are read; elsewhere `_` words them where they are raised, or only who writes Python reads them."""
KNOBS = ("pills", "segmented", "select", "select_slider", "slider", "number", "toggle", "sentence", "doodle")
"""Functions of viz.widgets.knobs that declare a control of an exhibit, its label first."""
CHAPTERS = (
    "viz/course/exhibit.py",
    "viz/course/why/",
    "viz/course/look_up/",
    "viz/course/self_attention/self_attention/",
    "viz/course/self_attention/masks/",
    "viz/course/vision/picture_as_words/",
)
"""Chapters, and exhibits of the shortest lesson, whose controls the catalogues have so far, and the frame of exhibits."""
SENTENCES = "Sentences"
"""The class whose texts a picture says of a touched word (viz.instruments.words)."""
HTML_NAME = "_HTML"
"""The constant of a module with the HTML of its component."""
FIELDS = {"Page": ("title", "claim", "activity"), "Task": ("title", "says")}
"""Fields of a `Page`, which are read without running its file (viz.shell.pages), and of the small tasks of `core`."""
ATTRIBUTES = ("title", "aria-label", "placeholder", "alt")
OF_CORE = (
    "core/data/corpora.py",
    "core/analysis/heads/habits.py",
    "core/analysis/heads/evidence.py",
    "core/edits/describe.py",
    "core/checkpoints/scores.py",
    "core/layers/score_terms.py",
    *(f"core/analysis/arithmetic/{name}.py" for name in ("scores", "softmax", "weighted_sum", "window")),
    "core/tools/card_sections.py",
    "core/training/toy/toy_tasks.py",
    "assets/MANIFEST.toml",
    "assets/texts/presets.tsv",
)
"""Files of `core` with words that pages show: descriptions of what models read, names of what heads attend to, tests for it, sentences about edits, lines of arithmetic, small tasks; and a file of ready-made texts with notes on them."""
EQUATIONS = tuple(
    f"viz/course/equations/{name}.toml"
    for name in ("why", "recurrent", "scores", "look_up", "self_attention")
)
"""Files of equations whose words the catalogues have so far."""
TABLES_OF_DATA = (
    "viz/course/shared/prompts.toml",
    "viz/course/homework/questions.toml",
    "viz/course/errata/errata.toml",
    "viz/course/pages/uses/cards.toml",
    "viz/sources.toml",
    *EQUATIONS,
)
"""Data with words that pages show: equations, homework, errata, uses and risks, short names of sources, and others in their lines title, says and head."""
SCORES = "assets/models/*/scores.json"
"""Scores of models, whose splits, parts and baselines are shown."""
CARDS = "assets/models/*/README.md"
"""Cards of models, whose first paragraph is shown."""
GLOSSARY = "core/glossary/names.toml"
"""The glossary: the words and sentences of its methods, and of the head, are shown as tooltips."""
HABITS = ("HABIT_NAMES", "TESTS")
"""The tables of these names and tests."""
DIVIDED = ("viz/course/", "viz/workspace/")
"""Packages that have a catalogue for each of their folders."""
COMPONENTS = {
    ".js": ("viz/shell/", "viz/workspace/", "viz/instruments/", "viz/classroom/", "viz/export/"),
    ".html": ("viz/shell/", "viz/workspace/", "viz/classroom/", "viz/export/"),
}
"""Folders whose HTML and scripts are those of components, by the ending of their names: the words go to the browser with their data."""
_WORDS_OF_DATA = re.compile(r'^(?:title|says|head) = "(.*)"$', re.MULTILINE)
_SAY = re.compile(r'\b(?:say|mark)\(("(?:[^"\\]|\\.)*")[,)]')


@dataclass
class Message:
    """A message: its plural, "" for one without, and the files that have it."""

    plural: str = ""
    files: list[str] = field(default_factory=list)


def messages(root: Path = ROOT) -> dict[str, Message]:
    """Return all messages of `viz`, by their English, in the order of files and lines."""
    found: dict[str, Message] = {}
    of_core = [
        *(root / name for name in OF_CORE),
        *worded_files(root),
        *sorted(root.glob(SCORES)),
        *sorted(root.glob(CARDS)),
    ]
    for path in [*sorted((root / "viz").rglob("*")), *dict.fromkeys(of_core)]:
        name = path.relative_to(root).as_posix()
        if path.suffix not in _READERS or not (
            path.suffix == ".py"
            or name in (*TABLES_OF_DATA, *OF_CORE)
            or path.match(SCORES)
            or path.match(CARDS)
            or name.startswith(COMPONENTS.get(path.suffix, ()))
        ):
            continue
        source = path.read_text("utf-8")
        if "viz.widgets.knobs import" in source and not name.startswith(CHAPTERS):
            continue
        texts = [*_READERS[path.suffix](source)]
        if name.startswith(WORDED) and path.suffix == ".py":
            texts += _plain(error_messages(source))
        for text, plural in texts:
            message = found.setdefault(text, Message())
            message.plural = message.plural or plural
            if name not in message.files:
                message.files.append(name)
    for text in glossary_messages((root / GLOSSARY).read_text("utf-8")):
        found.setdefault(text, Message()).files.append(GLOSSARY)
    return found


def worded_files(root: Path = ROOT) -> list[Path]:
    """Return the files of `core` whose errors are worded when they are read."""
    places = [root / name for name in WORDED if name.startswith("core/")]
    return [
        file for place in places for file in ([place] if place.is_file() else sorted(place.rglob("*.py")))
    ]


def glossary_messages(source: str) -> list[str]:
    """Return the words and sentences of the glossary that are tooltips."""
    parts = tomllib.loads(source)
    rows = [parts["axes"]["head"], *parts["methods"].values()]
    return [text for _symbol, word, sentence, *_rest in rows for text in (word, sentence)]


def part(name: str) -> str:
    """Return the catalogue that has the messages of a file: that of its package, of its chapter or page where there are many.

    >>> part("viz/course/why/weighting/steps.py"), part("viz/workspace/look/page.py"), part("viz/theme.py")
    ('course_why', 'workspace_look', 'viz')
    """
    folders = name.split("/")[:-1]
    depth = 3 if name.startswith(DIVIDED) else 2
    return "_".join(folders[:depth][1:]) or folders[0]


def python_messages(source: str) -> Iterator[tuple[str, str]]:
    """Yield the messages of a Python file, each with its plural or "".

    >>> list(python_messages('_("Close"); ngettext("{n} step", "{n} steps", n); Page(title="Look", order=1)'))
    [('Close', ''), ('{n} step', '{n} steps'), ('Look', '')]
    """
    declares = "from viz.widgets.knobs import" in source
    if (
        not declares
        and not any(f"{name} = {{" in source for name in HABITS)
        and not re.search(
            r"\b(_|mark|Phrase|ngettext|Page|Task|ScriptWords|TextDescription|Sentences)\(", source
        )
    ):
        return
    for node in _in_order(ast.parse(source)):
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == HTML_NAME:
            parts = (each.value for each in ast.walk(node.value) if isinstance(each, ast.Constant))
            markup = "".join(part for part in parts if isinstance(part, str) and "<" in part)
            yield from _plain(html_messages(markup))
        elif isinstance(node, ast.ClassDef) and node.name == SENTENCES:
            defaults = (each.value for each in node.body if isinstance(each, ast.AnnAssign))
            yield from _plain([str(each.value) for each in defaults if isinstance(each, ast.Constant)])
        elif isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) in HABITS:
            yield from _plain(list(ast.literal_eval(node.value).values()))
        if not isinstance(node, ast.Call):
            continue
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        first = [
            each.value for each in node.args if isinstance(each, ast.Constant) and isinstance(each.value, str)
        ]
        if name in CALLS and first:
            yield first[0], ""
        elif name == "TextDescription":
            parts = (*node.args, *(keyword.value for keyword in node.keywords))
            yield from _plain([str(ast.literal_eval(part)) for part in parts])
        elif name == "ngettext" and len(first) > 1:
            yield first[0], first[1]
        elif isinstance(node.func, ast.Name) and name in KNOBS and declares and first:
            yield first[0], ""
        for keyword in node.keywords:
            value = keyword.value
            if not isinstance(value, ast.Constant) or not value.value:
                continue
            if name == SENTENCES or keyword.arg in FIELDS.get(name, ()):
                yield str(value.value), ""


def error_messages(source: str) -> list[str]:
    """Return the parts of the errors that a Python file raises, either one where there are two.

    >>> error_messages('InputError("It is empty.", rule, "Type it." if here else "Load it.")')
    ['It is empty.', 'Type it.', 'Load it.']
    """
    nodes = [*_in_order(ast.parse(source))]
    calls = (node for node in nodes if isinstance(node, ast.Call))
    named = (call for call in calls if getattr(call.func, "id", getattr(call.func, "attr", "")) in ERRORS)
    parts = (part for call in named for part in call.args)
    tables = (node.value for node in nodes if isinstance(node, ast.AnnAssign) and _is_reasons(node.target))
    reasons = (one for table in tables if table for one in _in_order(table))
    each = (
        one
        for part in (*parts, *reasons)
        for one in ((part.body, part.orelse) if isinstance(part, ast.IfExp) else (part,))
    )
    return [
        one.value
        for one in each
        if isinstance(one, ast.Constant) and isinstance(one.value, str) and " " in one.value
    ]


def _is_reasons(target: ast.expr) -> bool:
    return ast.unparse(target) == REASONS


def _in_order(tree: ast.AST) -> Iterator[ast.AST]:
    yield tree
    for child in ast.iter_child_nodes(tree):
        yield from _in_order(child)


def html_messages(html: str) -> list[str]:
    """Return the texts of a piece of HTML and of its attributes that are shown; none with a place that is filled, %%LIKE_THIS%%.

    >>> html_messages('<p title="Large type">Present <kbd>R</kbd></p>')
    ['Large type', 'Present']
    """
    reader = _HtmlReader()
    reader.feed(html)
    reader.close()
    return [text for text in reader.texts if "%%" not in text]


class _HtmlReader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self._silent = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._silent += tag in ("script", "style")
        self.texts += [value for name, value in attrs if name in ATTRIBUTES and value]

    def handle_endtag(self, tag: str) -> None:
        self._silent -= tag in ("script", "style")

    def handle_data(self, data: str) -> None:
        text = data.strip()
        if not self._silent and sum(letter.isalpha() for letter in text) > 1:
            self.texts.append(text)


def script_messages(source: str) -> list[str]:
    r"""Return the texts of a script that go through `say`, or are marked for it.

    >>> script_messages('button.title = say("Next");')
    ['Next']
    """
    return [json.loads(literal) for literal in _SAY.findall(source)]


def table_messages(source: str) -> list[str]:
    r"""Return the tasks of ready-made texts and the notes on them.

    >>> table_messages("task\ttext\tnote\nlists\tBread and butter.\tOne kind.\n")
    ['lists', 'One kind.']
    """
    names, *rows = (line.split("\t") for line in source.splitlines())
    return [row[names.index(name)] for row in rows for name in ("task", "note")]


def score_messages(source: str) -> list[str]:
    """Return the splits, the baselines and the parts of the scores of a model.

    >>> score_messages('[{"measure": "bleu_by_length, 2-5 words", "split": "test", "of": "the nearest sentence", "value": 1}]')
    ['test', 'the nearest sentence', '2-5 words']
    """
    rows = json.loads(source)
    texts = [
        text for row in rows for text in (row["split"], row["of"], row["measure"].partition(", ")[2]) if text
    ]
    return [text for text in dict.fromkeys(texts) if not re.fullmatch(r"[a-z]+(-[a-z]+)+|s \d", text)]


def data_messages(source: str) -> list[str]:
    """Return the words of a table of data: of homework its questions and explanations, of uses and risks their cards, of equations titles and notes, and of each symbol its word, shape, origin and sentence.

    >>> data_messages('signs.all.n = ["number", "length", "Eq. (3)", "Words of the source."]\\nequations.sum.title = "A sum"')
    ['A sum', 'length', 'Words of the source.']
    """
    if "models" in (found := tomllib.loads(source)):
        return [model["attribution"] for model in found["models"].values()]
    if "teaching" in found:
        return [row[0] for row in found["teaching"].values()]
    if "cards" in found:
        names = ("group", "title", "text", "paper", "link")
        return [*dict.fromkeys(card[name] for card in found["cards"] for name in names)]
    if "signs" not in found:
        if errata := [entry for entry in found.values() if isinstance(entry, dict) and "right" in entry]:
            return [entry[name] for entry in errata for name in ("title", "says", "right", "note")]
        rows = [row for group in found.values() if isinstance(group, dict) for row in group.values()]
        asked = [row for row in rows if isinstance(row, dict) and "explanation" in row]
        homework = [row[name] for row in asked for name in ("text", "explanation")]
        return [*dict.fromkeys(homework)] or _WORDS_OF_DATA.findall(source)
    texts = [entry.get(name, "") for entry in found["equations"].values() for name in ("title", "note")]
    for rows in found["signs"].values():
        for shape, *words in rows.values():
            is_text = shape.partition(" ")[0] not in ("number", "vector", "matrix")
            texts += [*(shape.split(" | ") if is_text else ()), *words[:3]]
    return [text for text in dict.fromkeys(texts) if re.search("[a-z]{3}", text)]


def _plain(texts: list[str]) -> list[tuple[str, str]]:
    return [(text, "") for text in texts]


_READERS = {
    ".py": python_messages,
    ".js": lambda source: _plain(script_messages(source)),
    ".toml": lambda source: _plain(data_messages(source)),
    ".json": lambda source: _plain(score_messages(source)),
    ".md": lambda source: _plain([" ".join(first_paragraph(source).split())]),
    ".tsv": lambda source: _plain(table_messages(source)),
    ".html": lambda source: _plain(html_messages(source)),
}
