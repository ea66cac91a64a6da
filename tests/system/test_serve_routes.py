"""The server under use and abuse: limits, keys, refusals, cancellations, and what it says of itself."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import hashlib
import io
import json
import logging
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests import serving
from tests.commands import run_here

from heedful.errors import GoneError, HeedfulError
from heedful.runs.descriptions import Languages
from heedful.serve.access import Key, Keys, read_keys
from heedful.serve.api_page import api_page
from heedful.serve.server import bound_socket

TEXT = "Two men are talking about a very long story that never ends."


@pytest.fixture(scope="module")
def model() -> serving.ServedModel:
    return serving.served("en-de-small")


@pytest.fixture(scope="module")
def server(model: serving.ServedModel) -> Iterator[serving.Running]:
    with serving.running(model) as started:
        yield started


def until(what: str, holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 10
    while not holds():
        assert time.monotonic() < end, what
        time.sleep(0.01)


def test_n_best_scores_and_alignment_are_those_of_the_library(
    server: serving.Running, model: serving.ServedModel
) -> None:
    translator = model.translator
    answer = server.ask("POST", "/api/translate", {"text": TEXT, "n_best": 3, "alignment": True}).json
    (expected,) = translator.hypotheses([TEXT], replace(translator.options, n_best=3), as_is=True)
    found = answer["results"][0]["translations"]
    assert [one["text"] for one in found] == [one.text for one in expected]
    assert [one["score"] for one in found] == pytest.approx([one.score for one in expected], abs=1e-4)
    assert [one["alignment"] for one in found] == translator.alignments(TEXT, expected)
    assert answer["model"] == "en-de-small"


def test_a_glossary_a_prefix_and_a_length(server: serving.Running) -> None:
    question = {"text": "The contract is ready.", "glossary": {"contract": "Kontrakt"}}
    answer = server.ask("POST", "/api/translate", question).json
    assert "Kontrakt" in answer["results"][0]["translations"][0]["text"]
    begun = server.ask("POST", "/api/translate", {"text": TEXT, "prefix": "Es sind"}).json
    assert begun["results"][0]["translations"][0]["text"].startswith("Es sind")
    short = server.ask("POST", "/api/translate", {"text": TEXT, "max_length": 3}).json
    assert len(short["results"][0]["translations"][0]["text"].split()) <= 3


def test_a_page_that_is_sent_says_its_language_and_its_attributes_are_translated(server: serving.Running) -> None:
    question = {"q": '<html lang="en"><p title="A dog.">A dog.</p>', "source": "en", "target": "de", "format": "html"}
    answer = server.ask("POST", "/translate", question).json["translatedText"]
    assert answer.startswith('<html lang="de"><p title="')
    assert answer.count("Hund") == 2


def test_beams_grow_and_become_the_result(server: serving.Running, model: serving.ServedModel) -> None:
    lines = [json.loads(line) for line in server.ask("POST", "/api/stream", {"text": TEXT}).body.splitlines()]
    assert all("beams" in line for line in lines[:-1])
    assert lines[:-1]
    best = lines[-1]["result"]["results"][0]["translations"][0]["text"]
    assert best == model.translator.translate([TEXT])[0]
    grown = [hypothesis["text"] for line in lines[:-1] for one in line["beams"] for hypothesis in one["hypotheses"]]
    assert any(text and best.startswith(text) for text in grown)


def test_attention_is_a_share_of_every_word(server: serving.Running) -> None:
    answer = server.ask("POST", "/api/attention", {"text": "A dog runs.", "translation": "Ein Hund rennt.", "heads": 1})
    found = answer.json
    assert found["source"] == ["A", "dog", "runs."]
    assert found["target"] == ["Ein", "Hund", "rennt."]
    assert [max(range(3), key=row.__getitem__) for row in found["weights"]] == [0, 1, 2]
    mean = [[sum(head[t][s] for head in found["heads"]) / len(found["heads"]) for s in range(3)] for t in range(3)]
    for row, expected in zip(found["weights"], mean, strict=True):
        assert row == pytest.approx(expected, abs=2e-4)


@pytest.mark.parametrize(
    ("path", "body", "status", "said"),
    [
        ("/translate", {"source": "en", "target": "de"}, 400, "missing q"),
        ("/translate", {"q": "x", "source": "en", "target": "fr"}, 400, "en-de-small (en to de)"),
        ("/translate", {"q": 3, "source": "en", "target": "de"}, 400, "must be text"),
        ("/translate", {"q": "x", "source": "en", "target": "de", "format": "pdf"}, 400, "text, html"),
        ("/translate", {"q": "x", "source": "en", "target": "de", "alternatives": 9}, 400, "alternatives 9: must be"),
        ("/translate", {"q": "x", "source": "", "target": "de"}, 400, "no model from '' to 'de'"),
        ("/translate", b"{", 400, "JSON"),
        ("/translate", b"[1]", 400, "object"),
        ("/translate", [("q", "x")] * 1001, 400, "1,000 fields at most"),
        ("/translate", b'{"q": "\\ud800", "source": "en", "target": "de"}', 400, "surrogate"),
        ("/v2/translate", {"target_lang": "DE"}, 400, "'text'"),
        ("/v2/translate", {"text": ["x"], "target_lang": "DE", "glossary_id": "1"}, 404, "glossaries"),
        ("/api/translate", {"text": "x", "n_best": 5}, 400, "from 1 to 4"),
        ("/api/translate", {"text": "x", "n_best": "1e3"}, 400, "from 1 to 4"),
        ("/api/translate", {"text": "x", "as_is": "perhaps"}, 400, "true or false"),
        ("/api/translate", {"text": "x", "model": "other"}, 400, "there is no model 'other'"),
        ("/api/translate", {"text": "x", "glossary": {"a": 1}}, 400, "an object of texts"),
        ("/api/translate", {"text": "x", "prefix": "a\nb"}, 400, "one line"),
        ("/api/translate", {"text": "x" * 50_001}, 400, "at most 50,000"),
        ("/v2/translate", {"text": ["x" * 50_001], "target_lang": "DE"}, 413, "at most 50,000"),
        ("/api/attention", {"text": ""}, 400, "no text"),
        ("/suggest", {}, 403, "does not do that"),
        ("/translate_file", {"source": "en", "target": "de"}, 400, "file, source and target"),
        ("/nothing", {}, 404, "/docs"),
    ],
)
def test_a_mistake_is_said_in_the_words_of_its_interface(
    server: serving.Running, path: str, body: object, status: int, said: str
) -> None:
    answer = server.ask("POST", path, body)
    assert answer.status == status
    name = "message" if path.startswith("/v2") else "error"
    assert said in answer.json[name]


def test_text_that_is_nothing_comes_back(server: serving.Running) -> None:
    for text in ("", " \n ", "123", "🙂", "%s"):
        answer = server.ask("POST", "/translate", {"q": text, "source": "en", "target": "de"})
        assert (answer.status, answer.json["translatedText"]) == (200, text)
    assert server.ask("POST", "/translate", {"q": [], "source": "en", "target": "de"}).json == {"translatedText": []}


def sent(server: serving.Running, name: str, content: bytes, *, source: bytes = b"en") -> serving.Answer:
    form = [("source", None, source), ("target", None, b"de"), ("file", name, content)]
    parts = [
        f'--b\r\nContent-Disposition: form-data; name="{field}"'.encode()
        + (f'; filename="{file}"'.encode() if file else b"")
        + b"\r\n\r\n"
        + value
        for field, file, value in form
    ]
    body = b"\r\n".join([*parts, b"--b--", b""])
    return server.ask("POST", "/translate_file", body, content_type="multipart/form-data; boundary=b")


def word_file() -> bytes:
    docx = pytest.importorskip("docx", reason="heedful[documents] is not installed")
    file, content = docx.Document(), io.BytesIO()
    paragraph = file.add_paragraph("A ")
    paragraph.add_run("brown").bold = True
    paragraph.add_run(" dog.")
    file.save(content)
    return content.getvalue()


@pytest.mark.parametrize(
    ("name", "content", "kept"),
    [
        ("dog.TXT", b"A dog.\r\n\r\n  %1$s {0}\r\n", [b"\r\n\r\n  %1$s {0}\r\n"]),
        ("dog.md", b"# A dog\n\nA **brown** dog. `x = 1`\n", [b"# ", b" **", b"** ", b"`x = 1`\n"]),
        (
            "dog.html",
            b'<html lang="en"><p class=a>A <b>brown</b> dog.<!-- c --></p>',
            [b'<html lang="de"><p class=a>', b"<b>", b"</b>", b"<!-- c --></p>"],
        ),
        ("dog.srt", b"7\n00:00:01,000 --> 00:00:02,500\n<i>A dog.</i>\n\n", [b"7\n00:00:01,000 --> 00:00:02,500\n<i>"]),
        ("dog.po", b'msgid ""\nmsgstr ""\n\nmsgid "%s: a dog"\nmsgstr ""\n', [b"fuzzy", b'msgid "%s: a dog"']),
        ("dog.docx", word_file, [b"PK"]),
    ],
)
def test_a_document_is_sent_and_fetched(
    server: serving.Running, name: str, content: bytes | Callable[[], bytes], kept: list[bytes]
) -> None:
    for package in ("srt", "polib"):
        pytest.importorskip(package, reason="heedful[documents] is not installed")
    answer = sent(server, name, content if isinstance(content, bytes) else content())
    assert answer.status == 200
    url = answer.json["translatedFileUrl"]
    assert url.startswith(server.url)
    fetched = server.ask("GET", url.removeprefix(server.url))
    assert fetched.headers["content-disposition"].startswith("attachment")
    for piece in kept:
        assert fetched.body.count(piece) >= 1, piece
    if name.endswith(".docx"):
        docx = pytest.importorskip("docx")
        (paragraph,) = docx.Document(io.BytesIO(fetched.body)).paragraphs
        assert "Hund" in paragraph.text
        assert [run.text.strip() for run in paragraph.runs if run.bold] == ["brauner"]
    else:
        assert "Hund" in fetched.body.decode()


def test_what_is_no_document_is_refused(server: serving.Running) -> None:
    assert server.ask("GET", "/download_file/other.md").status == 404
    refused = sent(server, "a.exe", b"x")
    assert (refused.status, refused.json["error"][:27]) == (400, "'a.exe': a document ends in")
    assert sent(server, "a.docx", b"x").status == 400


def test_the_language_of_a_document_is_found(model: serving.ServedModel) -> None:
    """Both models translate into German, so what is in the document decides."""
    other = replace(serving.served("de-en-small"), languages=Languages("de", "de"))
    with serving.running(other, model) as own:
        for text, word in ((b"A dog runs through the snow.", b"Hund"), (b"Der Hund ist alt.", b"dog")):
            url = sent(own, "dog.txt", text, source=b"auto").json["translatedFileUrl"]
            assert word in own.ask("GET", url.removeprefix(own.url)).body


def test_documents_are_forgotten(model: serving.ServedModel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("heedful.serve.libretranslate._SECONDS_KEPT", 0.2)
    with serving.running(model) as own:
        url = sent(own, "dog.txt", b"A dog.").json["translatedFileUrl"]
        until("it is forgotten", lambda: own.ask("GET", url.removeprefix(own.url)).status == 404)


def test_a_full_queue_is_said_with_429_and_nothing_else(model: serving.ServedModel) -> None:
    question = {"text": " ".join([TEXT] * 5)}
    with serving.running(model, queue_tokens=150) as small, concurrent.futures.ThreadPoolExecutor(12) as pool:
        answers = list(pool.map(lambda _: small.ask("POST", "/api/translate", question), range(24)))
        refused = [answer for answer in answers if answer.status != 200]
        assert {answer.status for answer in refused} == {429}
        assert all(1 <= int(answer.headers["retry-after"]) <= 60 for answer in refused)
        texts = {answer.json["results"][0]["translations"][0]["text"] for answer in answers if answer.status == 200}
        assert len(texts) == 1
        assert small.ask("POST", "/api/translate", question).status == 200


def test_too_many_connections_are_429_too(model: serving.ServedModel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("heedful.serve.server._MOST_CONNECTIONS", 3)
    with serving.running(model) as own:
        idle = [socket.create_connection(("127.0.0.1", own.port)) for _ in range(3)]
        refused = own.ask("POST", "/v2/translate", {"text": ["A dog."], "target_lang": "DE"})
        assert (refused.status, refused.headers["retry-after"], "message" in refused.json) == (429, "1", True)
        assert own.ask("GET", "/ready").status == 200
        for one in idle:
            one.close()
        until("there is room again", lambda: own.ask("GET", "/languages").status == 200)


def test_whoever_goes_is_forgotten(server: serving.Running) -> None:
    before = server.service.metrics.cancelled._value.get()
    body = json.dumps({"text": "\n".join([TEXT] * 100)}).encode()
    connection = socket.create_connection(("127.0.0.1", server.port))
    connection.sendall(b"POST /api/translate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n")
    connection.sendall(f"Content-Length: {len(body)}\r\n\r\n".encode() + body)
    until("it is decoded", lambda: server.service.thread.running > 0)
    # Somebody with one line does not wait for the hundred.
    assert server.ask("POST", "/api/translate", {"text": "A dog."}).status == 200
    assert server.service.thread.running > 0
    connection.close()
    until("nothing is left", lambda: server.service.thread.idle)
    assert server.service.metrics.cancelled._value.get() > before


def test_a_fault_fails_its_job_alone_and_the_engine_goes_on(
    model: serving.ServedModel, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from heedful.search.engine import Engine

    turn = Engine.turn

    def breaking(self, new=(), *, dropped=()):
        if any(len(sentence.source) == 3 for sentence in new):
            raise RuntimeError("a secret text")
        return turn(self, new, dropped=dropped)

    bad = next(text for text in ("No.", "Yes!", "Go on", "A b.", "One") if len(_ids(model, text)) == 3)
    with serving.running(model) as own, caplog.at_level(logging.ERROR, logger="heedful.serve"):
        monkeypatch.setattr(Engine, "turn", breaking)
        assert own.ask("POST", "/api/translate", {"text": bad}).status == 500
        assert own.ask("POST", "/api/translate", {"text": TEXT}).status == 200
    assert "RuntimeError" in caplog.text
    assert "secret" not in caplog.text


def test_a_mistake_in_the_engine_thread_lets_nobody_wait(
    model: serving.ServedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = serving.Service([model], queue_tokens=10**6, most_characters=10**6)
    monkeypatch.setattr(service.thread, "_give", lambda finished: 1 / 0)
    with pytest.raises(HeedfulError, match="ZeroDivisionError"):
        asyncio.run(service.run(model, lambda own: own.translate([TEXT]), gone=asyncio.Event().wait))
    assert service.thread.broken
    service.close()


def test_what_many_threads_change_is_looked_through_by_one(model: serving.ServedModel) -> None:
    """After 13,757 requests, somebody submitted between two looks at a dictionary, and the engine's thread had gone."""
    service = serving.Service([model], queue_tokens=10**6, most_characters=10**6)
    looks: list[bool] = []

    class Watched(dict):
        def items(self):
            looks.append(service.thread._news._is_owned())  # pyright: ignore[reportAttributeAccessIssue]
            return super().items()

    service.thread._owners = Watched()  # pyright: ignore[reportAttributeAccessIssue]
    leaving = service.run(model, lambda own: own.translate([TEXT] * 99), gone=lambda: asyncio.sleep(0.3))
    with pytest.raises(GoneError):
        asyncio.run(leaving)
    until("it is forgotten", lambda: service.thread.idle)
    service.close()
    assert looks
    assert all(looks)


def _ids(model: serving.ServedModel, text: str) -> list[int]:
    return model.translator.saved.source_subwords.encode([text])[0].tolist()


def test_what_takes_too_long_is_refused_when_it_stops(
    model: serving.ServedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    from heedful.serve import server as module

    monkeypatch.setattr(module, "SECONDS_TO_DRAIN", 1.5)
    service = serving.Service([model], queue_tokens=10**6, most_characters=10**6)
    made = module.Server(serving.app(service, Keys()), service)
    begun = threading.Event()
    with module.bound_socket("127.0.0.1", 0) as sock, concurrent.futures.ThreadPoolExecutor(2) as pool:
        serving_ = pool.submit(module.serve, made, service, sock, started=begun.set)
        begun.wait()
        own = serving.Running(service, sock.getsockname()[1])
        asked = pool.submit(own.ask, "POST", "/api/translate", {"text": "\n".join([TEXT] * 2000)})
        until("it is decoded", lambda: service.thread.running > 0)
        made.handle_exit(15, None)
        assert (asked.result().status, asked.result().json) == (503, {"error": "the server is stopping"})
        serving_.result(timeout=10)


def test_keys_let_in_and_limit(model: serving.ServedModel, tmp_path: Path) -> None:
    hashes = [hashlib.sha256(key.encode()).hexdigest() for key in ("one", "two")]
    (tmp_path / "keys.toml").write_text(
        f'[[key]]\nname = "a"\nsha256 = "{hashes[0]}"\ncharacters_per_day = 10\n'
        f'[[key]]\nname = "b"\nsha256 = "{hashes[1]}"\nrequests_per_minute = 1\n'
    )
    with serving.running(model, keys=read_keys(tmp_path / "keys.toml")) as own:
        question = {"q": "A dog.", "source": "en", "target": "de"}
        assert own.ask("POST", "/translate", question).status == 403
        assert own.ask("POST", "/translate", {**question, "api_key": "three"}).status == 403
        assert own.ask("POST", "/translate", {**question, "api_key": "one"}).status == 200
        usage = own.ask("GET", "/v2/usage", Authorization="DeepL-Auth-Key one").json
        assert usage == {"character_count": 6, "character_limit": 10}
        form = [("text", "A dog."), ("target_lang", "DE")]
        assert own.ask("POST", "/v2/translate", form, Authorization="DeepL-Auth-Key one").status == 456
        assert own.ask("POST", "/v2/translate", form, Authorization="DeepL-Auth-Key two").status == 200
        refused = own.ask("POST", "/v2/translate", form, Authorization="DeepL-Auth-Key two")
        assert (refused.status, "retry-after" in refused.headers) == (429, True)
        assert own.ask("GET", "/health").status == 200


def test_what_was_not_translated_is_not_counted(model: serving.ServedModel) -> None:
    keys = Keys([Key("a", hashlib.sha256(b"one").hexdigest(), characters_per_day=1000)])
    with serving.running(model, keys=keys) as own:
        own.service.ready = False
        form = [("text", "A dog."), ("target_lang", "DE")]
        assert own.ask("POST", "/v2/translate", form, Authorization="deepl-auth-key one").status == 503
        assert own.ask("GET", "/v2/usage", Authorization="DeepL-Auth-Key one").json["character_count"] == 0
        own.service.ready = True
        assert own.ask("POST", "/v2/translate", form, Authorization="DeepL-Auth-Key one").status == 200
        assert own.ask("GET", "/v2/usage", Authorization="DeepL-Auth-Key one").json["character_count"] == 6


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("x", "keys.toml"),
        ("[[key]]\nname = 'a'\nsha256 = 'b'", "64 digits"),
        ("[[key]]\nname = 'a'\nlimit = 1", "limit"),
        (f"[[key]]\nname = 'a'\nrequests_per_minute = -1\nsha256 = '{'0' * 64}'", "limits of a must be 0"),
        ("key = []", "must hold tables"),
    ],
)
def test_a_file_of_keys_that_says_something_else_is_refused(tmp_path: Path, content: str, said: str) -> None:
    (tmp_path / "keys.toml").write_text(content)
    with pytest.raises(HeedfulError, match=said):
        read_keys(tmp_path / "keys.toml")


def test_large_and_slow_bodies_are_refused(server: serving.Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("heedful.serve.fields._SECONDS_TO_SEND", 0.2)
    head = b"POST /translate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    for rest, status in ((b"Content-Length: 1073741824\r\n\r\n{", b"413"), (b"Content-Length: 99\r\n\r\n{", b"408")):
        with socket.create_connection(("127.0.0.1", server.port), timeout=10) as connection:
            connection.sendall(head + rest)
            assert connection.recv(100).split()[1] == status
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as connection:
        connection.sendall(head + b"Transfer-Encoding: chunked\r\n\r\n")
        chunk = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
        assert _sent(connection, chunk, times=1600) < 1600, "100 MB were read, and nobody said no"


def _sent(connection: socket.socket, chunk: bytes, *, times: int) -> int:
    for number in range(times):
        try:
            connection.sendall(chunk)
        except OSError:
            return number
    return times


def test_an_answer_on_an_open_connection_is_not_held_back() -> None:
    """With Nagle's algorithm its body waits until the client has confirmed its head, for 40 ms."""

    async def is_off() -> bool:
        options: asyncio.Queue[int] = asyncio.Queue()

        async def look(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            own = writer.get_extra_info("socket")
            options.put_nowait(own.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            writer.close()

        with bound_socket("127.0.0.1", 0) as sock:
            async with await asyncio.start_server(look, sock=sock):
                _, writer = await asyncio.open_connection(*sock.getsockname())
                found = await options.get()
                writer.close()
                await writer.wait_closed()
        return bool(found)

    assert asyncio.run(is_off())


def test_who_says_nothing_is_not_waited_for(model: serving.ServedModel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("heedful.serve.server._SECONDS_FOR_HEADERS", 0.2)
    with (
        serving.running(model) as own,
        socket.create_connection(("127.0.0.1", own.port), timeout=10) as connection,
    ):
        connection.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
        received = b""
        while not received.endswith(b'{"status":"ok"}'):
            received += connection.recv(9999)
        began = time.monotonic()
        with contextlib.suppress(OSError):  # whichever way it is closed
            for byte in b"POST /translate HTTP/1.1\r\n" + b"x" * 1000:
                connection.sendall(bytes([byte]))
                time.sleep(0.01)
        assert time.monotonic() - began < 5, "who sends it byte by byte has no more time"
        with socket.create_connection(("127.0.0.1", own.port), timeout=10) as other:
            other.sendall(b"GET /he")
            assert other.recv(100) == b""


def test_what_it_says_of_itself(server: serving.Running, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="heedful.serve"):
        server.ask("POST", "/translate", {"q": "A secret.", "source": "en", "target": "de", "api_key": "hidden"})
        until("it is logged", lambda: any(record.name == "heedful.serve" for record in caplog.records))
    (line,) = [json.loads(record.message) for record in caplog.records if record.name == "heedful.serve"]
    assert line["time"].endswith("+00:00")
    assert (line["route"], line["status"], line["characters"]) == ("/translate", 200, 9)
    assert "secret" not in caplog.text
    assert "hidden" not in caplog.text
    assert server.ask("GET", "/health").json == server.ask("GET", "/ready").json == {"status": "ok"}
    metrics = server.ask("GET", "/metrics").body.decode()
    for name in (
        'heedful_requests_total{route="/translate",status="200"}',
        "heedful_request_seconds_bucket",
        "heedful_queued_tokens 0.0",
        "heedful_running_sentences 0.0",
        "heedful_generated_tokens_total",
        "heedful_cancelled_sentences_total",
        "heedful_rejected_total",
    ):
        assert name in metrics
    page = server.ask("GET", "/", Origin="https://elsewhere.example")
    assert "default-src 'self'" in page.headers["content-security-policy"]
    assert page.headers["x-content-type-options"] == "nosniff"
    assert "access-control-allow-origin" not in page.headers


def test_the_page_of_the_interface_calls_it_where_the_page_was_asked_for(server: serving.Running) -> None:
    page = server.ask("GET", "/docs").body.decode()
    assert f"<code>curl -X GET {server.url}/languages</code>" in page
    assert page.count("curl") == page.count(f"{server.url}/")
    assert "http://box.example:81/v2/usage" in server.ask("GET", "/docs", Host="box.example:81").body.decode()
    assert "<tr><td><code>name</code></td><td>string</td>" in page, "what a path holds is needed"
    assert "<td><code>type</code></td><td>string, optional</td>" in page
    described = server.ask("GET", "/openapi.json").json
    hostile = api_page(described, address="http://<b>;$(id)/")
    assert "&#39;http://&lt;b&gt;;$(id)/languages&#39;" in hostile
    assert "<b>" not in hostile


def test_another_site_may_ask_when_it_is_allowed_to(model: serving.ServedModel) -> None:
    with serving.running(model, origins=("https://a.example",)) as own:
        allowed = own.ask("GET", "/languages", Origin="https://a.example")
        assert allowed.headers["access-control-allow-origin"] == "https://a.example"
        assert "access-control-allow-origin" not in own.ask("GET", "/languages", Origin="https://b.example").headers


def test_several_models_are_chosen_by_name_and_language(model: serving.ServedModel) -> None:
    other = replace(model, name="other")
    with serving.running(model, other) as own:
        assert [one["name"] for one in own.ask("GET", "/api/models").json["models"]] == ["en-de-small", "other"]
        for name in ("en-de-small", "other"):
            assert own.ask("POST", "/api/translate", {"text": "A dog.", "model": name}).json["model"] == name
        assert own.ask("POST", "/api/translate", {"text": "A dog."}).json["model"] == "en-de-small"


@pytest.fixture(scope="module")
def both_ways(model: serving.ServedModel) -> Iterator[serving.Running]:
    with serving.running(model, serving.served("de-en-small")) as started:
        yield started


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Hello", "en"),
        ("Thank you", "en"),
        ("THE OLD HOUSE", "en"),
        ("Guten Morgen", "de"),
        ("Danke", "de"),
        ("Schöne Grüße!", "de"),
        ("Wir fahren morgen ans Meer.", "de"),
    ],
)
def test_the_language_of_a_few_words_is_found(both_ways: serving.Running, text: str, language: str) -> None:
    first, second = both_ways.ask("POST", "/detect", {"q": text}).json
    assert first["language"] == language
    assert first["confidence"] > 60
    assert first["confidence"] + second["confidence"] == pytest.approx(100, abs=0.2)
    assert both_ways.ask("POST", "/api/translate", {"text": text}).json["source"] == language


def test_text_in_the_wrong_language_is_noticed_in_words_that_help_here(both_ways: serving.Running) -> None:
    text = "The committee met on Tuesday, but it could not agree on anything at all."
    (said,) = both_ways.ask("POST", "/api/translate", {"text": text, "source": "de"}).json["notices"]
    assert said.endswith("swap the languages, en-de-small translates it")


def test_words_that_nobody_will_send_again_do_not_fill_the_memory(
    server: serving.Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    subwords = server.service.models[0].translator.saved.source_subwords
    assert subwords.cached_words <= 1 << 16, "a server keeps fewer than a corpus needs"
    monkeypatch.setattr(subwords, "cached_words", 20)
    for number in range(30):
        subwords.encode([f"word{chr(97 + number % 26)}{chr(97 + number // 26)} {'y' * 500}"])
    assert len(subwords._cache) <= 30
    assert max(map(len, subwords._cache)) <= 64


def test_a_wrong_method_is_told_the_right_one(server: serving.Running) -> None:
    answer = server.ask("GET", "/translate")
    assert (answer.status, answer.headers["allow"]) == (405, "POST")
    assert answer.json["error"] == "not with GET: this is asked with POST"


def test_what_is_wrong_with_the_command_is_said_at_once(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        code, _, said = run_here(capsys, "serve", "--port", str(taken.getsockname()[1]))
    assert code == 2
    assert "another program listens there" in said
    code, _, said = run_here(capsys, "serve", "--host", "192.0.2.1")
    assert code == 2
    assert "--host must be an address of this machine" in said
    code, _, said = run_here(capsys, "serve", "--port", "0", "--model", "en-de-smal")
    assert code == 2
    assert "en-de-small" in said
    code, _, said = run_here(capsys, "serve", "--keys", tmp_path / "none.toml")
    assert code == 2
    assert "none.toml" in said
    code, _, said = run_here(capsys, "serve", "--cors", "example.org")
    assert code == 2
    assert "https://example.org" in said
    code, _, said = run_here(capsys, "serve", "--port", "0", "--engine", "torch", "--workers", "2")
    assert code == 2
    assert "--workers 2: they translate batches with CTranslate2" in said
    code, _, said = run_here(capsys, "serve", "--workers", "0")
    assert code == 2
    assert "--workers 0" in said


def test_without_the_extra_it_says_what_to_install(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "uvicorn", None)
    code, _, said = run_here(capsys, "serve")
    assert code == 2
    assert "pip install 'heedful[serve]'" in said
