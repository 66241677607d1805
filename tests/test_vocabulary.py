"""Words that no name has and phrases that no docstring has, in `core` and `viz`: the rules of CONTRIBUTING.md.

Three tables count what older code still has of them, by package. A count may fall at any time and may not rise.
`python tests/test_vocabulary.py` prints all tables as they are today, and `python tests/test_vocabulary.py core/run` every place of a package.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
WORDS = """
asked begun brought came chosen drawn found given gone grown held judged kept known laid learnt left lost met moved named offered
said seen shown spared taken told touched wanted written
afresh again alike alone anew apart aside at behind beside here of own ours theirs there through whole within without
what which who whoever why
"""
BARE = frozenset(WORDS.split())
"""Participles, particles and pronouns: they say what happened to a thing or where it is, not which thing it is."""
OPENING = re.compile(r"(What|Who|Whose|Whoever|Which|Whichever|Whatever|From now on)\b")
PHRASE = re.compile(
    r"\b(from now on|anew|told|stands|lies|hand(s|ed)? on|lets? go|comes? about|came about|before a room|he(?! et al)|his|him|himself)\b",
    re.IGNORECASE,
)
IMPERATIVES = """
Ablate Add Adjust Adopt Advance Aggregate Align Allow Announce Answer Append Apply Arrange Ask Assemble Assert Assign Attach Augment Average
Await Begin Bind Block Bound Break Bring Broadcast Build Cache Calculate Call Cancel Centre Change Check Choose Claim Clamp Clear Clip
Close Cluster Collect Combine Compare Compile Compose Compute Concatenate Configure Confirm Connect Construct Continue Convert Copy
Correct Count Cover Create Crop Cut Cycle Decide Declare Decode Decorate Decrease Define Delay Delete Deliver Derive Describe Detach
Detect Dim Disable Discard Display Divide Do Double Download Draw Drop Embed Empty Enable Encode End Enlarge Ensure Enter Erase Escape
Estimate Evaluate Exchange Exclude Execute Expand Expect Explain Export Express Extend Extract Feed Fetch Fill Filter Find Fine-tune
Finish Fit Flatten Fold Follow Forbid Force Forget Format Forward Free Freeze Gather Generate Get Give Go Group Grow Guess Handle Hide
Highlight Hold Identify Ignore Import Improve Include Increase Indent Infer Initialise Insert Inspect Install Interpolate Invert Invoke
Iterate Join Judge Keep Label Launch Lay Learn Leave Let Limit Link List Listen Load Locate Lock Log Look Lower Make Map Mark Mask Match
Measure Merge Mirror Mix Modify Mount Move Multiply Name Narrow Negate Normalize Note Notify Number Offer Omit Open Order Overwrite Pack Pad
Paint Pair Parse Pass Patch Pause Perform Pick Place Plan Play Plot Pool Predict Prefix Prepare Present Preserve Press Prevent Print
Process Produce Project Prune Publish Put Quantize Quote Raise Randomize Rank Read Rebuild Receive Recompute Record Reduce Refresh
Refuse Register Reject Release Reload Remember Remove Rename Render Reorder Repeat Replace Replay Report Request Require Resample
Rescale Reserve Reset Reshape Resize Resolve Respond Restart Reveal Restore Restrict Resume Return Reuse Reverse Reword Rotate Round Route Run
Sample Save Say Scale Scan Schedule Score Search See Seed Select Send Serialize Serve Set Shade Share Shift Shorten Show Shuffle Shut
Sign Signal Simulate Skip Sleep Slice Solve Sort Spell Split Stack Start Stop Store Stream Stretch Strip Submit Subtract Suggest Sum
Summarise Supply Swap Switch Synthesize Take Tell Test Throw Tie Time Tokenize Touch Trace Track Train Transform Translate Transpose
Traverse Treat Trim Truncate Try Tune Turn Type Undo Ungroup Unload Unlock Unpack Unregister Unwrap Update Upload Use Validate Verify
Visit Wait Wake Walk Warm Warn Watch Weigh Wrap Write Yield Zero
"""
VERBS = frozenset(IMPERATIVES.split())
"""Imperatives that a function's docstring may open with; a missing one is added here."""

NAMES = {
    "viz/course": 20,  # fields of links, which must open the same view tomorrow
}
"""How many functions, classes, parameters, attributes, constants and modules of a package may still be named by one of the words."""
DOCSTRINGS: dict[str, int] = {}
"""How many docstrings of a package may still open in one of the ways or have one of the phrases."""
OPENINGS: dict[str, int] = {}
"""How many functions of a package may still have a docstring that opens with no imperative verb."""


def definitions(body: list[ast.stmt], inside: str = "") -> Iterator[tuple[str, int]]:
    """Yield the names that statements define and their lines; a plain variable of a function is none."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name, node.lineno
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            args = node.args
            optional = [arg for arg in (args.vararg, args.kwarg) if arg]
            every = [*args.posonlyargs, *args.args, *args.kwonlyargs, *optional]
            sides = {"left", "right"} <= {arg.arg for arg in every}  # beside "right", "left" is a side
            yield from ((arg.arg, arg.lineno) for arg in every if not (sides and arg.arg == "left"))
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                if isinstance(target, ast.Attribute):
                    yield target.attr, target.lineno
                elif isinstance(target, ast.Name) and inside != "function":
                    yield target.id, target.lineno
        kind = "function" if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else inside
        kind = "class" if isinstance(node, ast.ClassDef) else kind
        for block in blocks(node):
            yield from definitions(block, kind)


def docstrings(body: list[ast.stmt]) -> Iterator[tuple[str, int]]:
    """Yield the strings that are statements, with their lines: of modules, classes, functions and attributes."""
    for node in body:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            if isinstance(node.value.value, str):
                yield node.value.value, node.lineno
        else:
            for block in blocks(node):
                yield from docstrings(block)


def openings(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Yield the first word of each function's docstring, and the line of the function."""
    for node in all_statements(tree.body):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and (text := ast.get_docstring(node)):
            yield text.split()[0].rstrip(".,:;"), node.lineno


def all_statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield these statements and those inside them, without a look into their expressions.

    >>> source = "try:\\n    a = 1\\nexcept E:\\n    b = 2\\nelse:\\n    for c in d:\\n        import e"
    >>> sorted(type(node).__name__ for node in all_statements(ast.parse(source).body))
    ['Assign', 'Assign', 'For', 'Import', 'Try']
    """
    pending = list(body)
    while pending:
        node = pending.pop()
        yield node
        for block in blocks(node):
            pending += block


def blocks(node: ast.stmt) -> Iterator[list[ast.stmt]]:
    """Yield the lists of statements inside a statement."""
    for part in node._fields:
        if part in ("body", "orelse", "finalbody"):
            yield getattr(node, part)
        elif part in ("handlers", "cases"):
            yield from (branch.body for branch in getattr(node, part))


def bare(source: str) -> list[tuple[str, int]]:
    """Return the names of a source text that are one of the words, with their lines.

    >>> bare("class Told(Base):\\n    at: int\\n    def _held(self, *, of, place): self.found, told = 1, 2")
    [('Told', 1), ('at', 2), ('_held', 3), ('of', 3)]
    """
    return [pair for pair in definitions(ast.parse(source).body) if pair[0].strip("_").lower() in BARE]


@cache
def survey() -> tuple[dict[str, list[str]], dict[str, list[str]], dict[str, list[str]]]:
    """Return the places that are left by package, `core/run` or `viz/shell`: of names, of docstrings, of their openings."""
    names: dict[str, list[str]] = {}
    texts: dict[str, list[str]] = {}
    verbless: dict[str, list[str]] = {}
    for path in sorted(path for home in ("core", "viz") for path in (ROOT / home).rglob("*.py")):
        where = path.relative_to(ROOT)
        package = "/".join(where.parts[:-1][:2])
        tree = ast.parse(path.read_text("utf-8"))
        body = tree.body
        module = [(path.stem, 1)] if path.stem in BARE else []
        names.setdefault(package, []).extend(
            f"{where}:{line} {name}"
            for name, line in [*module, *definitions(body)]
            if name.strip("_").lower() in BARE
        )
        texts.setdefault(package, []).extend(
            f"{where}:{line} “{match[0]}”"
            for text, line in docstrings(body)
            if (match := OPENING.match(text) or PHRASE.search(text))
        )
        verbless.setdefault(package, []).extend(
            f"{where}:{line} “{word}”" for word, line in openings(tree) if word not in VERBS
        )
    return names, texts, verbless


KINDS = {"names": NAMES, "docstrings": DOCSTRINGS, "openings": OPENINGS}


@pytest.mark.parametrize("kind", KINDS)
def test_old_words_become_fewer(kind: str) -> None:
    places, allowed = survey()[list(KINDS).index(kind)], KINDS[kind]
    grown = {package: lines for package, lines in places.items() if len(lines) > allowed.get(package, 0)}
    assert not grown, "".join(
        f"\n{package}: {len(lines)} {kind} against CONTRIBUTING.md, {allowed.get(package, 0)} allowed. Yours is one of these:\n"
        + "\n".join(lines)
        for package, lines in grown.items()
    )


def test_a_plain_variable_is_free_and_a_definition_is_not() -> None:
    assert bare("def gather(rows):\n    found = rows\n    class _At: ...") == [("_At", 3)]
    assert bare("def f(left, right): ...\ndef g(left): ...") == [("left", 2)]
    assert bare("def told(): ...\nasync def f(*of, **at): ...\nOWN = 1") == [
        ("told", 1),
        ("of", 2),
        ("at", 2),
        ("OWN", 3),
    ]
    assert bare("try: ...\nexcept E:\n    why = 1\nmatch x:\n    case 1:\n        self.own: int = 2") == [
        ("why", 3),
        ("own", 6),
    ]
    assert [*docstrings(ast.parse('"""A."""\nclass B:\n    x = 1\n    """What x is."""').body)] == [
        ("A.", 1),
        ("What x is.", 4),
    ]
    assert OPENING.match("What reads.") and not OPENING.match("Whatsoever")
    assert (
        PHRASE.search("Let go of it")
        and PHRASE.search("of His")
        and not PHRASE.search("the other, He et al.")
    )


if __name__ == "__main__":
    for title, places in zip(map(str.upper, KINDS), survey(), strict=True):
        if sys.argv[1:]:
            print(title, *(line for package in sys.argv[1:] for line in places.get(package, [])), sep="\n")
        else:
            rows = [f'    "{package}": {len(lines)},' for package, lines in places.items() if lines]
            print(f"{title} = {{", *rows, "}", sep="\n")
