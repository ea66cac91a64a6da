"""One toolkit in a process of its own: a JSON line in, a JSON line out.

    python -m rivals.worker rivals.marian_decoder      # with benchmarks/ as the working folder

``{"cmd": "build", "sizes": {…} | null, "folder": … | null, "device": "cpu", "half": false, "options": {…}}`` makes a
model, with random weights or those of a folder; ``{"cmd": "decode", "sources": […], "search": {…}}`` answers with
seconds and steps, and with the ids if ``"ids": true``. A toolkit that trains is built alike;
``{"cmd": "batches", "lengths": [[[source, target], …], …]}`` gives it batches, and
``{"cmd": "train", "batches": [0, 1, …], "seconds": 5}`` answers with seconds, steps and target tokens.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
import traceback
from typing import Any

from rivals.engine import Engine, Search, Sizes
from rivals.training import Learner, Training


def built(module: Any, request: dict[str, Any]) -> Engine | Learner:
    where = {"device": request["device"], "half": request["half"], **request["options"]}
    if request["folder"]:
        return module.load(request["folder"], **where)
    return module.build(Sizes(**request["sizes"]), **where)


def decoded(engine: Engine, request: dict[str, Any], *, synchronize: Any) -> dict[str, Any]:
    sources, search = request["sources"], Search(**request["search"])
    synchronize()
    wall, cpu = time.perf_counter(), time.process_time()
    found = engine.decode(sources, search)
    synchronize()
    # Of all threads of this process: an engine that computes in a thread of its own gains nothing by it.
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    answer: dict[str, Any] = {"wall": wall, "cpu": cpu, "steps": [len(ids) for ids in found]}
    return {**answer, "ids": found} if request.get("ids") else answer


def trained(learner: Learner, request: dict[str, Any], made: dict[str, Training]) -> dict[str, Any]:
    if request["cmd"] == "batches":
        made["training"] = Training(learner, sizes=Sizes(**request["sizes"]), device=request["device"])
        return made["training"].take(request["lengths"])
    return made["training"].train(request["batches"], seconds=request["seconds"])


def synchronizer(device: str) -> Any:
    if device == "cpu":
        return lambda: None
    import torch

    return torch.cuda.synchronize


def main() -> None:
    # What toolkits print goes to the error stream: the answers must be alone on theirs.
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    module = importlib.import_module(sys.argv[1])
    engine: Engine | Learner | None = None
    made: dict[str, Training] = {}
    synchronize = synchronizer("cpu")
    for line in sys.stdin:
        request = json.loads(line)
        try:
            if request["cmd"] == "build":
                engine, synchronize = built(module, request), synchronizer(request["device"])
                answer: dict[str, Any] = {"parameters": engine.parameters, "versions": engine.versions}
            elif isinstance(engine, Learner):
                answer = trained(engine, request, made)
            else:
                assert engine is not None, "build comes first"
                answer = decoded(engine, request, synchronize=synchronize)
        except Exception as error:
            # A toolkit that fails is named with its reason; the others go on.
            traceback.print_exc()
            answer = {"error": f"{type(error).__name__}: {error}"}
        answers.write(json.dumps(answer) + "\n")


if __name__ == "__main__":
    main()
