"""Fronts, processes of their own around the one that decodes: what people see is what one process gives."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from heedful.errors import ServeError

serving = pytest.importorskip("tests.serving", reason="heedful[serve] is not installed")
from heedful.serve.access import Key, Keys  # noqa: E402
from heedful.serve.fronts import Fronts, Settings  # noqa: E402
from heedful.serve.server import bound_socket  # noqa: E402

TEXT = "The committee met on Tuesday, but it could not agree on anything."
LONG = {"text": "\n".join([TEXT] * 400)}


def until(what: str, holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < end, what
        time.sleep(0.01)


@contextlib.contextmanager
def fronts_of(model: Any, *, number: int = 2, queue_tokens: int = 10**6) -> Iterator[tuple[Fronts, Any]]:
    service = serving.Service([model], queue_tokens=queue_tokens, most_characters=50_000)
    fronts, up = Fronts(service, Settings(quiet=True), number=number), threading.Event()
    with bound_socket("127.0.0.1", 0, one_of_several=True) as sock, ThreadPoolExecutor(1) as pool:
        running = pool.submit(fronts.run, sock, started=up.set)
        until("the fronts are up", lambda: up.is_set() or running.done())
        yield fronts, serving.Running(service, sock.getsockname()[1])
        fronts.stop()
        running.result(timeout=30)
    assert service.thread.idle, "a sentence is left behind"


@pytest.fixture(scope="module")
def model() -> Any:
    return serving.served("en-de-small")


@pytest.fixture(scope="module")
def both(model: Any) -> Iterator[tuple[Any, Any, Fronts]]:
    """A server with fronts, and one without."""
    with fronts_of(model) as (fronts, own), serving.running(model) as alone:
        yield own, alone, fronts


def rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: rounded(one) for name, one in value.items()}
    return [*map(rounded, value)] if isinstance(value, list) else round(value, 3) if type(value) is float else value


@pytest.mark.parametrize(
    ("path", "question"),
    [
        ("/api/translate", {"text": [TEXT, "A dog runs. It is 3:30 pm, and it cost $1,299.50!"], "n_best": 3}),
        ("/api/translate", {"text": "Open <b>{0}</b> now 🙂, please."}),
        ("/api/translate", {"text": TEXT, "glossary": {"committee": "Gremium"}}),
        ("/api/translate", {"text": TEXT, "prefix": "Am Dienstag"}),
        ("/api/translate", {"text": TEXT, "max_length": 3, "alignment": True}),
        ("/api/translate", {"text": TEXT, "prefix": "Am Dienstag hat der", "max_length": 2}),
        ("/api/translate", {"text": "x" * 60_000}),
        ("/api/translate", {"text": "<p>A <i>red</i> house.</p><p>Two.</p>", "format": "html"}),
        ("/api/attention", {"text": "A dog runs.", "heads": True}),
        ("/translate", {"q": ["A dog.", "Thank you!"], "source": "auto", "target": "de", "alternatives": 2}),
        ("/v2/translate", {"text": ["Where is the station?"], "target_lang": "DE"}),
    ],
)
def test_every_answer_is_that_of_one_process(both: Any, path: str, question: dict[str, Any]) -> None:
    own, alone, _ = both
    found, expected = own.ask("POST", path, question), alone.ask("POST", path, question)
    assert (found.status, rounded(found.json)) == (expected.status, rounded(expected.json))


def test_beams_grow_and_the_end_is_what_translate_says(both: Any) -> None:
    own, alone, _ = both
    lines = [json.loads(line) for line in own.ask("POST", "/api/stream", {"text": TEXT}).body.splitlines()]
    assert any(one["text"] for line in lines[:-1] for beam in line["beams"] for one in beam["hypotheses"])
    assert rounded(lines[-1]["result"]) == rounded(alone.ask("POST", "/api/translate", {"text": TEXT}).json)


def test_the_counts_are_those_of_all_fronts(both: Any) -> None:
    own, _, _ = both
    with ThreadPoolExecutor(8) as pool:
        statuses = [*pool.map(lambda _: own.ask("GET", "/api/models").status, range(40))]
    assert statuses == [200] * 40

    def counted() -> bool:
        text = own.ask("GET", "/metrics").body.decode()
        return 'heedful_requests_total{route="/api/models",status="200"} 40.0' in text and "heedful_queued" in text

    until("they are counted", counted)


def test_a_document_is_fetched_from_any_front(both: Any) -> None:
    own, _, _ = both
    form = (
        b'--x\r\ncontent-disposition: form-data; name="source"\r\n\r\nen\r\n'
        b'--x\r\ncontent-disposition: form-data; name="target"\r\n\r\nde\r\n'
        b'--x\r\ncontent-disposition: form-data; name="file"; filename="a.txt"\r\n\r\nA dog.\r\n--x--\r\n'
    )
    found = own.ask("POST", "/translate_file", form, content_type="multipart/form-data; boundary=x")
    path = "/" + found.json["translatedFileUrl"].split("/", 3)[3]
    answers = [own.ask("GET", path) for _ in range(12)]  # each a connection of its own
    assert {(one.status, "Hund" in one.body.decode()) for one in answers} == {(200, True)}
    assert own.ask("GET", "/download_file/nothing.txt").status == 404


def test_whoever_leaves_is_forgotten(both: Any) -> None:
    own, _, _ = both
    body = json.dumps(LONG).encode()
    head = f"POST /api/translate HTTP/1.1\r\nhost: x\r\ncontent-length: {len(body)}\r\n\r\n".encode()
    with socket.create_connection(("127.0.0.1", own.port)) as connection:
        connection.sendall(head + body)
        until("it is decoded", lambda: own.service.thread.running > 0)
    until("nothing is left", lambda: own.service.thread.idle)


def test_many_at_once_have_the_answers_of_each_alone(both: Any) -> None:
    own, alone, _ = both
    texts = [
        "A dog runs.",
        "Where is the station?",
        "Two men are talking. It is raining.",
        "Call 030/12 34 <b>now</b> 🙂!",
    ]
    expected = [rounded(alone.ask("POST", "/api/translate", {"text": text, "n_best": 2}).json) for text in texts]

    def ask(number: int) -> Any:
        if number % 7 == 0:  # leaves, before there is an answer
            connection = http.client.HTTPConnection("127.0.0.1", own.port)
            connection.request("POST", "/api/translate", json.dumps(LONG))
            connection.close()
            return None
        found = own.ask("POST", "/api/translate", {"text": texts[number % len(texts)], "n_best": 2})
        return rounded(found.json) == expected[number % len(texts)]

    with ThreadPoolExecutor(12) as pool:
        answers = [*pool.map(ask, range(42))]
    assert answers.count(True) == 36
    until("nothing is left", lambda: own.service.thread.idle)


def test_a_front_that_dies_takes_its_requests_alone_and_another_comes(model: Any) -> None:
    with fronts_of(model) as (fronts, own), ThreadPoolExecutor(1) as pool:
        asked = pool.submit(own.ask, "POST", "/api/translate", LONG)
        until("it is decoded", lambda: own.service.thread.running > 0)
        before = list(fronts.fronts)
        (busy,) = [front for front in before if front._jobs]
        os.kill(busy.process.pid, signal.SIGKILL)
        with pytest.raises((OSError, http.client.HTTPException)):
            asked.result()
        until("what it asked for is forgotten", lambda: own.service.thread.idle)
        until("another is there", lambda: fronts.fronts != before and all(one.is_up for one in fronts.fronts))
        assert {own.ask("POST", "/api/translate", {"text": "A dog."}).status for _ in range(8)} == {200}


def test_a_full_queue_is_one_for_all(model: Any) -> None:
    with fronts_of(model, queue_tokens=50) as (_, own), ThreadPoolExecutor(1) as pool:
        first = pool.submit(own.ask, "POST", "/api/translate", {"text": "\n".join([TEXT] * 20)})
        until("it is decoded", lambda: own.service.thread.running > 0)
        answers = [own.ask("POST", "/api/translate", {"text": "\n".join([TEXT] * 20)}) for _ in range(6)]
        assert {one.status for one in answers} == {429}
        assert all(int(one.headers["retry-after"]) >= 1 for one in answers)
        assert "heedful_rejected_total 6.0" in own.ask("GET", "/metrics").body.decode()
        assert first.result().status == 200


def test_what_is_going_on_is_answered_before_it_stops(model: Any) -> None:
    with fronts_of(model) as (fronts, own), ThreadPoolExecutor(1) as pool:
        asked = pool.submit(own.ask, "POST", "/api/translate", {"text": "\n".join([TEXT] * 30)})
        until("it is decoded", lambda: own.service.thread.running > 0)
        fronts.stop()
        assert asked.result().status == 200
        until("all have ended", lambda: all(one.process.poll() is not None for one in fronts.fronts))


def test_a_fault_fails_its_job_alone(model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from heedful.search.engine import Engine

    turn = Engine.turn

    def breaking(self, new=(), *, dropped=()):
        if any(len(sentence.source) == 3 for sentence in new):
            raise RuntimeError("a secret text")
        return turn(self, new, dropped=dropped)

    encode = model.translator.saved.source_subwords.encode
    bad = next(text for text in ("No.", "Yes!", "Go on", "A b.", "One") if len(encode([text])[0]) == 3)
    with fronts_of(model, number=1) as (_, own):
        monkeypatch.setattr(Engine, "turn", breaking)
        answer = own.ask("POST", "/api/translate", {"text": bad})
        assert (answer.status, "secret" in answer.body.decode()) == (500, False)
        assert own.ask("POST", "/api/translate", {"text": TEXT}).status == 200


def test_what_each_front_would_count_by_itself_is_refused(model: Any) -> None:
    service = serving.Service([model], queue_tokens=10**6, most_characters=10**6)
    keys = Keys([Key("a", "0" * 64, requests_per_minute=1)])
    with pytest.raises(ServeError, match="limits of keys"):
        Fronts(service, Settings(keys), number=2)
    service.close()
