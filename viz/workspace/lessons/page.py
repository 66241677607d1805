"""Lessons: walk through one in front of a class, make one of your own, save it, open a file, print exercises that go with it."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from urllib.parse import urlencode

import streamlit as st

from core.errors import InputError
from core.serving.scheduler import TURNS
from viz.course.sheets.kinds import exercise_kinds_of_page
from viz.export import paper, record, site
from viz.export.live import pack
from viz.export.live import site as live
from viz.labels import SHEET, formulas, literal
from viz.languages import _, current, mark, ngettext
from viz.number_text import MEGA, in_minutes, megabytes
from viz.shell import answers, errors, links, notices, state
from viz.shell.lessons import plan, session, toml_format, views, workshop
from viz.shell.lessons.plan import Plan, Stop
from viz.shell.pages import Page
from viz.widgets import page_parts
from viz.workspace.lessons import form

PAGE = Page(
    title="Lessons",
    order=87,
    menu="more",
    claim="Views of the atlas in an order, each with a note for the lecturer: present them to a class, or make your own.",
)
_PRINTED, _PUBLISHED = "atlas.lesson.printed", "atlas.lesson.published"
READY = (
    "attention_in_15_minutes",
    "bottleneck_to_transformer",
    "bert_and_gpt",
    "school_class",
    "attention_in_90_minutes",
)
HOW = mark(
    "In a lesson, Page down and Page up (the keys of a presenter's remote) go from stop to stop, on every page and in Present. *Notes* shows what to say, the clock and what comes next, and opens in a second window. With a lecture room open, that window is *Control*, and the room answers the questions."
)
PUBLISH = mark(
    "The lesson as pages without a server: live pictures and judged questions, from a stick, a website or a learning platform. Answers are not on screen before the guess, but they are in the file."
)
PRINT = mark(
    "Each page opens in any browser, without the network, and prints on A4 or is saved as PDF there. The handout for students holds no answer and no note, and its file holds none; the slides show each answer after its question."
)
COLLECT = mark(
    "No view is collected yet. Open any page, set it up as the class should see it, and press *Add to a lesson* beside its title; or start with one of the lessons above. It stays in this browser; save it as a file to keep it or to give it to others."
)


@dataclass(frozen=True)
class Params:
    """The parameters of the page: none, for a collected lesson is in the browser and in files, not in the link."""


def compute(_: Params = Params()) -> tuple[Plan, ...]:
    """Return the lessons that ship, in the visitor's language where they are written in it."""
    folder = Path(__file__).with_name("ready")
    own = (folder / f"{name}.{current().code}.toml" for name in READY)
    return tuple(
        _read(file if file.exists() else folder / f"{name}.toml")
        for name, file in zip(READY, own, strict=True)
    )


@functools.cache
def _read(file: Path) -> Plan:
    return toml_format.loads(file.read_bytes())


def page() -> None:
    """Draw the lessons that ship; the visitor's own; a file."""
    page_parts.title(PAGE, no_buttons=True)
    if (walk := session.presentation()) and session.is_closing_page("lessons"):
        _end(walk.plan)
        return
    if state.peek(workshop.LESSON):
        _workshop()
        return
    st.markdown(_(HOW))
    st.header(_("Ready to teach"), anchor=False)
    for number, lesson in enumerate(compute()):
        _card(lesson, f"ready-{number}")
    st.header(_("Your lesson"), anchor=False)
    if session.collected_lesson().stops:
        _collected(session.collected_lesson())
    else:
        st.markdown(_(COLLECT))
    if (before := session.previous_lesson()) and before != session.collected_lesson():
        st.button(
            _("Take the last change back"),
            icon=":material/undo:",
            on_click=session.undo,
            key="lessons.undo",
        )
    _file()


def _workshop() -> None:
    """Draw the lesson of a link, as long as its workshop lasts."""
    text, until = state.peek(workshop.LESSON), state.peek(workshop.UNTIL)
    try:
        lesson = workshop.parse(text, until, date.today())
    except InputError as error:
        notices.box(error.wrong, error.rule, error.remedy)
    else:
        st.header(literal(lesson.title), anchor=False)
        if lesson.about:
            st.text(lesson.about)
        st.text(_("A workshop, until {day}. No account is needed.", day=until))
        with st.container(horizontal=True, vertical_alignment="center"):
            _begin(lesson, "workshop")
            st.markdown(f":gray[{_many(lesson)}]", width="content")
        for at, stop in enumerate(lesson.stops):
            _line(lesson, at, stop)
    gone = {workshop.LESSON: None, workshop.UNTIL: None}
    st.button(_("All lessons"), key="lessons.all", on_click=functools.partial(state.write, **gone))


def _workshop_link(lesson: Plan, key: str) -> None:
    """Draw the choice of a workshop's last day, and its link."""
    today = date.today()
    until = st.date_input(
        _("A link for a workshop, until"),
        None,
        min_value=today,
        max_value=today + timedelta(days=366),
        key=f"lessons.until.{key}",
        help=_(
            "It opens these stops, without notes and without an account, until the end of that day. Whoever has the link can read it."
        ),
    )
    if until and (url := st.context.url):
        with errors.guard():
            st.code(f"{url.partition('?')[0]}?{urlencode(workshop.query(lesson, until))}", language=None)


def _end(lesson: Plan) -> None:
    """Draw the end of a lesson: its views, the exercises, the answers given."""
    st.header(literal(_("The end of “{lesson}”", lesson=lesson.title)), anchor=False)
    with st.container(horizontal=True, vertical_alignment="center"):
        _sheet(lesson)
        links.page_link("course", _("Open the course"), icon=":material/school:")
        st.button(_("All lessons"), key="lessons.all", on_click=_leave_the_end)
    left, right = st.columns(2, gap="large")
    with left:
        st.subheader(_("What was shown"), anchor=False)
        for at, stop in enumerate(lesson.stops):
            view = views.parse_view(stop.view)
            links.page_link(view.entry.slug, f"{at + 1}. {literal(stop.name)}", **view.query)
    with right:
        st.subheader(_("Answers given"), anchor=False)
        if not answers.given_answers():
            st.markdown(_("No question was answered."))
        for question, (guess, correct) in answers.given_answers().items():
            st.text(f"{question}\n{guess}: {_('right') if correct else _('not right')}")


def _leave_the_end() -> None:
    session.stop_presenting()
    state.write(**{"lessons.end": None, "present": None})


def _card(lesson: Plan, key: str) -> None:
    """Draw a lesson that can be begun, or made one's own."""
    with st.container(border=True, key=f"lessons-{key}"):
        st.subheader(literal(lesson.title), anchor=False)
        if lesson.about:
            st.text(lesson.about)
        with st.container(horizontal=True, vertical_alignment="center"):
            _begin(lesson, key)
            st.button(
                _("Make it yours"),
                key=f"lessons.take.{key}",
                on_click=session.replace_lesson,
                args=(lesson,),
                help=_("It takes the place of your lesson, and you change it as you like."),
            )
            _sheet(lesson)
            _print(lesson, key)
            _publish(lesson, key)
            st.markdown(f":gray[{_many(lesson)}]", width="content")
        with st.expander(_("The stops"), key=f"lessons.stops.{key}", on_change="rerun") as stops:
            for at, stop in enumerate(lesson.stops if stops.open else ()):
                _line(lesson, at, stop)


def _many(lesson: Plan) -> str:
    count = ngettext("1 stop", "{n} stops", len(lesson.stops))
    return f"{count}, {in_minutes(lesson.minutes)}"


def _begin(lesson: Plan, key: str) -> None:
    st.button(
        _("Start"), type="primary", key=f"lessons.begin.{key}", on_click=session.present, args=(lesson,)
    )
    st.button(_("Start presenting"), key=f"lessons.present.{key}", on_click=_begin_in_present, args=(lesson,))


def _begin_in_present(lesson: Plan) -> None:
    state.write(present=True)
    session.present(lesson)


def _line(lesson: Plan, position: int, stop: Stop) -> None:
    """Draw a stop, as it is read in the list."""
    view = views.parse_view(stop.view)
    with st.container(gap=None):
        with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
            links.page_link(view.entry.slug, f"**{position + 1}. {literal(stop.name)}**", **view.query)
            st.markdown(
                _(
                    ":gray[:small[minute {start:g}, {length}]]",
                    start=lesson.start_minute(position),
                    length=in_minutes(stop.minutes),
                ),
                width="content",
            )
        if stop.note:
            st.text(stop.note)
        if stop.question:
            st.caption(
                _("Question: {question}", question=formulas(stop.words))
                if stop.words
                else _("Question: the one on the page")
            )


def _sheet(lesson: Plan) -> None:
    """Draw the way to exercises from the exhibits of the lesson, on one sheet; its number gives the same for everybody, the solutions are a sheet of their own."""
    slugs = dict.fromkeys(views.parse_view(stop.view).entry.slug for stop in lesson.stops)
    if kinds := dict.fromkeys(kind for slug in slugs for kind in exercise_kinds_of_page(slug)):
        links.page_link(
            "homework",
            _("Exercises to print"),
            icon=":material/print:",
            **{"homework.group": SHEET, "homework.kinds": ",".join(kinds)},
        )


def _print(lesson: Plan, key: str) -> None:
    """Draw the way to the lesson on paper: its stops are recorded first, then each page can be saved."""
    with st.popover(_("Slides and handout"), icon=":material/description:", key=f"lessons.print.{key}"):
        st.markdown(_(PRINT))
        if st.button(_("Record the stops"), key=f"lessons.paper.{key}", type="primary"):
            made = _recorded(lesson, notes=True)
            st.session_state[_PRINTED] = lesson, made.missing, paper.pages(made)
        known = st.session_state.get(_PRINTED)
        if not known or known[0] != lesson:
            return
        for name, page in known[2].items():
            title = _(paper.PAGES[name].title) if name in paper.PAGES else _("Exit ticket")
            _save(f"lessons.save.{name}.{key}", title, page, f"{_file_name(lesson.title)}-{name}.html")
        _name_missing(known[1])


def _recorded(lesson: Plan, *, notes: bool) -> record.Recording:
    """Record a lesson while a bar tells how far it is."""
    with st.empty():
        bar = st.progress(0.0, _("Recording"))
        made = record.record(
            lesson,
            notes=notes,
            report=lambda share, name: bar.progress(share, literal(_("Recording “{name}”", name=name))),
        )
        st.empty()
    return made


def _save(key: str, label: str, data: bytes, file: str, mime: str = "text/html") -> None:
    """Draw a button that saves a file; its label has the size."""
    st.download_button(
        f"{label} ({megabytes(len(data), 1, MEGA)})",
        data,
        file,
        mime,
        on_click="ignore",
        icon=":material/download:",
        key=key,
    )


def _name_missing(missing: tuple[str, ...]) -> None:
    if missing:
        st.text(_("Without a picture, since only the full app draws it: {stops}", stops=", ".join(missing)))


def _publish(lesson: Plan, key: str) -> None:
    """Draw the way to the lesson without a server: its stops are recorded first, then the folder and the one file can be saved."""
    with st.popover(_("Publish"), icon=":material/share:", key=f"lessons.publish.{key}"):
        st.markdown(_(PUBLISH))
        notes = st.checkbox(
            _("With the notes for the lecturer"),
            key=f"lessons.publish.notes.{key}",
            help=_("Whoever gets the files can read them."),
        )
        models = st.pills(
            _("Models for the student's own sentence"),
            pack.MODELS,
            selection_mode="multi",
            format_func=_model_with_size,
            key=f"lessons.publish.models.{key}",
            help=_(
                "They go into the folder and run in the browser; the lesson leads to them. Packing takes some seconds, of the translator a minute or more."
            ),
        )
        if st.button(_("Record the stops"), key=f"lessons.record.{key}", type="primary"):
            made = _recorded(lesson, notes=notes)
            with errors.guard():
                files = _published_files(made, _file_name(lesson.title), models)
                st.session_state[_PUBLISHED] = (lesson, notes, models, made.missing, files)
        known = st.session_state.get(_PUBLISHED)
        if known and known[:3] == (lesson, notes, models):
            folder, single = known[4]
            _save_published(_file_name(lesson.title), known[3], folder, single, key)
        _workshop_link(lesson, key)


def _model_with_size(name: str) -> str:
    return _("{model}, at most {size}", model=name, size=megabytes(pack.most_bytes(name), 1, MEGA))


def _published_files(made: record.Recording, name: str, models: Sequence[str]) -> tuple[bytes, bytes | None]:
    """Return the folder with these models in it, as a ZIP file, and the one file, while a bar tells how far it is."""
    files = dict[str, bytes]()
    if models:
        with st.empty():
            bar = st.progress(0.0, _("Packing the models"))
            for done, model in enumerate(models):
                bar.progress(done / len(models), _("Packing {model}", model=model))
                with TURNS.give_up():
                    pack.pack_apart(model)
            names = live.add_own_sentences(made, models)
            page = live.folder_files(names, pack.pack_apart, in_lesson=True)
            files = {f"{live.FOLDER}/{path}": data for path, data in page.items()}
            st.empty()
    return site.archive(made, name, files), site.single_file(made)


def _save_published(
    name: str, missing: tuple[str, ...], folder: bytes, single: bytes | None, key: str
) -> None:
    """Draw the buttons that save the published lesson, and name the stops without a picture."""
    saved = [(_("Save the folder"), folder, f"{name}.zip", "application/zip")]
    if single is not None:
        saved.append((_("Save as one file"), single, f"{name}.html", "text/html"))
    for label, data, file, mime in saved:
        _save(f"lessons.save.{file.rpartition('.')[2]}.{key}", label, data, file, mime)
    if single is None:
        st.markdown(_("One file would have more than {size}.", size=megabytes(site.MOST_IN_ONE, 0, MEGA)))
    _name_missing(missing)


def _collected(lesson: Plan) -> None:
    """Draw the collected lesson, with its controls."""
    title = st.text_input(
        _("Title"), lesson.title, max_chars=plan.LONGEST_NAME, key=f"lessons.title.{session.revision()}"
    )
    about = st.text_input(
        _("About"), lesson.about, max_chars=plan.LONGEST_NOTE, key=f"lessons.about.{session.revision()}"
    )
    if (title.strip(), about.strip()) != (lesson.title, lesson.about) and title.strip():
        session.replace_lesson(dataclasses.replace(lesson, title=title.strip(), about=about.strip()))
        st.rerun()
    with st.container(horizontal=True, vertical_alignment="center"):
        _begin(lesson, "own")
        st.download_button(
            _("Save as a file"),
            toml_format.dumps(lesson),
            f"{_file_name(lesson.title)}.toml",
            "application/toml",
            on_click="ignore",
            icon=":material/download:",
            key="lessons.save",
        )
        _sheet(lesson)
        _print(lesson, "own")
        _publish(lesson, "own")
        st.button(
            _("Discard lesson"),
            key="lessons.anew",
            on_click=session.replace_lesson,
            args=(Plan(_(session.DEFAULT_TITLE)),),
            icon=":material/delete:",
        )
        st.markdown(f":gray[{_many(lesson)}]", width="content")
    for at, stop in enumerate(lesson.stops):
        with st.container(border=True, key=f"lessons-stop-{at}"):
            _line(lesson, at, stop)
            with st.container(horizontal=True, gap="small"):
                _act("up", _("Up"), "arrow_upward", at, lesson.with_stop_moved(at, -1), off=at == 0)
                _act(
                    "down",
                    _("Down"),
                    "arrow_downward",
                    at,
                    lesson.with_stop_moved(at, 1),
                    off=at + 1 == len(lesson.stops),
                )
                _act("remove", _("Remove"), "delete", at, lesson.without_stop(at))
                if st.button(_("Change"), icon=":material/edit:", key=f"lessons.change.{at}"):
                    form.change_stop(at)


def _act(name: str, label: str, icon: str, position: int, after: Plan, *, off: bool = False) -> None:
    st.button(
        label,
        icon=f":material/{icon}:",
        key=f"lessons.{name}.{position}",
        on_click=session.replace_lesson,
        args=(after,),
        disabled=off,
    )


def _file_name(title: str) -> str:
    """Return a title as a name of a file.

    >>> _file_name("My lesson: Attention / 2")
    'my-lesson-attention-2'
    """
    words = "".join(sign if sign.isalnum() else " " for sign in title.lower()).split()
    return "-".join(words)[:60] or "lesson"


def _file() -> None:
    """Draw the box for a lesson that somebody saved: read, judged, and shown as a card."""
    st.header(_("Open a file"), anchor=False)
    given = st.file_uploader(
        _("A lesson in TOML, {most:,} bytes at most", most=toml_format.MOST_BYTES),
        type=["toml"],
        key="lessons.file",
    )
    if given is None:
        return
    with errors.guard():
        try:
            lesson = toml_format.loads(given.getvalue())
        except InputError as error:
            notices.box(error.wrong, error.rule, error.remedy)
            return
        _card(lesson, "file")
