"""Canvas instruments: numpy arrays and two label lists in, a picture one can touch out.

Each instrument is a folder: one Python face with its JavaScript and CSS beside it; what they share is `kit`. All of them draw in the
browser: touching, hovering and walking with the keyboard cause no traffic to the server; only a
choice that Python has to know (a cell, a head, an edited mask) is sent back.

Example:
    >>> from viz.instruments import heatmap
    >>> chosen = heatmap(weights, queries, keys, key="h").cell    # doctest: +SKIP
"""

from viz.instruments.arithmetic.arithmetic import Steps, arithmetic
from viz.instruments.board.board import Grid, Sign, board
from viz.instruments.candidates.candidates import candidates
from viz.instruments.diagram.diagram import diagram
from viz.instruments.grid.grid import Heads, clicked_head, grid, grid_packet, show_grid
from viz.instruments.head_view.head_view import Lines, head_view, head_view_packet
from viz.instruments.heatmap.heatmap import Cells, heatmap
from viz.instruments.kit.head_stack import HeadContext, Stack, make_stack
from viz.instruments.marked.marked import marked, picked_words
from viz.instruments.mask_editor.mask_editor import mask_editor
from viz.instruments.picture.picture import DESCRIBING, LOOKING, Looks, picture_view
from viz.instruments.plane.plane import Point, Score, moved_points, plane, plane_packet
from viz.instruments.qkv.qkv import qkv, qkv_packet
from viz.instruments.sketch.sketch import sketch
from viz.instruments.source.source import ChosenTensor, source
from viz.instruments.strip.strip import strip
from viz.instruments.timeline.timeline import timeline
from viz.instruments.tree.tree import Branch, Node, tree, tree_packet
from viz.instruments.weighing.weighing import chosen_importances, weighing
from viz.instruments.whole_model.whole_model import whole_model
from viz.instruments.words.words import (
    ALIGNING,
    READING,
    SILENT,
    SUMMING,
    WRITING,
    Sentences,
    words_view,
)

__all__ = [
    "ALIGNING",
    "DESCRIBING",
    "LOOKING",
    "READING",
    "SILENT",
    "SUMMING",
    "WRITING",
    "Branch",
    "Cells",
    "ChosenTensor",
    "Grid",
    "HeadContext",
    "Heads",
    "Lines",
    "Looks",
    "Node",
    "Point",
    "Score",
    "Sentences",
    "Sign",
    "Stack",
    "Steps",
    "arithmetic",
    "board",
    "candidates",
    "chosen_importances",
    "clicked_head",
    "diagram",
    "grid",
    "grid_packet",
    "head_view",
    "head_view_packet",
    "heatmap",
    "make_stack",
    "marked",
    "mask_editor",
    "moved_points",
    "picked_words",
    "picture_view",
    "plane",
    "plane_packet",
    "qkv",
    "qkv_packet",
    "show_grid",
    "sketch",
    "source",
    "strip",
    "timeline",
    "tree",
    "tree_packet",
    "weighing",
    "whole_model",
    "words_view",
]
