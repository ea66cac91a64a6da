"""Dataclasses out of JSON: every field of the type it says, or an error that names the place.

>>> from dataclasses import dataclass
>>> @dataclass(frozen=True)
... class Point:
...     x: int
...     label: str | None = None
>>> typed(Point, {"x": 3, "newer": 1})
Point(x=3, label=None)
>>> typed(Point, {"x": "3"})
Traceback (most recent call last):
    ...
ValueError: x is '3', not a whole number

A field with a default may be missing. One that the class does not know is left out: a newer heedful may have written
it.
"""

from __future__ import annotations

import dataclasses
import functools
import types
import typing
from collections.abc import Mapping
from typing import Any, TypeVar

T = TypeVar("T")
_PLAIN = {str: "text", int: "a whole number", float: "a number", bool: "true or false", type(None): "null"}


def typed(kind: type[T], value: Any, *, where: str = "") -> T:
    """``value``, as JSON gave it, as this type; ValueError where it is not. ``where``: its name in the message."""
    return _value(kind, value, where)


def _value(kind: Any, value: Any, where: str) -> Any:
    if kind is Any:
        return value
    if kind in _PLAIN:
        return _plain(kind, value, where)
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if dataclasses.is_dataclass(kind):
        return _dataclass(kind, _of(dict, value, where, "an object"), where)
    if origin in (types.UnionType, typing.Union):
        return _union(arguments, value, where)
    if origin is typing.Literal:
        if value in arguments and type(value) in {type(argument) for argument in arguments}:
            return value
        raise ValueError(f"{_named(where)} is {_shown(value)}, not one of {', '.join(map(str, arguments))}")
    if origin in (list, tuple):
        items = _of(list, value, where, "a list")
        if origin is tuple and arguments[-1] is not Ellipsis:
            if len(items) != len(arguments):
                raise ValueError(f"{_named(where)} has {len(items)} entries, not {len(arguments)}")
            both = enumerate(zip(arguments, items, strict=True))
            return tuple(_value(own, item, f"{where}[{at}]") for at, (own, item) in both)
        return origin(_value(arguments[0], item, f"{where}[{at}]") for at, item in enumerate(items))
    if origin in (dict, Mapping):
        found = _of(dict, value, where, "an object")
        return {name: _value(arguments[1], item, _inside(where, name)) for name, item in found.items()}
    if kind in (dict, list):
        return _of(kind, value, where, "an object" if kind is dict else "a list")
    raise AssertionError(f"a field of type {kind} cannot come out of JSON")


def _plain(kind: Any, value: Any, where: str) -> Any:
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        try:
            return float(value)
        except OverflowError:
            raise ValueError(f"{_named(where)} is too large a number") from None
    if type(value) is kind:
        return value
    raise ValueError(f"{_named(where)} is {_shown(value)}, not {_PLAIN[kind]}")


def _dataclass(kind: Any, value: dict[str, Any], where: str) -> Any:
    hints = _hints(kind)
    found: dict[str, Any] = {}
    for field in dataclasses.fields(kind):
        if field.name in value:
            found[field.name] = _value(hints[field.name], value[field.name], _inside(where, field.name))
        elif field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            raise ValueError(f"{_named(where)} has no {field.name}")
    return kind(**found)


def _union(kinds: tuple[Any, ...], value: Any, where: str) -> Any:
    problem: ValueError | None = None
    if value is None and type(None) in kinds:
        return None
    for kind in kinds:
        if kind is not type(None):
            try:
                return _value(kind, value, where)
            except ValueError as error:
                problem = problem or error
    assert problem is not None, "a union of nothing but null"
    raise problem


@functools.cache
def _hints(kind: type) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def _of(kind: type[T], value: Any, where: str, called: str) -> T:
    if isinstance(value, kind):
        return value
    raise ValueError(f"{_named(where)} is {_shown(value)}, not {called}")


def _inside(where: str, name: str) -> str:
    shown = name if len(name) <= 60 else name[:60] + "…"
    return f"{where}.{shown}" if where else shown


def _named(where: str) -> str:
    return where or "it"


def _shown(value: Any) -> str:
    if isinstance(value, (dict, list)):
        return "an object" if isinstance(value, dict) else "a list"
    text = repr(value) if not isinstance(value, int) or abs(value) < 10**40 else "a very large number"
    return text if len(text) <= 60 else text[:60] + "…"
