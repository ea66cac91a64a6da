"""Files are there whole or not at all, and nothing is replaced, removed or waited for that is not ours."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from heedful.errors import HeedfulError
from heedful.files import (
    foreign_files,
    is_plain_name,
    locked,
    new_file,
    new_folder,
    read_json,
    require_only_ours,
    sha256,
    write_file,
    write_json,
)


class RefusedError(HeedfulError):
    pass


def names(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def half_written(place: Path) -> None:
    with new_file(place, error=RefusedError) as file:
        file.write(b"half")
        raise RuntimeError


def test_after_an_error_the_file_is_what_it_was(tmp_path: Path) -> None:
    place = tmp_path / "x"
    place.write_text("before")
    with pytest.raises(RuntimeError):
        half_written(place)
    assert place.read_text() == "before"
    assert names(tmp_path) == ["x"]


def test_a_pipe_is_written_to_and_stays_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()))
    reader.start()
    write_file(pipe, b"through", error=RefusedError)
    reader.join(timeout=10)
    assert got == [b"through"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_link_goes_on_pointing_where_it_did(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("before")
    link.symlink_to(target)
    write_file(link, b"after", error=RefusedError)
    assert link.is_symlink()
    assert target.read_text() == "after"


def test_two_writers_of_one_file_do_not_mix(tmp_path: Path) -> None:
    place = tmp_path / "x"
    with new_file(place, error=RefusedError) as one, new_file(place, error=RefusedError) as two:
        one.write(b"1" * 10)
        two.write(b"2" * 10)
    assert place.read_bytes() in {b"1" * 10, b"2" * 10}


def test_a_file_beside_with_the_old_temporary_name_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "x.writing").write_text("mine")
    write_file(tmp_path / "x", b"new", error=RefusedError)
    assert (tmp_path / "x.writing").read_text() == "mine"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"[" * 200_000, "nested too deeply"),
        (b"{", "damaged, or not JSON"),
        (b"\xff{}", "damaged, or not JSON"),
        (b"[1]", "holds no JSON object"),
        (b'{"a": ' + b"9" * 5000 + b"}", "damaged, or not JSON"),
    ],
    ids=["deep", "cut", "bytes", "list", "digits"],
)
def test_hostile_json_is_refused_by_name(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(content)
    with pytest.raises(RefusedError, match=message):
        read_json(path, error=RefusedError)


def test_a_pipe_or_a_folder_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(RefusedError, match="a device or a pipe"):
        read_json(tmp_path / "pipe", error=RefusedError)
    with pytest.raises(RefusedError, match="a folder"):
        read_json(tmp_path, error=RefusedError)


def test_a_folder_appears_whole_and_replaces_whole(tmp_path: Path) -> None:
    place = tmp_path / "out"
    for content in ("one", "two"):
        with new_folder(place, error=RefusedError) as folder:
            (folder / "inner").mkdir()
            (folder / "inner" / "x").write_text(content)
            assert not place.exists() or (place / "inner" / "x").read_text() == "one"
        assert (place / "inner" / "x").read_text() == content
    assert names(tmp_path) == ["out"]
    assert names(place) == ["inner"]
    with pytest.raises(RuntimeError), new_folder(place, error=RefusedError) as folder:
        raise RuntimeError
    assert (place / "inner" / "x").read_text() == "two"
    assert names(tmp_path) == ["out"]


def test_a_folder_behind_a_link_takes_the_target_s_place(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "real")
    for _ in range(2):
        with new_folder(tmp_path / "link", error=RefusedError) as folder:
            write_json(folder / "x.json", {})
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real" / "x.json").is_file()


def test_what_a_killed_process_left_is_cleared_and_a_busy_folder_refused(tmp_path: Path) -> None:
    hidden = tmp_path / ".out.writing"
    hidden.mkdir()
    (hidden / "junk").write_text("x")
    with new_folder(tmp_path / "out", error=RefusedError) as folder:
        assert not (folder / "junk").exists()
        with pytest.raises(RefusedError, match="another process"), new_folder(tmp_path / "out", error=RefusedError):
            pass
    assert (tmp_path / "out").is_dir()


def test_a_lock_dies_with_its_process(tmp_path: Path) -> None:
    code = (
        "import sys, time\nfrom pathlib import Path\nfrom heedful.files import locked\n"
        "from heedful.errors import HeedfulError\n"
        f"with locked(Path({str(tmp_path)!r}), error=HeedfulError, busy='x'):\n"
        "    print('held', flush=True)\n    time.sleep(60)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        with pytest.raises(RefusedError, match="busy"), locked(tmp_path, error=RefusedError, busy="busy"):
            pass
    finally:
        process.kill()
        process.communicate()
    with locked(tmp_path, error=RefusedError, busy="busy"):
        pass


def test_only_ours_may_be_removed(tmp_path: Path) -> None:
    for name in ("run.json", ".lock", "thesis.txt", ".x.json.writing"):
        (tmp_path / name).write_text("x")
    assert foreign_files(tmp_path, ours=["run.json"]) == ["thesis.txt"]
    with pytest.raises(RefusedError, match=r"holds thesis\.txt beside the run"):
        require_only_ours(tmp_path, ours=["run.json"], error=RefusedError, what="run")
    (tmp_path / "thesis.txt").rename(tmp_path / "run.json.bak")
    (tmp_path / "averaged").mkdir()
    (tmp_path / "averaged" / "model").write_text("x")
    (tmp_path / "averaged" / "link").symlink_to(tmp_path.parent)
    with pytest.raises(RefusedError, match=r"holds averaged/link, run\.json\.bak beside the run"):
        require_only_ours(tmp_path, ours=["run.json", "averaged/model"], error=RefusedError, what="run")
    require_only_ours(
        tmp_path,
        ours=["run.json", "run.json.bak", "averaged/model", "averaged/link"],
        error=RefusedError,
        what="run",
    )


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a\\b", "/a", "a\x00b", "a\x1bb", 5, None])
def test_a_name_that_leads_elsewhere_is_not_plain(name: object) -> None:
    assert not is_plain_name(name)
    assert is_plain_name("tokenizer")


def test_a_hash_is_that_of_the_contents(tmp_path: Path) -> None:
    write_file(tmp_path / "x", b"abc", error=RefusedError)
    assert sha256(tmp_path / "x") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


def test_links_that_lead_in_a_circle_are_refused_with_the_callers_error(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    for place in (tmp_path / "a", tmp_path / "a" / "x"):
        with pytest.raises(HeedfulError, match="symbolic links"):
            write_file(place, b"", error=HeedfulError)
        with pytest.raises(HeedfulError, match="symbolic links"), new_folder(place, error=HeedfulError):
            pass
