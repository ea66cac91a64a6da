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
from typing import Any, TypeVar

T = TypeVar("T")
_NAMES = {str: "text", bool: "true or false", dict: "an object", list: "a list"}
_NAMES |= {int: "a whole number", float: "a number"}


def typed(kind: type[T], value: Any, *, where: str = "") -> T:
    """``value``, as JSON gave it, as this type; ValueError where it is not. ``where``: its name in the message."""
    return _value(kind, value, where)


def _value(kind: Any, value: Any, where: str) -> Any:
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if kind is Any:
        return value
    if origin is types.UnionType:
        (kind,) = (one for one in arguments if one is not types.NoneType)
        return None if value is None else _value(kind, value, where)
    if origin is typing.Literal:
        if value in arguments and isinstance(value, str):
            return value
        raise ValueError(f"{where or 'it'} is {_shown(value)}, not one of {', '.join(arguments)}")
    plain = dict if dataclasses.is_dataclass(kind) else list if origin is tuple else origin or kind
    assert plain in _NAMES, f"a field of type {kind} cannot come out of JSON"
    if plain is float and type(value) is int:
        try:
            return float(value)
        except OverflowError:
            raise ValueError(f"{where or 'it'} is too large a number") from None
    if type(value) is not plain:
        raise ValueError(f"{where or 'it'} is {_shown(value)}, not {_NAMES[plain]}")
    if dataclasses.is_dataclass(kind):
        return _dataclass(kind, value, where)
    if plain is list:
        return origin(_value(arguments[0], item, f"{where}[{at}]") for at, item in enumerate(value))
    if plain is dict:
        return {name: _value(arguments[1], item, _inside(where, name)) for name, item in value.items()}
    return value


def _dataclass(kind: Any, value: dict[str, Any], where: str) -> Any:
    hints = _hints(kind)
    found: dict[str, Any] = {}
    for field in dataclasses.fields(kind):
        if field.name in value:
            found[field.name] = _value(hints[field.name], value[field.name], _inside(where, field.name))
        elif field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            raise ValueError(f"{where or 'it'} has no {field.name}")
    return kind(**found)


_hints = functools.cache(typing.get_type_hints)


def _inside(where: str, name: str) -> str:
    shown = name if len(name) <= 60 else name[:60] + "…"
    return f"{where}.{shown}" if where else shown


def _shown(value: Any) -> str:
    if isinstance(value, (dict, list)):
        return _NAMES[type(value)]
    if isinstance(value, str):
        text = f"'{value}'"  # not its repr, which would spell out a no-break space
    else:
        text = repr(value) if not isinstance(value, int) or abs(value) < 10**40 else "a very large number"
    return text if len(text) <= 60 else text[:60] + "…"
