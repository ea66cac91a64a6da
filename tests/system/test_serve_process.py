"""The server as a process: it ends when it is told to, with or without what is going on."""

from __future__ import annotations

import contextlib
import http.client
import json
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("starlette", reason="heedful[serve] is not installed")
pytestmark = pytest.mark.long

BODY = json.dumps({"text": "\n".join(["The committee met on Tuesday, but it could not agree on anything."] * 60)})


@contextlib.contextmanager
def started(port: int = 0, *, threads: int = 1, fronts: int = 0) -> Iterator[tuple[subprocess.Popen[str], int]]:
    command = [sys.executable, "-m", "heedful", "serve", "--port", str(port), "--threads", str(threads)]
    command += ["--engine", "torch", "--model", "en-de-small", "--fronts", str(fronts)] if fronts else []
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if found := re.search(r"http://127\.0\.0\.1:(\d+)/", line):
                break
        else:
            pytest.fail("it did not start")
        yield process, int(found[1])
        process.kill()


def asked(port: int, statuses: list[int | str]) -> threading.Thread:
    def ask() -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        try:
            connection.request("POST", "/api/translate", BODY, {"content-type": "application/json"})
            statuses.append(connection.getresponse().status)
        except (OSError, http.client.HTTPException) as error:
            statuses.append(type(error).__name__)
        connection.close()

    thread = threading.Thread(target=ask)
    thread.start()
    time.sleep(1.0)
    return thread


@pytest.mark.parametrize(
    ("number", "threads", "fronts"),
    [(signal.SIGTERM, 1, 0), (signal.SIGTERM, 2, 0), (signal.SIGINT, 1, 0), (signal.SIGTERM, 1, 2)],
)
def test_what_is_going_on_is_answered_first(number: signal.Signals, threads: int, fronts: int) -> None:
    """With two threads there are two workers."""
    statuses: list[int | str] = []
    with started(threads=threads, fronts=fronts) as (process, port):
        thread = asked(port, statuses)
        process.send_signal(number)
        thread.join()
        assert process.wait(timeout=10) == 0
    assert statuses == [200]


@pytest.mark.parametrize("fronts", [0, 2])
def test_a_second_ctrl_c_ends_it_at_once(fronts: int) -> None:
    statuses: list[int | str] = []
    with started(fronts=fronts) as (process, port):
        thread = asked(port, statuses)
        process.send_signal(signal.SIGINT)
        time.sleep(0.3)
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=10) == 0
        assert time.monotonic() - began < 3
        thread.join()
    assert statuses != [200]


@pytest.mark.parametrize("fronts", [0, 2])
def test_killed_in_the_middle_it_loses_what_was_in_flight_and_nothing_else(fronts: int) -> None:
    """Fronts say so, and end."""
    statuses: list[int | str] = []
    with started(fronts=fronts) as (process, port):
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        thread = asked(port, statuses)
        process.kill()
        thread.join()
        ended = time.monotonic() + 10
        while any(Path(f"/proc/{child}/stat").exists() for child in children) and time.monotonic() < ended:
            time.sleep(0.05)
        assert time.monotonic() < ended, "a front is left behind"
    assert statuses in ([["RemoteDisconnected"], ["ConnectionResetError"]] if not fronts else [[503]])
    assert len(children) == fronts
    with started(port, fronts=fronts) as (_, same):  # at once, and where it was
        assert same == port
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        connection.request("POST", "/api/translate", json.dumps({"text": "A dog."}))
        answer = connection.getresponse()
        assert answer.status == 200
        assert "Hund" in answer.read().decode()
        connection.close()


def test_a_server_for_everybody_says_so() -> None:
    command = [sys.executable, "-m", "heedful", "serve", "--host", "0.0.0.0", "--port", "0", "--model", "en-de-small"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        said = ""
        while "in a browser" not in said and (line := process.stderr.readline()):
            said += line
        process.kill()
    assert "--keys" in said
