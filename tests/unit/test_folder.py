"""A prepared folder appears whole or not at all."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

import pytest

from heedful.data.folder import new_folder
from heedful.errors import CorpusError


def fill(place: Path, text: str, **options) -> None:
    with new_folder(place, overwrite=False, **options) as folder:
        (folder / "manifest.json").write_text(text)


def test_nothing_is_seen_before_the_end_and_all_of_it_after(tmp_path: Path) -> None:
    place = tmp_path / "deep" / "corpus"
    with new_folder(place, overwrite=False) as folder:
        (folder / "manifest.json").write_text("new")
        assert not place.exists()
    assert [path.name for path in place.iterdir()] == ["manifest.json"]
    assert [path.name for path in place.parent.iterdir()] == ["corpus"]


def test_a_place_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(CorpusError, match="file/corpus cannot be made: File exists"):
        fill(tmp_path / "file" / "corpus", "new")
    assert (tmp_path / "file").read_text() == "mine"


def test_all_of_the_new_folder_is_synced_and_nothing_of_its_neighbours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A corpus may be prepared beside a million other folders, and others may come and go meanwhile."""
    (tmp_path / "neighbour" / "deep").mkdir(parents=True)
    opened: list[Path] = []
    really_open = os.open

    def recorded(path: Path, *more: int, **named: int) -> int:
        opened.append(Path(path))
        return really_open(path, *more, **named)

    with monkeypatch.context() as patched, new_folder(tmp_path / "corpus", overwrite=False) as folder:
        (folder / "train").mkdir()
        patched.setattr(os, "open", recorded)
    hidden = tmp_path / ".corpus.preparing"
    assert {path for path in opened if path.is_relative_to(tmp_path)} == {hidden, hidden / "train", tmp_path}


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, ValueError, SystemExit])
def test_an_interruption_leaves_nothing(tmp_path: Path, interruption: type[BaseException]) -> None:
    def interrupted() -> None:
        with new_folder(tmp_path / "corpus", overwrite=False) as folder:
            (folder / "half").write_text("half")
            raise interruption

    with pytest.raises(interruption):
        interrupted()
    assert list(tmp_path.iterdir()) == []


def test_an_interrupted_overwrite_leaves_the_old_corpus(tmp_path: Path) -> None:
    fill(tmp_path / "corpus", "old")
    with pytest.raises(KeyboardInterrupt), new_folder(tmp_path / "corpus", overwrite=True):
        raise KeyboardInterrupt
    assert (tmp_path / "corpus" / "manifest.json").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["corpus"]


def test_nothing_is_overwritten_unless_asked(tmp_path: Path) -> None:
    fill(tmp_path / "corpus", "old")
    with pytest.raises(CorpusError, match="corpus is there already; --overwrite replaces it"):
        fill(tmp_path / "corpus", "new")
    with new_folder(tmp_path / "corpus", overwrite=True) as folder:
        (folder / "manifest.json").write_text("new")
    assert (tmp_path / "corpus" / "manifest.json").read_text() == "new"


def test_a_folder_that_is_not_ours_is_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "cat.jpg").write_text("cat")
    with pytest.raises(CorpusError, match="holds other files and is not a prepared corpus"), \
         new_folder(tmp_path / "photos", overwrite=True):  # fmt: skip
        pass
    (tmp_path / "file").write_text("x")
    with pytest.raises(CorpusError, match="is a file"), new_folder(tmp_path / "file", overwrite=True):
        pass


def test_an_empty_folder_may_be_filled(tmp_path: Path) -> None:
    (tmp_path / "corpus").mkdir()
    fill(tmp_path / "corpus", "new")
    assert (tmp_path / "corpus" / "manifest.json").read_text() == "new"


def test_what_a_killed_process_left_is_removed_at_the_next_start(tmp_path: Path) -> None:
    hidden = tmp_path / ".corpus.preparing"
    hidden.mkdir()
    (hidden / ".lock").write_text("")
    (hidden / "half").write_text("half")
    fill(tmp_path / "corpus", "new")
    assert [path.name for path in tmp_path.iterdir()] == ["corpus"]


def test_a_folder_in_work_is_left_alone(tmp_path: Path) -> None:
    hidden = tmp_path / ".corpus.preparing"
    hidden.mkdir()
    with (hidden / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(CorpusError, match="another process is preparing"):
            fill(tmp_path / "corpus", "new")
    assert hidden.exists()


def test_a_kill_between_the_two_renames_loses_nothing(tmp_path: Path) -> None:
    fill(tmp_path / "corpus", "old")
    (tmp_path / "corpus").rename(tmp_path / ".corpus.replaced")
    with pytest.raises(CorpusError, match="--overwrite"):
        fill(tmp_path / "corpus", "new")
    assert (tmp_path / "corpus" / "manifest.json").read_text() == "old"
