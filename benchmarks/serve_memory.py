"""Whether `heedful serve` keeps memory: many requests of all kinds, and what the process holds while they come."""

from __future__ import annotations

import contextlib
import http.client
import itertools
import json
import random
import re
import string
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from hardware import described

CLIENTS = 8
SAMPLES = 250
Request = tuple[str, str, dict[str, object] | None]


def a_request(rng: random.Random, model: dict[str, str]) -> Request:
    """Its kind, its path and its body. Words are made up, so that nothing is known from before."""
    words = ["".join(rng.choices(string.ascii_lowercase, k=rng.randint(1, 6))) for _ in range(rng.randint(1, 3))]
    text, spoken = " ".join(words), {"source": model["source"], "target": model["target"]}
    own = {"text": text, "model": model["name"], "max_length": 4}
    kinds: dict[str, tuple[str, dict[str, object] | None]] = {
        "native": ("/api/translate", {**own, "n_best": rng.randint(1, 2)}),
        "stream": ("/api/stream", {**own}),
        "given up": ("/api/translate", {**own, "text": f"{text}\n" * 20}),
        "attention": ("/api/attention", {"text": text, "translation": text, "model": model["name"]}),
        "LibreTranslate": ("/translate", {"q": [words[0]], **spoken, "format": "html"}),
        "DeepL": ("/v2/translate", {"text": [words[0]], "target_lang": model["target"]}),
        "detection": ("/detect", {"q": text}),
        "wrong": ("/api/translate", {"text": text, "model": text}),
        "nowhere": (f"/{words[0]}", None),
        "page": ("/", None),
    }
    kind = rng.choices(list(kinds), weights=[40, 10, 2, 4, 16, 16, 4, 3, 3, 2])[0]
    return kind, *kinds[kind]


class Load:
    """Clients that ask until enough was asked."""

    def __init__(self, url: str, count: int) -> None:
        self._address, self._count = urlsplit(url).netloc, count
        with contextlib.closing(http.client.HTTPConnection(self._address)) as connection:
            connection.request("GET", "/api/models")
            self._model = json.loads(connection.getresponse().read())["models"][0]
        self.model = f"{self._model['name']}, {self._model['parameters']:,} parameters"
        self._numbers = itertools.count()
        self.done = 0
        self.statuses: Counter[str] = Counter()

    def ask(self, seed: int) -> None:
        rng, connection = random.Random(seed), http.client.HTTPConnection(self._address, timeout=120)
        while next(self._numbers) < self._count:
            kind, path, body = a_request(rng, self._model)
            content = json.dumps(body) if body is not None else None
            connection.request("POST" if body else "GET", path, content, {"content-type": "application/json"})
            if kind == "given up":
                time.sleep(0.02)
                connection.close()
                status = "given up"
            else:
                answer = connection.getresponse()
                answer.read()
                status = f"{kind}: {answer.status}"
            self.statuses[status] += 1
            self.done += 1
        connection.close()


def held(pid: int) -> tuple[float, int, int]:
    """Resident memory in MB, threads and open files of a process."""
    status = Path(f"/proc/{pid}/status").read_text()
    numbers = {name: int(re.search(rf"{name}:\s+(\d+)", status)[1]) for name in ("VmRSS", "Threads")}  # type: ignore[index]
    return numbers["VmRSS"] * 1024 / 1e6, numbers["Threads"], len(list(Path(f"/proc/{pid}/fd").iterdir()))


def measure_memory(url: str, pid: int, count: int, *, picture: Path | None) -> Iterator[str]:
    """The lines of the report; the picture lies beside it."""
    load, began, seen = Load(url, count), time.monotonic(), [(0, *held(pid))]
    clients = [threading.Thread(target=load.ask, args=(seed,)) for seed in range(CLIENTS)]
    for one in clients:
        one.start()
    while any(one.is_alive() for one in clients):
        time.sleep(0.05)
        if load.done - seen[-1][0] >= count / SAMPLES:
            seen.append((load.done, *held(pid)))
    seen.append((load.done, *held(pid)))
    took = time.monotonic() - began
    half = [(number, memory) for number, memory, _, _ in seen if number >= count / 2]
    yield f"# Memory of heedful serve over {load.done:,} requests\n"
    yield f"`python benchmarks/serve.py --memory {count}`: {described('torch', 'starlette', 'uvicorn')}."
    yield f"Model: {load.model}. {CLIENTS} clients, {took:.0f} s; texts of one to three made-up words, twenty lines of"
    yield "them where it is given up.\n"
    yield "| after requests | MB resident | threads | open files |\n|---:|---:|---:|---:|"
    for place in sorted(
        {min(range(len(seen)), key=lambda at: abs(seen[at][0] - count * tenth / 10)) for tenth in range(11)}
    ):
        number, memory, threads, files = seen[place]
        yield f"| {number:,} | {memory:.1f} | {threads} | {files} |"
    yield f"\nSlope over the second half: {1e6 * slope(half):.0f} bytes a request.\n"
    yield "Answers: " + ", ".join(f"{status} {times:,}" for status, times in sorted(load.statuses.items())) + "."
    if picture is not None:
        drawn = picture.with_suffix(".svg")
        drawn.write_text(plot([(number, memory) for number, memory, _, _ in seen]))
        yield f"\n![resident memory against requests]({drawn.name})"


def slope(points: Sequence[tuple[float, float]]) -> float:
    """Of the straight line nearest to the points."""
    x, y = (sum(one) / len(points) for one in zip(*points, strict=True))
    return sum((a - x) * (b - y) for a, b in points) / max(sum((a - x) ** 2 for a, _ in points), 1e-9)


def plot(points: Sequence[tuple[float, float]]) -> str:
    """Resident memory against requests, from zero."""
    width, height, left, low = 640, 260, 60, 30
    right, top = max(x for x, _ in points), 1.15 * max(y for _, y in points)

    def at(x: float, y: float) -> str:
        return f"{left + x / right * (width - left - 20):.1f},{height - low - y / top * (height - low - 10):.1f}"

    line = " ".join(at(*point) for point in points)
    marks = "".join(
        f'<text x="{at(x, 0).partition(",")[0]}" y="{height - 10}" text-anchor="middle">{x:,.0f}</text>'
        for x in (0, right / 2, right)
    ) + "".join(
        f'<text x="{left - 8}" y="{at(0, y).partition(",")[2]}" text-anchor="end">{y:.0f} MB</text>'
        for y in (0, round(top / 2), round(top))
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" '
        f'font-size="12"><rect width="{width}" height="{height}" fill="#fff"/>{marks}'
        f'<polyline points="{at(0, top)} {at(0, 0)} {at(right, 0)}" fill="none" stroke="#999"/>'
        f'<polyline points="{line}" fill="none" stroke="#2456c7" stroke-width="2"/></svg>\n'
    )
