"""One thread ahead of whoever takes: the same items, the same error, and no thread left behind."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Iterator

import pytest

from heedful.background import in_background


@pytest.mark.parametrize("ahead", [1, 2, 7])
def test_the_items_come_in_their_order_and_no_more_than_so_many_ahead(ahead: int) -> None:
    made: list[int] = []
    items = (made.append(number) or number for number in range(50))
    taken: list[int] = []
    for item in in_background(items, ahead=ahead):
        taken.append(item)
        assert len(made) <= len(taken) + ahead + 1  # those that wait, and one that waits for room
    assert taken == list(range(50))


def test_what_it_raises_is_raised_here_after_the_items_before() -> None:
    def failing() -> Iterator[int]:
        yield 1
        raise KeyError("x")

    items = in_background(failing(), ahead=1)
    assert next(items) == 1
    with pytest.raises(KeyError):
        next(items)


@pytest.mark.parametrize("ahead", [1, 4])
def test_closing_ends_a_thread_that_waits_for_room(ahead: int) -> None:
    for pause in (0, 0.05):
        items = in_background(itertools.count(), ahead=ahead, name="a producer to be ended")
        assert [next(items), next(items)] == [0, 1]
        time.sleep(pause)  # time enough to fill the queue, or none
        items.close()
        threads = [thread for thread in threading.enumerate() if thread.name == "a producer to be ended"]
        for thread in threads:
            thread.join(timeout=10)
        assert not any(thread.is_alive() for thread in threads)
