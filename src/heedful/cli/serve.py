"""``heedful serve``."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from heedful.cli.model_options import RunningOptions
from heedful.cli.options import Quiet, Repeated, more, whole_number
from heedful.cli.terminal import say
from heedful.errors import MissingExtraError, ServeError
from heedful.runs.folder import DEFAULT_MODEL, bundled_models

if TYPE_CHECKING:
    from heedful.serve.service import ServedModel

_MORE = more("about the server")


def serve(
    *,
    model: Repeated = (),
    host: str = "127.0.0.1",
    port: Annotated[int, whole_number(0, 65_535)] = 5000,
    keys: Path | None = None,
    queue_tokens: Annotated[int, whole_number(1, 1_000_000_000), _MORE] = 20_000,
    workers: Annotated[int | None, whole_number(1, 256), _MORE] = None,
    fronts: Annotated[int, whole_number(0, 64), _MORE] = 0,
    most_characters: Annotated[int, whole_number(1, 1_000_000), _MORE] = 50_000,
    beam_size: Annotated[int | None, whole_number(1, 100), _MORE] = None,
    cors: Annotated[Repeated, _MORE] = (),
    quiet: Annotated[Quiet, Parameter(help="Log nothing but mistakes.")] = False,
    running: RunningOptions = RunningOptions(),  # noqa: B008
) -> None:
    """Answer translation requests over HTTP, with a page to try it.

    Programs that know LibreTranslate or DeepL can use it as it is; /docs on the server describes everything it answers.
    Sentences of all requests are translated side by side, and each as if it were alone. Requests are logged on standard
    error, a JSON object each, without their text. Ctrl-C or SIGTERM stops it once everything is answered, a second
    Ctrl-C at once.

    Args:
        model: A name that `heedful models` lists, or the folder of a run; may be repeated: which one answers is
            decided by the languages of a request. The models that come with heedful when not given.
        host: The address to listen on; 0.0.0.0 for every address of this machine, which lets others in.
        port: The port to listen on; 0 for any that is free.
        keys: A TOML file of API keys as hashes, with limits; without it everybody who reaches the server may ask.
        queue_tokens: Subwords of text that may wait; beyond it requests are told to come again (429).
        workers: Batches that CTranslate2 translates at the same time; they share --threads and the weights. When not
            given, one for each thread. More than 1 is not for PyTorch, which decodes all requests side by side.
        fronts: Processes that answer HTTP and take text apart and put it together, around the one that decodes; 0: that
            one does it too. For a GPU, which one process cannot keep busy. With PyTorch alone, and not with limits of
            keys.
        most_characters: Of one request's text.
        beam_size: The beam of every search, and so the most translations of a text; the model's own when not given.
        cors: The origin of another site whose pages may ask, such as https://example.org; may be repeated.

    Examples:
        heedful serve
        heedful serve --model run --model en-de-small --port 8080 --keys keys.toml
    """
    _require_extra()
    from heedful.serve.access import Keys, read_keys
    from heedful.serve.app import app
    from heedful.serve.fronts import Fronts, Settings
    from heedful.serve.problems import log_to_stderr
    from heedful.serve.server import Server, bound_socket
    from heedful.serve.server import serve as answer
    from heedful.serve.service import Service

    known = read_keys(keys) if keys else Keys()
    for origin in cors:
        if origin != "*" and not re.fullmatch(r"https?://[^/\s]+", origin):
            raise ServeError(f"--cors {origin}: must be an origin such as https://example.org, or * for all sites")
    # before the models are loaded: a port that is taken is said at once
    with bound_socket(host, port, one_of_several=fronts > 0) as sock:
        say("loading the models", quiet=quiet)
        models = [_served(name, running, beam_size=beam_size) for name in model or _all_bundled()]
        if not models:
            raise ServeError("which model? Give --model RUN, the folder that `heedful train` made")
        if doubled := {one.name for one in models if sum(other.name == one.name for other in models) > 1}:
            raise ServeError(f"--model {min(doubled)} was given twice")
        service = Service(models, queue_tokens=queue_tokens, most_characters=most_characters, workers=workers)
        service.warm_up()
        names = ", ".join(
            f"{one.name} ({one.languages.source} to {one.languages.target}, {one.engine})" for one in models
        )
        place = f"http://{'[' + host + ']' if ':' in host else host}:{sock.getsockname()[1]}/"
        if not keys and sock.getsockname()[0] not in ("127.0.0.1", "::1"):
            say(f"whoever reaches {host} may ask: --keys lets in those who have one")
        log_to_stderr(quiet=quiet)
        started: Callable[[], object] = lambda: say(f"{names}: open {place} in a browser; Ctrl-C stops it")  # noqa: E731
        if fronts:
            Fronts(service, Settings(known, tuple(cors), quiet), number=fronts).run(sock, started=started)
        else:
            answer(Server(app(service, known, origins=cors), service), service, sock, started=started)
    if service.thread.broken:
        raise ServeError("the engine failed for good, or three times within a minute: the log says where")
    say("stopped", quiet=quiet)


def _all_bundled() -> tuple[str, ...]:
    """The models that come with heedful, the one that commands take by default first."""
    return tuple(sorted(bundled_models(), key=lambda name: name != DEFAULT_MODEL))


def _require_extra() -> None:
    try:
        import prometheus_client  # noqa: F401
        import python_multipart  # noqa: F401
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise MissingExtraError(f"heedful serve needs {error.name}: pip install 'heedful[serve]'") from None


def _served(name: str, running: RunningOptions, *, beam_size: int | None) -> ServedModel:
    from heedful.runs.descriptions import Languages
    from heedful.runs.lists import languages
    from heedful.serve.service import ServedModel

    translator = dataclasses.replace(running, model=name).translator(engine="auto")
    spoken = languages(translator.saved.description) or Languages("source", "target")
    options = translator.options
    if beam_size is not None:
        options = dataclasses.replace(options, beam_size=beam_size)
    return ServedModel(Path(name).name or name, translator, spoken, options)
