"""Publish a lesson as pages without a server: `python -m viz.export LESSON.toml OUT`.

It writes the folder OUT, which opens from a stick, a static host or a learning platform, and, where the lesson has at most 10 MB, the
same as one file, OUT.html. In place of a file the name of a lesson that ships, or of a chapter of the course, can stand.
With `--paper html` it writes pages to print into OUT instead (viz.export.paper), with `--paper pdf` each as PDF, too, which needs Chromium.
`python -m viz.export --live gpt-mini bert-mini translator-en-es OUT` writes a page in which these models run on the visitor's own sentence;
`--live` with a lesson puts such a page beside it, for its stops of Look. The pages are in the language of the lesson's file,
Spanish for `NAME.es.toml`, else in English, or in that of `--lang`.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

import torch

from core.errors import InputError
from viz.course.sheets.form import MOST_SEED
from viz.exhibit_text import Chapter
from viz.export import paper, record, site
from viz.export.live import site as live
from viz.export.live.pack import MODELS
from viz.instruments.kit.figure import printed_pages
from viz.languages import ENGLISH, LANGUAGES, current, using
from viz.shell.lessons import toml_format
from viz.shell.lessons.plan import Plan

READY = site.VIZ / "workspace" / "lessons" / "ready"


def lesson_named(name: str) -> Plan:
    """Return the lesson of a file, a lesson that ships, in the language of this thread where it is written in it, or a chapter by its folder.

    >>> lesson_named("vision").title, lesson_named("bert_and_gpt").title
    ('Beyond words', 'BERT and GPT')

    Raises:
        InputError: there is none of this name, or its file is not a lesson.
    """
    for file in (Path(name), READY / f"{name}.{current().code}.toml", READY / f"{name}.toml"):
        if file.is_file():
            return toml_format.loads(file.read_bytes())
    for chapter in Chapter:
        if chapter.folder == name:
            return record.lesson_of_chapter(chapter)
    raise InputError(
        "There is no lesson '{name}'.",
        "A lesson is a file in TOML, one that ships ({ready}) or a chapter of the course ({chapters}).",
        "Name one of them; the page Lessons saves one as a file.",
        name=name,
        ready=", ".join(sorted(file.stem for file in READY.glob("*.toml"))),
        chapters=", ".join(chapter.folder for chapter in Chapter),
    )


def language_named(code: str | None, lesson: str) -> str:
    """Return the code of a language, by default that of the name of a lesson's file.

    >>> language_named(None, "lessons/mine.es.toml"), language_named(None, "vision"), language_named("es", "vision")
    ('es', 'en', 'es')

    Raises:
        InputError: we do not have this language.
    """
    if code is None:
        written = Path(lesson).name.removesuffix(".toml").rpartition(".")[2]
        return written if written in LANGUAGES else ENGLISH.code
    if code in LANGUAGES:
        return code
    raise InputError(
        "There is no language '{code}'.",
        "The pages can be in {languages}.",
        "Name one of them after --lang, or leave it out.",
        code=code,
        languages=", ".join(f"{one.code} ({one.name})" for one in LANGUAGES.values() if not one.hidden),
    )


def main(arguments: list[str] | None = None) -> int:
    """Record the lesson and write it; return 0, or 2 with a sentence on what is wrong."""
    parser = argparse.ArgumentParser(prog="python -m viz.export", description=__doc__.partition("\n")[0])
    parser.add_argument(
        "lesson",
        nargs="+",
        help="a lesson file, the name of a lesson that ships, or a chapter of the course; with --live also one or more models",
    )
    parser.add_argument(
        "out", type=Path, help="the folder to write; one file of the same name goes beside it"
    )
    parser.add_argument(
        "--notes", action="store_true", help="with the lecturer's notes, which anybody can read then"
    )
    parser.add_argument(
        "--paper",
        choices=("html", "pdf"),
        help="write slides, handouts, a guide and an exit ticket to print, instead; pdf: with Chromium, each as PDF, too",
    )
    parser.add_argument(
        "--seed",
        type=int,
        help=f"0 to {MOST_SEED}: the numbers of the exit ticket, new ones if it is left out",
    )
    parser.add_argument(
        "--live",
        action="store_true",
        help=f"a page in which models run on the visitor's own sentence: of these models ({', '.join(MODELS)}), or beside a lesson of those that it shows on Look",
    )
    parser.add_argument(
        "--lang",
        metavar="CODE",
        help="the language of the pages, such as es; by default that of the name of the lesson's file (NAME.es.toml), else English",
    )
    given = parser.parse_args(arguments)
    only_models = given.live and {*given.lesson} <= {*MODELS}
    if len(given.lesson) > 1 and not only_models:
        parser.error(f"one lesson at a time, or several models with --live: {', '.join(MODELS)}")
    if given.seed is not None and not 0 <= given.seed <= MOST_SEED:
        parser.error(f"--seed is a number from 0 to {MOST_SEED}")
    torch.set_num_threads(1)  # the numbers of a lesson are those of the server
    begun = time.perf_counter()
    try:
        if given.out.name in ("", ".."):
            given.out = given.out.resolve()  # the file beside it has its name
        _require_writable(given.out)
        with using(language_named(given.lang, given.lesson[0])):
            if only_models:
                for path, size in live.write(given.lesson, given.out).items():
                    print(f"{given.out / path}: {size:,} bytes")
                return 0
            (paper if given.paper else site).require_free(given.out)
            made = record.record(
                lesson_named(given.lesson[0]),
                notes=given.notes or bool(given.paper),
                report=lambda share, name: print(f"{share:4.0%}  {name}", file=sys.stderr),
            )
            lines = (
                _print(made, given) if given.paper else _publish(made, given.out, own_sentences=given.live)
            )
    except InputError as error:
        print(f"{error.wrong} {error.rule} {error.remedy}", file=sys.stderr)
        return 2
    except OSError as error:  # a full disk, a stick that was taken out
        print(f"{given.out} cannot be written: {error.strerror or error}", file=sys.stderr)
        return 2
    print(f"{given.out}: {len(made.stops)} stops in {time.perf_counter() - begun:.0f} s")
    print(*lines, sep="\n")
    for name in made.missing:
        print(f"Without a picture, since it is drawn only in the full app: {name}")
    return 0


def _require_writable(out: Path) -> None:
    """Raise InputError where the folder `out` cannot be made: recording takes minutes, and writing comes last."""
    place = next(folder for folder in (out, *out.absolute().parents) if folder.exists())
    if not out.name or (place != out and not place.is_dir()) or not os.access(place, os.W_OK):
        raise InputError(
            "'{path}' cannot be written.",
            "A lesson is written into a folder of its own, and one file of the same name beside it.",
            "Name a folder in one that you may write.",
            path=out,
        )


def _publish(made: record.Recording, out: Path, *, own_sentences: bool) -> list[str]:
    """Write the folder and the one file, and the models for `own_sentences` into the folder; return a line on each."""
    models = live.add_own_sentences(made) if own_sentences else []
    folder, single = site.write(made, out)
    written = live.write(models, out / live.FOLDER, in_lesson=True) if models else {}
    none = ["No stop shows one of the models that run in a page: there is none."]
    return [
        *(f"{out / live.FOLDER / path}: {size:,} bytes" for path, size in written.items()),
        *(none if own_sentences and not models else ()),
        f"{out}: {folder:,} bytes",
        f"{out}.html: {single:,} bytes" if single else "One file would have more than 10 MB: there is none.",
    ]


def _print(made: record.Recording, options: argparse.Namespace) -> list[str]:
    """Write the pages to print, and the PDF of each if asked for; return a line on each."""
    paths = paper.write(made, options.out, options.seed)
    if options.paper == "pdf":
        files = printed_pages({name: path.read_bytes() for name, path in paths.items()})
        for name, data in files.items():
            paths[f"{name}.pdf"] = options.out / f"{name}.pdf"
            paths[f"{name}.pdf"].write_bytes(data)
    if "exit_ticket" not in paths:
        print("No exhibit of the lesson has exercises: there is no exit ticket.")
    return [f"{path}: {path.stat().st_size:,} bytes" for path in paths.values()]


if __name__ == "__main__":
    sys.exit(main())
