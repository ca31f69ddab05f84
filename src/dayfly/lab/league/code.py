"""What a result depends on beside its input: the code that ran.

A module counts with all that it imports, within functions too, as far as that is Dayfly's. A name
taken from a room's front door leads to the module where it is defined; the front door, which only
re-exports, does not count. So a change to one learner leaves the results of field rules alone.
"""

from __future__ import annotations

import ast
import functools
import importlib.util
import types
from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

_PACKAGE = "dayfly"
#: What plays a contest, whoever takes part.
_STAGE = ("dayfly.simulate.replay",)


def code_digest(make: Callable[..., Any]) -> str:
    """A digest of what the contests of this contender depend on: source files and settings."""
    modules, settings = dict[str, None](), list[str]()
    _look(make, modules, settings)
    return _digest((*sorted(modules), *_STAGE), tuple(settings))


def _look(part: Any, modules: dict[str, None], settings: list[str]) -> None:
    """Note the modules of what makes a contender, and with which settings it was put together."""
    if isinstance(part, functools.partial):
        for one in (part.func, *part.args, *part.keywords.items()):
            _look(one, modules, settings)
    elif isinstance(part, tuple | list):
        for one in part:
            _look(one, modules, settings)
    elif isinstance(part, type | types.FunctionType):
        modules[part.__module__] = None
        settings.append(part.__qualname__)
        for cell in getattr(part, "__closure__", None) or ():
            _look(cell.cell_contents, modules, settings)
    elif "__repr__" not in {name for kind in type(part).__mro__[:-1] for name in vars(kind)}:
        # It would show an address, which says nothing.
        _look(type(part), modules, settings)
        _look(sorted(vars(part).items()), modules, settings)
    else:
        settings.append(repr(part))


def depends_on(modules: Iterable[str]) -> list[str]:
    """These modules and all of Dayfly's that they import, directly or not."""
    found: dict[str, None] = {}
    waiting = list(modules)
    while waiting:
        module = waiting.pop()
        if module not in found and _path(module) is not None:
            found[module] = None
            waiting += _imports(module)
    return sorted(found)


@functools.cache
def _digest(modules: tuple[str, ...], settings: tuple[str, ...]) -> str:
    import scipy

    digest = blake2b(digest_size=16)
    digest.update(f"numpy {np.__version__}, scipy {scipy.__version__}: {settings}".encode())
    for module in depends_on(modules):
        path = _path(module)
        digest.update(module.encode() + b"\0" + (path.read_bytes() if path else b"") + b"\0")
    return digest.hexdigest()


@functools.cache
def _path(module: str) -> Path | None:
    """The source file of a module; None if there is none, or if it is not ours."""
    if module.partition(".")[0] != _PACKAGE:
        return None
    try:
        spec = importlib.util.find_spec(module)
    except ModuleNotFoundError:
        return None
    return Path(spec.origin) if spec is not None and spec.origin else None


@functools.cache
def _imports(module: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_followed(_tree(module))))


def _followed(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (_home(node.module, alias.name) for alias in node.names)


def _home(module: str, name: str) -> str:
    """The module that defines a name which is imported from here."""
    if module.partition(".")[0] != _PACKAGE:
        return module
    if _path(f"{module}.{name}") is not None and _exported(module).get(name) is None:
        return f"{module}.{name}"
    further = _exported(module).get(name)
    return module if further is None else _home(further, name)


@functools.cache
def _exported(module: str) -> dict[str, str]:
    """What a room's front door hands on: names, and where it has them from."""
    path = _path(module)
    if path is None or path.name != "__init__.py":
        return {}
    return {
        alias.asname or alias.name: node.module
        for node in _tree(module).body
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    }


@functools.cache
def _tree(module: str) -> ast.Module:
    path = _path(module)
    return ast.parse(path.read_bytes()) if path is not None else ast.Module([], [])
