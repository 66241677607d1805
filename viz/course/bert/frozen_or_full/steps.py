"""The steps of the exhibit on freezing: where it is enough, what learns, the course, how far the body went, its attention."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from core.training.finetune.finetune_tasks import GOALS
from core.training.finetune.tuning import BODY, CHECKED
from viz.course.bert import tuning_live as live
from viz.course.bert.frozen_or_full import read as reading
from viz.course.bert.frozen_or_full.charts import COVERED, FROZEN, FULL, WAYS, courses, grouped
from viz.course.bert.frozen_or_full.read import BEFORE, IN_FULL, NAMES, SLUG, TASKS, TRAINED
from viz.course.shared.shown import Shown, later
from viz.instruments import heatmap
from viz.instruments.kit import origin
from viz.labels import literal, percent
from viz.shell import room
from viz.widgets import controls, lesson, parts

LOOKING = {
    "enough": (
        "Each bar is a model of its own: bert-mini with a new head, tuned on texts of our small grammar, and measured on {checked} texts that no tuning reads. **Frozen**: only the head learns, from what the body says anyway. **Full fine-tuning**: every layer learns, too. The tick is where the "
        "new head stood before its first step. Ghojogh and Ghodsi 2020 name both ways and leave open which to take. It depends on what the body already says: which part of speech a word is stands in its vector after pre-training, so one linear map can read it off; "
        "whether “not awful” is praise was never asked of the vector of [CLS] in pre-training, and one linear map of it does worse."
    ),
    "learns": (
        "A bar is a part of the model and as long as it has weights; a bar that is not there does not learn. The new head is one linear map: 256 numbers in, a score for each label out, and a bias each. Freezing saves most of the work: no gradient of the body is computed, "
        "so nothing goes back through its layers, and one body can serve many heads. What it cannot save is the way up: each text still goes through all layers."
    ),
    "course": (
        "A point is a measurement on {checked} texts that no tuning reads. Recorded runs give seconds of one processor core, so that nothing else on that machine counts; measuring is in them. Over steps the two are compared by what they read; over seconds by what they cost. A frozen step costs less: "
        "it goes up through the layers and not back."
    ),
    "far": (
        "|W − W₀| / |W₀|: how far the weights of a part went, as a share of their length. 0 for a frozen body, and that is exact: the same bits, for frozen weights get no gradient (a test compares them). With full fine-tuning every layer goes some way, "
        "and the picture says how far; a small distance of the weights does not by itself say that little of what they do has changed. The embeddings move little, for only the words of the texts move. A recorded run is stored as these movements in 15 steps a weight; what you see is the model as it is read back."
    ),
    "attention": (
        "One head, before tuning and after: a row is a token that reads, a column one that is read. Frozen, nothing below the head has changed, so attention is the same in every bit, in all heads. With full fine-tuning, attention has moved, too; "
        "whether a head now looks where the task needs it is for you to judge. **Try** another text, another head: which heads did tuning leave alone?"
    ),
}  # fmt: skip
TRY = "**Try.** Choose another task. Where does the body already say what the head needs?"


def choose(quiet: bool = False) -> None:
    """The task, in the link."""
    controls.segmented("Task", TASKS, SLUG + "task", TASKS[0], lambda name: GOALS[name].title, quiet=quiet)


def share(right: float | None) -> str:
    return COVERED if right is None else percent(right)


def enough(params: Any) -> Shown:
    """Four tasks, each frozen and in full; for which is the head enough?"""
    tasks = [reading.task(name) for name in TASKS]
    whole = [task for task in tasks if task.whole]
    if not whole:
        return _missing(params)
    best = min(whole, key=lambda task: task.gap)
    told = len(whole) < 2 or lesson.predict(
        SLUG + "enough", "Only the new head learns; the body of bert-mini stays as it was. For which task is that nearly as good as full fine-tuning?", {task.title: 1 - task.gap for task in whole}, best.title,
        "; ".join(f"{task.title} {share(task.right(FROZEN))} frozen, {share(task.right(FULL))} fully fine-tuned" for task in whole) + ".",
    )  # fmt: skip
    rows = [(task.title, way, None if way == FROZEN and not told else task.right(way), COVERED if way == FROZEN and not told else share(task.right(way))) for task in whole for way in WAYS]
    marks = {task.title: task.ways[FULL].reports[0].right for task in whole}
    parts.show(grouped(rows, title="accuracy (line: before the first step)", ends=(0, 1), shares=True, marks=marks, height=330), SLUG + "enough.picture",
               "; ".join(f"{group}, {way}: {said}" for group, way, _, said in rows) + ".")  # fmt: skip
    task = next((task for task in whole if task.name == params.task), whole[0])
    count = task.ways[FULL].counted
    parts.numbers(f"{task.title}: {GOALS[task.name].says} Fully fine-tuned {share(task.right(FULL))} of the {count} are right" + (f", frozen {share(task.right(FROZEN))}." if told else ". Frozen?"))
    choose()
    frame = pd.DataFrame([(task.title, *(share(task.right(way)) for way in WAYS), share(marks[task.title])) for task in whole], columns=["task", *WAYS, "before the first step"])
    return Shown(
        {"tuning.frozen": {}, "tuning.full": {}}, (), LOOKING["enough"].format(checked=CHECKED), lambda: frame if told else later(),
        {way: np.array([task.right(way) for task in whole]) for way in WAYS} if told else {},
        "from core.training.finetune import tuning\n\nfor name in tuning.Recorded.names():\n    print(name, tuning.Recorded.read(name).reports[-1].right)",
    )  # fmt: skip


def what_learns(params: Any) -> Shown:
    """The parts of the model, and which of them learn."""
    found, labels = reading.parts(params.task), len(GOALS[params.task].labels) or 2
    head, body = found[-1].size, sum(part.size for part in found[:-1])
    d = head // labels - 1
    edges = "scores (start, end)" if params.task == "answers" else "labels"
    told = lesson.predict(
        SLUG + "count", f"{GOALS[params.task].title}: the head is one linear map, {d} numbers in, {labels} {edges} out. Frozen, how many weights learn?", [f"{n:,}" for n in sorted({labels, d * labels, head, body // 6, body + head})], f"{head:,}",
        f"{d} × {labels} = {d * labels:,} weights and {labels} biases: {head:,}. The body below has {body:,}, {body / head:,.0f} times as many.",
    )  # fmt: skip
    rows = [(part.name, way, float(part.size) if way in part.taught and _open(part, told) else None, _size(part, way, told)) for part in found[::-1] for way in WAYS]
    parts.show(grouped(rows, title="weights that learn", height=370), SLUG + "parts.picture", "; ".join(f"{part}, {way}: {said}" for part, way, _, said in rows) + ".")
    parts.numbers(f"With full fine-tuning {body + head:,} weights learn" + (f"; frozen {head:,}, {percent(head / (body + head), 4)} of them." if told else "; frozen only those of the head."))
    choose()
    return Shown(
        {"tuning.frozen": {}, "tuning.full": {}}, (rf"{d} \times {labels} + {labels} = {head}",) if told else (), LOOKING["learns"],
        lambda: pd.DataFrame([(part.name, part.size, ", ".join(part.taught)) for part in found], columns=["part", "weights", "learns"]) if told else later(),
        {"size": np.array([part.size for part in found])} if told else {},
        f'from core.training.finetune import tuning\n\nnetwork = tuning.headed(tuning.TUNINGS["{params.task}-frozen"], tuning.body())\nprint(sum(weight.numel() for weight in network.parameters() if weight.requires_grad))',
    )  # fmt: skip


def course(params: Any) -> Shown:
    """What was right on the way, over steps or over seconds; and train it now."""
    task = reading.task(params.task)
    seconds = params.over == "seconds"
    lines = {way: [(report.seconds if seconds else report.step, report.right) for report in task.ways[way].reports] for way in WAYS if task.ways[way].reports}
    if not lines:
        return _missing(params)
    labels = GOALS[params.task].labels
    parts.show(courses(lines, over=params.over, title=f"{task.ways[FULL].counted} right", ends=(0, 1), level=1 / len(labels) if params.task in ("opinions", "pairs") else None, height=250 if not lesson.presenting() else 330),
               SLUG + "course.picture", "; ".join(f"{way}: from {percent(points[0][1])} to {percent(points[-1][1])} in {points[-1][0]:.0f} {params.over}" for way, points in lines.items()) + ".")  # fmt: skip
    parts.numbers(" ".join(_cost(way, task.ways[way]) for way in lines))
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        choose(quiet=True)
        controls.segmented("Over", ("steps", "seconds"), SLUG + "over", "steps", quiet=True)
        if not lesson.presenting():
            controls.segmented("Train", tuple(TRAINED), SLUG + "train", FROZEN, {FROZEN: "train only the head", IN_FULL: FULL}.__getitem__, quiet=True)
    if not lesson.presenting():
        live.panel(f"{params.task}-{TRAINED[params.train]}", SLUG)
    reports = {way: task.ways[way].reports for way in lines}
    return Shown(
        {"tuning.frozen": {}, "tuning.full": {}}, (), LOOKING["course"].format(checked=CHECKED),
        lambda: pd.DataFrame([(way, report.step, report.seconds, report.right, report.loss) for way, found in reports.items() for report in found], columns=["", "step", "seconds", "right", "loss"]),
        {f"{NAMES[way]}_{kind}": np.array([getattr(report, kind) for report in found]) for way, found in reports.items() for kind in ("step", "seconds", "right", "loss")},
        f'from core.training.finetune import tuning\n\nfor way in ("frozen", "full"):\n    for report in tuning.Recorded.read(f"{params.task}-{{way}}").reports:\n        print(way, report.step, report.seconds, report.right)',
    )  # fmt: skip


def how_far(params: Any) -> Shown:
    """How far each part of the body went."""
    task = reading.task(params.task)
    if not task.whole:
        return _missing(params)
    went = {way: reading.far(task.ways[way]) for way in WAYS}
    names = ["embeddings", *(f"layer {i}" for i in range(len(went[FULL].layers)))]
    shares = {way: [went[way].embeddings, *went[way].layers] for way in WAYS}
    most = names[int(np.argmax(shares[FULL]))]
    told = lesson.predict(
        SLUG + "far", f"{task.title}, fully fine-tuned: which part of the body moved furthest, for its size?", dict(zip(names, shares[FULL], strict=True)), most,
        f"{most.capitalize()} by {percent(max(shares[FULL]), 2)}, {names[int(np.argmin(shares[FULL]))]} least by {percent(min(shares[FULL]), 2)}; the whole body by {percent(went[FULL].body, 2)}.",
    )  # fmt: skip
    rows = [(name, way, value if told or way == FROZEN else None, (percent(value, 2) if value else "0") if told or way == FROZEN else COVERED) for i, name in reversed([*enumerate(names)]) for way in WAYS for value in (shares[way][i],)]
    parts.show(grouped(rows, title="|W − W₀| / |W₀|", ends=None if told else (0, 1), shares=True, height=350), SLUG + "far.picture", "; ".join(f"{part}, {way}: {said}" for part, way, _, said in rows) + ".")
    same = "the same in every bit" if went[FROZEN].body == 0 else f"moved by {percent(went[FROZEN].body, 2)}"
    parts.numbers(f"Frozen: the body is {same}. With full fine-tuning it moved by {percent(went[FULL].body, 2)} of its length." if told else f"Frozen: the body is {same}. Full fine-tuning?")
    choose()
    line = rf"\frac{{\lVert W - W_0 \rVert}}{{\lVert W_0 \rVert}} = {went[FULL].body:.4f}\ \text{{full fine-tuning}}, \quad {went[FROZEN].body:g}\ \text{{frozen}}"
    return Shown(
        {"tuning.full": {}}, (line,) if told else (), LOOKING["far"], lambda: pd.DataFrame({"part": names, **shares}) if told else later(),
        {NAMES[way]: np.array(shares[way]) for way in WAYS} if told else {},
        f'import core\nfrom core.training.finetune import tuning\n\nrun = tuning.Recorded.read("{params.task}-full")\nmoved = tuning.moved(run.model("tuned"), core.open_model("{BODY}"), run.job)\nprint(moved.embeddings, moved.layers)',
    )  # fmt: skip


def attention(params: Any) -> Shown:
    """One head over the visitor's text: before, frozen, in full."""
    task = reading.task(params.task)
    if not task.whole:
        return _missing(params, chosen=not lesson.presenting())
    data = reading.texts(task, params.text, params.second)
    change = data.changes[FULL]
    many = (change > 0.5).sum(1)
    told = lesson.predict_number(
        SLUG + "heads", f"{task.title}, fully fine-tuned: in how many of the {change.size} heads did some weight of attention move by more than a half, on this text?", 0, change.size, int(many.sum()),
        f"{many.sum()} of {change.size}; layer by layer " + ", ".join(f"L{i} {n}" for i, n in enumerate(many)) + f" of {change.shape[1]}. Frozen: in none.", change.size / 12,
    )  # fmt: skip
    layer, head = (params.layer, params.head) if params.head >= 0 else data.most if told else (0, 0)
    head = min(head, data.changes[FULL].shape[1] - 1)
    with room.wide():
        columns = st.columns(3, gap="small")
    for column, way in zip(columns, (BEFORE, *WAYS), strict=True):
        with column:
            if way == FULL and not told:
                with st.container(border=True, height=300):
                    st.text(f"{FULL}: comes after your guess.")
            else:
                origin.tell(model=BODY if way == BEFORE else str(task.ways[way].model), text=params.text, beside=params.second, kind="self", layer=layer, head=head)
                heatmap(data.weights[way][layer, head], data.tokens, data.tokens, key=f"{SLUG}pattern.{way[:3]}", title=f"{way}, L{layer}.H{head}", height=300, group=SLUG + "pattern")
    frozen = float(data.changes[FROZEN].max())
    stay = "all weights of all heads are the same in every bit" if frozen == 0 else f"weights moved by up to {frozen:.2g}"
    parts.numbers(f"Frozen: {stay}; it says “{data.said[FROZEN]}”." + (f" Full fine-tuning: a weight of L{data.most[0]}.H{data.most[1]} moved by {data.changes[FULL].max():.2f}; it says “{_differing(data)}”." if told else ""))
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        controls.select("Layer", range(len(change)), "layer", layer, lambda i: f"L{i}")
        controls.select("Head", range(data.changes[FULL].shape[1]), "head", head, lambda i: f"H{i}")
    pair = f", pair={params.second!r}" if params.task in reading.TWO else ""
    code = (f'import core\nfrom core.training.finetune import tuning\n\nbefore = core.open_model("{BODY}").run({params.text!r}{pair})\nfor way in ("frozen", "full"):\n'
            f'    after = tuning.Recorded.read(f"{params.task}-{{way}}").model(way).run({params.text!r}{pair})\n    print(way, abs(after.attention().weights - before.attention().weights).max((2, 3)).round(3))')  # fmt: skip
    return Shown(
        {"self.weights": {}}, (), LOOKING["attention"], lambda: pd.DataFrame(np.round(data.changes[FULL], 4), index=[f"L{i}" for i in range(len(change))], columns=[f"H{i}" for i in range(change.shape[1])]) if told else later(),
        {NAMES.get(way, way): found for way, found in data.weights.items()} if told else {}, code,
    )  # fmt: skip


def _open(part: reading.Part, told: bool) -> bool:
    return told or part.name != "new head"


def _size(part: reading.Part, way: str, told: bool) -> str:
    return COVERED if not _open(part, told) else f"{part.size:,}" if way in part.taught else "stays"


def _cost(way: str, used: live.Using) -> str:
    """What a way cost, and what it gained."""
    first, last = used.reports[0], used.reports[-1]
    return f"{way.capitalize()}: {last.step:,} steps, {last.seconds:.0f} seconds, from {percent(first.right)} to {percent(last.right)}" + (", recorded before." if used.whose == "recorded" else ", yours.")


def _differing(data: reading.Read) -> str:
    """What the model that learned in full says; of tags only those that the frozen one does not say, too."""
    frozen, full = (data.said[way].split(", ") for way in WAYS)
    other = [tag for tag, was in zip(full, frozen, strict=True) if tag != was] if len(full) == len(frozen) > 2 else []
    return ", ".join(other) or data.said[FULL]


def _missing(params: Any, *, chosen: bool = False) -> Shown:
    """What stands where a recorded run is not there yet: the task, unless the page asks for it, and how to make one."""
    if not chosen:
        choose()
    name = f"{params.task}-{TRAINED[params.train]}"
    live.panel(name, SLUG)
    return Shown({"tuning.frozen": {}}, (), literal(live.MISSING), later, {}, f"from core.training.finetune.tuning import TUNINGS\n\nprint(TUNINGS[{name!r}])")
