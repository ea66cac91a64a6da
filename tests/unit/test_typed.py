"""JSON of any shape becomes the dataclass that was asked for, or an error that names the place."""

from __future__ import annotations

import contextlib
import dataclasses
from dataclasses import dataclass
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heedful.typed import typed


@dataclass(frozen=True)
class Leaf:
    name: str
    size: int = 0
    share: float = 1.0


@dataclass(frozen=True)
class Tree:
    kind: Literal["a", "b"]
    leaf: Leaf | None
    leaves: tuple[Leaf, ...] = ()
    by_name: dict[str, Leaf] = dataclasses.field(default_factory=dict)
    anything: Any = None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["kind", "leaf", "leaves", "by_name", "name", "size", "x"]), inner)
    ),
    max_leaves=12,
)


def test_what_was_described_comes_back() -> None:
    tree = Tree("a", Leaf("x", 3), (Leaf("y"), Leaf("z", share=0.5)), {"k": Leaf("v")}, [1, None])
    plain = {**dataclasses.asdict(tree), "leaves": [dataclasses.asdict(leaf) for leaf in tree.leaves]}
    assert typed(Tree, plain) == tree


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"leaf": None}, "it has no kind"),
        ({"kind": "c", "leaf": None}, "kind is 'c', not one of a, b"),
        ({"kind": "a", "leaf": {"name": 3}}, "leaf.name is 3, not text"),
        ({"kind": "a", "leaf": {"name": "x", "size": True}}, "leaf.size is True, not a whole number"),
        ({"kind": "a", "leaf": None, "leaves": [{}]}, r"leaves\[0\] has no name"),
        ({"kind": "a", "leaf": None, "leaves": {}}, "leaves is an object, not a list"),
        ({"kind": "a", "leaf": None, "by_name": {"q": []}}, "by_name.q is a list, not an object"),
        ({"kind": "a", "leaf": {"name": "x", "share": 10**400}}, "leaf.share is too large a number"),
        ([], "it is a list, not an object"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(value: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        typed(Tree, value)


@given(JSON)
@settings(max_examples=300, deadline=None, derandomize=True)
def test_any_json_is_a_tree_or_a_value_error(value: Any) -> None:
    with contextlib.suppress(ValueError):
        assert isinstance(typed(Tree, value), Tree)
