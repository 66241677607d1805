"""A sheet for a learning platform: Moodle XML, and a package of QTI 2.1 (OpenOlat, ILIAS, TAO, Canvas and others read it).

Each exercise is one question with a field for each of its numbers or words; the platform marks field by field, and shows the
solution of the sheet when the question was answered. Formulas are MathML, which browsers set without a script.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Sequence
from html import escape

from viz.course.sheets.form import Blank, Exercise, Kind
from viz.course.sheets.printed import TITLE, question_html, rounding_rule, sheet_name, solution_html
from viz.languages import _, mark

Tasks = Sequence[tuple[Kind, Exercise]]
MATHML = "http://www.w3.org/1998/Math/MathML"
_QTI = "http://www.imsglobal.org/xsd/imsqti_v2p1"
_PACKAGE = "http://www.imsglobal.org/xsd/imscp_v1p1"
_XML = '<?xml version="1.0" encoding="UTF-8"?>\n'
YES_NO = (mark("yes"), mark("no"))
_LONG_AGO = (1980, 1, 1, 0, 0, 0)
"""The date of the files in a package, so that the same sheet is the same file."""


def moodle_xml(tasks: Tasks, seed: int) -> str:
    """Return the sheet as Moodle XML: questions of the kind "embedded answers", in a category of their own."""
    category = escape(f"$course$/top/{sheet_name(seed)}")
    questions = [
        f'<question type="category"><category><text>{category}</text></category></question>',
        *(_moodle_question(number, *one, seed) for number, one in enumerate(tasks, 1)),
    ]
    return f"{_XML}<quiz>\n" + "\n".join(questions) + "\n</quiz>\n"


def _moodle_question(number: int, kind: Kind, exercise: Exercise, seed: int) -> str:
    fields = "".join(f"<p>{escape(blank.label)}: {_moodle_field(blank)}</p>" for blank in exercise.blanks)
    body = f"{_rule()}{question_html(exercise)}{fields}"
    return (
        f'<question type="cloze"><name><text>{escape(_title(number, kind, seed))}</text></name>'
        f'<questiontext format="html"><text>{escape(body)}</text></questiontext>'
        f'<generalfeedback format="html"><text>{escape(solution_html(exercise))}</text></generalfeedback>'
        "<penalty>0.3333333</penalty><hidden>0</hidden></question>"
    )


def _moodle_field(blank: Blank) -> str:
    """Return a field in the notation of Moodle's embedded answers.

    >>> _moodle_field(Blank("share", 0.25, 2)), _moodle_field(Blank("masked", True)), _moodle_field(Blank("pieces", "a ##b"))
    ('{1:NUMERICAL:=0.25:0.01001}', '{1:MULTICHOICE:=yes~no}', '{1:SHORTANSWER:=a \\\\#\\\\#b}')
    """
    if isinstance(blank.value, bool):
        return "{1:MULTICHOICE:" + "~".join(f"{'=' * (blank.text == word)}{_(word)}" for word in YES_NO) + "}"
    if isinstance(blank.value, str):
        return "{1:SHORTANSWER:=" + re.sub(r"[}#*]", r"\\\g<0>", escape(blank.text, quote=False)) + "}"
    return f"{{1:NUMERICAL:={blank.text}:{blank.tolerance:.4g}}}"


def qti_package(tasks: Tasks, seed: int) -> bytes:
    """Return the sheet as a QTI 2.1 package: a zip file with one item for each exercise, a test of them all, and the manifest."""
    items = {
        f"exercise-{number}": _qti_item(f"exercise-{number}", number, *one, seed)
        for number, one in enumerate(tasks, 1)
    }
    files = {f"{name}.xml": text for name, text in items.items()}
    files["test.xml"] = _qti_test(list(items), seed)
    files["imsmanifest.xml"] = _manifest(list(items), seed)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as package:
        for name, text in files.items():
            package.writestr(zipfile.ZipInfo(name, _LONG_AGO), _XML + text, zipfile.ZIP_DEFLATED)
    return packed.getvalue()


def _qti_item(name: str, number: int, kind: Kind, exercise: Exercise, seed: int) -> str:
    fields = {f"ANSWER{place}": blank for place, blank in enumerate(exercise.blanks, 1)}
    declared = "".join(_declaration(field, blank) for field, blank in fields.items())
    asked = "".join(
        f"<p>{escape(blank.label)}: {_interaction(field, blank)}</p>" for field, blank in fields.items()
    )
    marked = "".join(_marking(field, blank) for field, blank in fields.items())
    return (
        f'<assessmentItem xmlns="{_QTI}" identifier="{name}" title="{escape(_title(number, kind, seed))}" '
        f'adaptive="false" timeDependent="false">{declared}'
        f"{_outcome('SCORE', 0)}{_outcome('MAXSCORE', len(fields))}"
        '<outcomeDeclaration identifier="FEEDBACK" cardinality="single" baseType="identifier"/>'
        f"<itemBody><div>{_as_xml(_rule() + question_html(exercise))}{asked}</div></itemBody>"
        f'<responseProcessing>{marked}<setOutcomeValue identifier="FEEDBACK">'
        '<baseValue baseType="identifier">solution</baseValue></setOutcomeValue></responseProcessing>'
        '<modalFeedback outcomeIdentifier="FEEDBACK" identifier="solution" showHide="show">'
        f"{_as_xml(solution_html(exercise))}</modalFeedback></assessmentItem>"
    )


def _base_type(blank: Blank) -> str:
    if isinstance(blank.value, bool):
        return "identifier"
    return "string" if isinstance(blank.value, str) else "float"


def _declaration(field: str, blank: Blank) -> str:
    return (
        f'<responseDeclaration identifier="{field}" cardinality="single" baseType="{_base_type(blank)}">'
        f"<correctResponse><value>{escape(blank.text)}</value></correctResponse></responseDeclaration>"
    )


def _outcome(name: str, value: int) -> str:
    return (
        f'<outcomeDeclaration identifier="{name}" cardinality="single" baseType="float">'
        f"<defaultValue><value>{value}</value></defaultValue></outcomeDeclaration>"
    )


def _interaction(field: str, blank: Blank) -> str:
    if isinstance(blank.value, bool):
        choices = "".join(f'<inlineChoice identifier="{word}">{_(word)}</inlineChoice>' for word in YES_NO)
        return f'<inlineChoiceInteraction responseIdentifier="{field}" shuffle="false">{choices}</inlineChoiceInteraction>'
    return f'<textEntryInteraction responseIdentifier="{field}" expectedLength="{max(10, len(blank.text))}"/>'


def _marking(field: str, blank: Blank) -> str:
    """Return the rule that adds one point where the field is right."""
    both = f'<variable identifier="{field}"/><correct identifier="{field}"/>'
    if isinstance(blank.value, bool):
        right = f"<match>{both}</match>"
    elif isinstance(blank.value, str):
        right = f'<stringMatch caseSensitive="false">{both}</stringMatch>'
    else:
        within = f"{blank.tolerance:.4g}"
        right = f'<equal toleranceMode="absolute" tolerance="{within} {within}">{both}</equal>'
    return (
        f'<responseCondition><responseIf>{right}<setOutcomeValue identifier="SCORE"><sum><variable identifier="SCORE"/>'
        '<baseValue baseType="float">1</baseValue></sum></setOutcomeValue></responseIf></responseCondition>'
    )


def _qti_test(items: Sequence[str], seed: int) -> str:
    parts = "".join(f'<assessmentItemRef identifier="{name}" href="{name}.xml"/>' for name in items)
    return (
        f'<assessmentTest xmlns="{_QTI}" identifier="sheet-{seed}" title="{escape(sheet_name(seed))}">'
        '<testPart identifier="part" navigationMode="nonlinear" submissionMode="individual">'
        f'<assessmentSection identifier="section" title="{escape(_(TITLE))}" visible="true">{parts}</assessmentSection></testPart></assessmentTest>'
    )


def _manifest(items: Sequence[str], seed: int) -> str:
    resources = "".join(
        f'<resource identifier="{name}" type="imsqti_item_xmlv2p1" href="{name}.xml"><file href="{name}.xml"/></resource>'
        for name in items
    )
    needs = "".join(f'<dependency identifierref="{name}"/>' for name in items)
    return (
        f'<manifest xmlns="{_PACKAGE}" identifier="sheet-{seed}-package">'
        "<metadata><schema>QTIv2.1 Package</schema><schemaversion>1.0.0</schemaversion></metadata><organizations/>"
        f'<resources><resource identifier="sheet" type="imsqti_test_xmlv2p1" href="test.xml"><file href="test.xml"/>{needs}</resource>'
        f"{resources}</resources></manifest>"
    )


def _title(number: int, kind: Kind, seed: int) -> str:
    return _("{number}. {kind} (sheet {seed})", number=number, kind=kind.title, seed=seed)


def _rule() -> str:
    return f"<p>{escape(rounding_rule())} {escape(_('Write numbers with a point.'))}</p>"


def _as_xml(html: str) -> str:
    """Return our HTML as XML, in which formulas have a namespace of their own."""
    return html.replace("<math", f'<math xmlns="{MATHML}"')
