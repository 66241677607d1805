"""A pytest run in which the shapes in the signatures of `core` are checked at every call.

    python -m tests.shapes --doctest-modules core/layers tests/core/test_attention.py

jaxtyping's import hook decorates the functions; the checker looks at shapes alone, because other annotations are the type
checker's business. At the end it lists the annotated functions of `core.layers` that nothing called.
"""

from __future__ import annotations

import ast
import builtins
import collections.abc
import functools
import importlib
import inspect
import pkgutil
import re
import sys
import types
import typing
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jaxtyping
import numpy as np
import pytest
import torch

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("core.layers", "core.analysis", "core.run", "core.models")
KINDS = ("Bool", "Float", "Int", "Real", "Shaped")
ANNOTATION = re.compile(rf"\b(?:{'|'.join(KINDS)})\[")
checked_functions: set[str] = set()
"""The functions whose shapes were checked at least once, as `module.name`."""


def install() -> None:
    """Import `PACKAGES` with every function checked. Nothing may have imported `core` before."""
    for kind in KINDS:  # the modules import these names for type checkers only
        setattr(builtins, kind, getattr(jaxtyping, kind))
    with jaxtyping.install_import_hook(PACKAGES, "tests.shapes.checked"):
        for name in PACKAGES:
            package = importlib.import_module(name)
            for module in pkgutil.walk_packages(package.__path__, f"{name}."):
                importlib.import_module(module.name)


def checked(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a function: raise TypeError at an argument or a result whose shape or dtype is not the annotated one."""
    signature = inspect.signature(function)
    hints = {
        name: each.annotation for name, each in signature.parameters.items() if _has_shape(each.annotation)
    }
    result = signature.return_annotation
    if not hints and not _has_shape(result):
        return function

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        given = signature.bind(*args, **kwargs).arguments
        for name, hint in hints.items():
            several = signature.parameters[name].kind is inspect.Parameter.VAR_POSITIONAL
            for value in given.get(name, ()) if several else [given[name]] if name in given else []:
                _require(value, hint, name)
        out = function(*args, **kwargs)
        _require(out, result, "the result")
        checked_functions.add(f"{function.__module__}.{function.__qualname__}")
        return out

    return call


def _has_shape(hint: Any) -> bool:
    return hasattr(hint, "dim_str") or any(_has_shape(each) for each in typing.get_args(hint))


def _require(value: Any, hint: Any, name: str) -> None:
    if _has_shape(hint) and not _fits(value, hint):
        found = f"{value.dtype} {tuple(value.shape)}" if hasattr(value, "shape") else type(value)
        raise TypeError(f"{name} is {found}, not {hint}")


def _fits(value: Any, hint: Any) -> bool:
    if hasattr(hint, "dim_str"):
        return isinstance(np.asarray(value) if isinstance(value, np.generic) else value, hint)
    if not _has_shape(hint):
        return not isinstance(value, torch.Tensor | np.ndarray)
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (types.UnionType, typing.Union):
        return any(_fits(value, each) for each in inner)
    if origin is tuple and inner[-1] is not ...:
        return len(value) == len(inner) and all(map(_fits, value, inner))
    if origin in (collections.abc.Mapping, dict):
        return all(_fits(each, inner[1]) for each in value.values())
    if origin in (collections.abc.Sequence, list, tuple):
        return all(_fits(each, inner[0]) for each in value)
    return True


def annotated(folder: str) -> set[str]:
    """Return the functions of a folder with a shape in their signature; without those that a subclass must override."""
    found: set[str] = set()

    def visit(node: ast.Module | ast.ClassDef, prefix: str) -> None:
        for each in node.body:
            if isinstance(each, ast.ClassDef):
                visit(each, f"{prefix}{each.name}.")
            elif isinstance(each, ast.FunctionDef) and "NotImplementedError" not in ast.unparse(each):
                result = ast.unparse(each.returns) if each.returns else ""
                if ANNOTATION.search(f"{ast.unparse(each.args)} {result}"):
                    found.add(f"{prefix}{each.name}")

    for path in sorted((ROOT / folder).rglob("*.py")):
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        visit(ast.parse(path.read_text("utf-8")), f"{name}.")
    return found


if __name__ == "__main__":
    from tests import shapes  # the import hook knows this module by that name

    shapes.install()
    quiet = ("-W", "ignore:Module already imported:pytest.PytestAssertRewriteWarning")
    code = pytest.main(["-q", "-p", "no:cacheprovider", *quiet, *sys.argv[1:]])
    print("NEVER CALLED:", " ".join(sorted(annotated("core/layers") - shapes.checked_functions)))
    print(len(shapes.checked_functions), "functions with shapes were called")
    sys.exit(code)
