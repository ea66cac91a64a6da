"""Who takes part, the environment that each needs, and the process that it runs in."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import select
import subprocess
import sys
import venv
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

BENCHMARKS = Path(__file__).parent.parent
TORCH = "torch==2.13.0"
YAML = "PyYAML==6.0.3"
SACREBLEU = "sacrebleu==2.6.0"
OLD_NUMPY = "numpy==1.26.4"


@dataclass(frozen=True)
class Environment:
    """What pip installs; ``alone`` without its dependencies, since those it names are too old or too many."""

    requirements: tuple[str, ...]
    alone: str = ""


ENVIRONMENTS = {
    "marian": Environment((TORCH, "transformers==5.22.2", "safetensors==0.8.0")),
    "fairseq": Environment(
        (
            *(TORCH, OLD_NUMPY, SACREBLEU, "hydra-core==1.3.8", "omegaconf==2.3.1", "regex==2026.11.9"),
            *("tqdm==4.70.1", "bitarray==3.12.3", "cffi==2.1.1", "Cython==3.3.1"),
        ),
        alone="fairseq==0.12.2",
    ),
    "sockeye": Environment((TORCH, OLD_NUMPY, YAML, SACREBLEU, "safetensors==0.8.0"), alone="sockeye==3.1.34"),
    "eole": Environment(
        (
            *(TORCH, "numpy==2.4.6", YAML, "safetensors==0.8.0", "ConfigArgParse==1.9.0", "pydantic==2.14.3"),
            *("rich==15.0.0", "six==1.17.0", "RapidFuzz==3.14.6", "huggingface_hub==2.4.0", "pyonmttok==1.38.1"),
            *("sentencepiece==0.2.2", "protobuf==7.36.2", "tokenizers==0.23.3", "subword-nmt==0.3.8"),
            "regex==2026.11.9",
        ),
        alone="eole==0.6.4",
    ),
    "opennmt": Environment((TORCH, "numpy==2.4.6"), alone="OpenNMT-py==3.5.1"),
    "ctranslate2": Environment(("ctranslate2==4.8.4", "numpy==2.4.6", "safetensors==0.8.0")),
}


@dataclass(frozen=True)
class Contestant:
    """A toolkit, in one of its ways to run."""

    label: str
    module: str
    environment: str
    """A name in `ENVIRONMENTS`; empty for this Python."""
    package: str
    on_torch: bool = True
    real_weights: bool = False
    """Whether it can be given the weights of a heedful model."""
    options: dict[str, Any] = field(default_factory=dict)

    def python(self, environments: Path | None) -> str | None:
        """The Python that has it: of its environment, or this one; None if it is nowhere."""
        if self.environment and environments:
            path = environments / self.environment / "bin" / "python"
            if path.exists():
                return str(path.absolute())
        return sys.executable if importlib.util.find_spec(self.package) else None


OURS = Contestant("heedful", "rivals.heedful_ours", "", "heedful", real_weights=True)
CONTESTANTS = (
    OURS,
    Contestant("Hugging Face Marian", "rivals.marian_decoder", "marian", "transformers", real_weights=True),
    Contestant("fairseq", "rivals.fairseq_decoder", "fairseq", "fairseq"),
    Contestant("Sockeye", "rivals.sockeye_decoder", "sockeye", "sockeye", real_weights=True),
    Contestant("Eole", "rivals.eole_decoder", "eole", "eole"),
    *(
        Contestant(
            f"CTranslate2 {kind}",
            "rivals.ctranslate2_decoder",
            "ctranslate2",
            "ctranslate2",
            on_torch=False,
            real_weights=True,
            options={"compute_type": kind},
        )
        for kind in ("float32", "int8")
    ),
)


TRAINERS = (
    Contestant("heedful", "rivals.heedful_trainer", "", "heedful"),
    Contestant("Eole", "rivals.eole_trainer", "eole", "eole"),
    Contestant("Sockeye", "rivals.sockeye_trainer", "sockeye", "sockeye"),
    Contestant("OpenNMT-py", "rivals.opennmt_trainer", "opennmt", "onmt"),
    Contestant("Hugging Face Marian", "rivals.marian_trainer", "marian", "transformers"),
    Contestant("torch.nn.Transformer", "rivals.torch_nn_trainer", "", "torch"),
)
"""Who trains."""
COMPILED = tuple(
    replace(trainer, label=f"{trainer.label}, compiled", options={"compiled": True})
    for trainer in TRAINERS
    if trainer.label in ("Eole", "Hugging Face Marian", "torch.nn.Transformer")
)
"""Those whose model torch.compile takes whole: Eole has a setting for it, and Hugging Face's trainer."""


def set_up(folder: Path) -> None:
    """Make the environment of every rival that has none yet."""
    for name, environment in ENVIRONMENTS.items():
        place = folder / name
        if (place / "ready").exists():
            print(f"{name}: is there")
            continue
        print(f"{name}: {' '.join([*environment.requirements, environment.alone])}", flush=True)
        venv.create(place, with_pip=True)
        pip = [str(place / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, *environment.requirements], check=True)
        if environment.alone:
            subprocess.run([*pip, "--no-deps", environment.alone], check=True)
        (place / "ready").touch()


NO_ANSWER = "no answer"
"""How the error of a toolkit that hangs begins."""


class ToolkitError(Exception):
    """A toolkit could not do what it was asked."""


class Process:
    """A contestant at work."""

    def __init__(self, contestant: Contestant, python: str, *, log: Path, threads: int | None) -> None:
        paths = [str(BENCHMARKS.parent / "src")] * (contestant.package == "heedful") + [
            os.environ.get("PYTHONPATH", "")
        ]
        # The second setting: on some CPUs oneDNN's int8 products are illegal instructions without it.
        variables = {"PYTHONPATH": os.pathsep.join(filter(None, paths)), "ONEDNN_MAX_CPU_ISA": "AVX512_CORE_FP16"}
        if threads:
            variables |= dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS"), str(threads))
        self._log = log.open("w")
        self._process = subprocess.Popen(
            [python, "-W", "ignore", "-m", "rivals.worker", contestant.module],
            cwd=BENCHMARKS,
            env={**os.environ, **variables},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
        )

    def ask(self, **request: Any) -> dict[str, Any]:
        """Its answer; a `ToolkitError` if it failed or died."""
        self.send(**request)
        return self.answer()

    def send(self, **request: Any) -> None:
        """Ask without waiting; `answer` has the answer."""
        assert self._process.stdin, "opened with pipes"
        with contextlib.suppress(BrokenPipeError):  # it died, and `answer` says how
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()

    def answer(self, *, seconds: float | None = None) -> dict[str, Any]:
        """The answer to what was sent; one that does not come in time is a `ToolkitError` too, and ends the process."""
        assert self._process.stdout, "opened with pipes"
        if not select.select([self._process.stdout], [], [], seconds)[0]:
            self._process.kill()
            raise ToolkitError(f"{NO_ANSWER} within {seconds:.0f} seconds")
        line = self._process.stdout.readline()
        answer = json.loads(line) if line else {"error": f"ended with status {self._process.wait()}"}
        if "error" in answer:
            raise ToolkitError(answer["error"].partition("\n")[0])
        return answer

    def close(self) -> None:
        assert self._process.stdin, "opened with pipes"
        assert self._process.stdout, "opened with pipes"
        with contextlib.suppress(BrokenPipeError):  # it may be dead
            self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()
        self._log.close()
