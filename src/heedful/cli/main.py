"""``heedful``: one command, loaded when it is asked for, and what its end means.

Loading torch takes seconds, and cyclopts and rich a tenth of one: none of them is needed to list the commands.

Exit codes: 0 done (also when the reader, as `| head`, had enough); 2 the user's mistake or the machine's limit, and the
message says what to do; 70 a mistake of heedful's own, with its details in a file; 130 interrupted. A process that a
signal kills has, as the shell counts, 128 and the signal's number: 137 for SIGKILL, 143 for SIGTERM.
"""

from __future__ import annotations

import contextlib
import difflib
import errno
import importlib
import os
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from heedful import __version__
from heedful.cli.start import INTERRUPTED, is_closed
from heedful.errors import HeedfulError, is_out_of_memory

if TYPE_CHECKING:
    from cyclopts import App, CycloptsError

GROUPS = {
    "First steps": {
        "translate": "Translate text with a trained model.",
        "translate-file": "Translate a document and keep its structure: .txt, .md, .html, .srt, .po or .docx.",
        "serve": "Answer translation requests over HTTP, with a page to try it.",
        "parse": "Parse English sentences: a tree in brackets for each.",
        "demo": "See everything work in minutes: prepare text, train, translate what was never seen, explain.",
        "models": "List the models that can be given to --model: those that come with heedful, and those of your runs.",
    },
    "Your own model": {
        "prepare": "Turn raw parallel text into a prepared corpus: read, clean, learn subwords, encode, store.",
        "data": "Describe a prepared corpus: sizes, lengths, samples with their subwords, and how full batches get.",
        "plan": "Say what a training run would take, and find everything that would stop it.",
        "train": "Train a model on a prepared corpus.",
        "bench": "Measure how fast this machine trains and translates, and what holds it back.",
        "average": "Average a run's last checkpoints into RUN/averaged.",
    },
    "How training goes": {
        "runs": "List the training runs below a folder: state, progress, loss, and the best validation so far.",
        "curves": "Draw how a training run went, or is going, into curves.png in its folder.",
        "report": "Describe a run in one HTML page: how good, how long, on what; or two runs beside each other.",
    },
    "How good a model is": {
        "evaluate": "Score a model, or translations that you have: BLEU, chrF and TER, each with its margin of error.",
        "compare": "Say whether one system is better than another, or whether the difference may be luck.",
        "score": "Say how probable a model finds given translations.",
        "attention": "Show what every head attends to while a sentence is translated.",
    },
    "Is the paper true?": {
        "reproduce": "Measure a table or a figure of the paper again, and write it beside the paper's own.",
    },
    "Passing a model on": {
        "bundle": "Make a model to give away: weights, subwords, configuration and card, and nothing else of the run.",
        "export": "Write a model for another engine: CTranslate2, or Hugging Face's transformers.",
    },
    "Settings": {
        "presets": "List the ready-made configurations with their exact sizes.",
        "config": "Show the complete configuration that a command would use, and check it.",
        "completion": "Make the Tab key complete commands and options in your shell.",
    },
}
COMMANDS = {name: about for group in GROUPS.values() for name, about in group.items()}
"""Each command with the first line of its help; a test holds that it is."""

_WRITING = {"demo", "prepare", "train", "average", "curves", "report", "attention", "bundle", "export", "reproduce"}
"""What they make is a file; what the others find is printed, and written nowhere else."""
_MODULES = {"compare": "evaluate", "score": "translate", "curves": "runs", "bench": "plan"}
_MODULES |= dict.fromkeys(("average", "bundle", "export"), "models")
_MODULES |= dict.fromkeys(("config", "completion"), "presets")
"""Where a command is defined that shares the file of another."""

USERS_MISTAKE = 2
OUR_MISTAKE = 70
"""EX_SOFTWARE of sysexits.h."""
_SHOW_TRACEBACK = "HEEDFUL_TRACEBACK"
"""Set to 1, this variable shows where a mistake of ours happened."""
_REFUSED = {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EMFILE}
"""What a machine refuses whatever the program: no permission, no room, a broken disk."""
_PACKAGES = ("torch", "numpy", "tokenizers", "safetensors", "cyclopts", "rich")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command; whatever goes wrong is a message and a SystemExit."""
    try:
        run(list(sys.argv[1:] if arguments is None else arguments))
        sys.stdout.flush()
    except (SystemExit, GeneratorExit):
        raise
    except BaseException as error:
        raise SystemExit(_report_failure(error)) from None


def run(arguments: list[str]) -> None:
    """Run the command that the first argument names, or say what there is."""
    if arguments[:1] == ["help"]:
        arguments = [*arguments[1:2], "--help"]
    if arguments[:1] == ["--install-completion"]:
        arguments = ["completion", "--install", *arguments[1:]]
    if arguments == ["--version"]:
        print(__version__)
    elif not arguments or arguments[0] in ("--help", "--help-all", "-h"):
        print(overview(width=shutil.get_terminal_size().columns))
    else:
        run_command(arguments)


def run_command(arguments: list[str]) -> None:
    """Load the command that the first argument names, and run it with the others."""
    name = arguments[0]
    if name not in COMMANDS:
        near = difflib.get_close_matches(name, COMMANDS, n=1, cutoff=0.6)
        meant = f" (did you mean {near[0]}?)" if near else ""
        raise HeedfulError(f"there is no command {name}{meant}\nheedful --help lists the commands")
    written = name in _WRITING or any(word.startswith("--output") for word in arguments)
    if is_closed(sys.stdout) and ("--json" in arguments or not written):
        raise HeedfulError(f"standard output is closed: heedful {name} has nowhere to print to")
    from cyclopts import CycloptsError

    whole = "--help-all" in arguments
    arguments = ["--help" if word == "--help-all" else word for word in _without_dashes(arguments)]
    try:
        app_of(name, whole_help=whole)(arguments, exit_on_error=False, print_error=False)
    except CycloptsError as error:
        # On a line like every other mistake: a box would fold what somebody wants to search for.
        raise HeedfulError(f"{_mistyped(error, name)}\nheedful {name} --help shows what it takes") from None


def _without_dashes(arguments: list[str]) -> Iterator[str]:
    """Without --input - and --output -, by which people mean what is taken when neither is given."""
    left = iter(arguments)
    for word in left:
        if word in ("--input", "--output"):
            value = next(left, None)
            if value != "-":
                yield from (word,) if value is None else (word, value)
        elif word not in ("--input=-", "--output=-"):
            yield word


def _mistyped(error: CycloptsError, name: str) -> str:
    """What is wrong with a command as it was typed, in our words where cyclopts speaks of its own parts."""
    from cyclopts import MissingArgumentError, UnknownOptionError, UnusedCliTokensError

    if isinstance(error, UnknownOptionError) and any("--set" in one.names for one in error.argument_collection):
        from heedful.config import full_names

        typed = error.token.keyword or error.token.value
        key = typed.partition("=")[0].lstrip("-").replace("-", "_")
        if settings := full_names(key):
            return f"Unknown option: {typed}. It is a setting: --set {settings[0]}=…"
    if isinstance(error, UnusedCliTokensError) and error.unused_tokens:
        return f"more was given than it takes: {' '.join(error.unused_tokens)}"
    if isinstance(error, MissingArgumentError) and error.argument is not None:
        _, _, advice = str(error).partition("requires an argument.")  # of an option that was misspelled
        needs = f"{error.keyword} needs a value" if error.keyword else f"heedful {name} needs {error.argument.name}"
        return needs + (f":{advice}" if advice else "")
    return str(error)


def app_of(*names: str, whole_help: bool = False) -> App:
    """cyclopts' view of some commands; ``whole_help``: with the options that few people need."""
    from cyclopts import App, Group

    from heedful.cli.options import ShortHelp
    from heedful.cli.terminal import PatientConsole

    app = App(
        name="heedful",
        version=__version__,
        version_flags=["--version"],
        help_format="markdown",
        help_formatter=ShortHelp(whole=whole_help),
        group_arguments=Group("Arguments", sort_key=0),
        group_parameters=Group("Options", sort_key=1),
        console=PatientConsole(),
        suppress_keyboard_interrupt=False,  # main() says what happened
    )
    for name in names:
        command = command_named(name)
        # cyclopts leaves a docstring's examples out of the help; a user looks for them first.
        app.command(command, help_epilogue="\n\n".join(["**Examples**", *examples_of(command)]))
    return app


def overview(*, width: int) -> str:
    """The commands and what each is for, in lines of at most so many characters."""
    indent = 2 + max(map(len, COMMANDS)) + 2
    width = max(width, indent + 20)
    lines = ["Usage: heedful COMMAND", ""]
    about = 'The Transformer of "Attention Is All You Need", from two text files to a trained model.'
    lines += [*textwrap.wrap(about, width), ""]
    for title, group in GROUPS.items():
        lines.append(f"{title}:")
        for name, text in group.items():
            first = f"  {name}".ljust(indent)
            lines += textwrap.wrap(text, width, initial_indent=first, subsequent_indent=" " * indent)
        lines.append("")
    last = "`heedful COMMAND --help` shows what a command takes, with examples; `--help-all` all of it."
    return "\n".join([*lines, *textwrap.wrap(last, width)])


def command_named(name: str) -> Callable[..., None]:
    """The function behind a command, whose module is loaded now."""
    module, function = _MODULES.get(name, name), name.replace("-", "_")
    return getattr(importlib.import_module(f"heedful.cli.{module.replace('-', '_')}"), function)


def examples_of(command: Callable[..., None]) -> list[str]:
    """The examples at the end of a command's help, each on one line."""
    _, _, examples = (command.__doc__ or "").partition("Examples")
    return [f"heedful {' '.join(words.split())}" for words in examples.split("heedful ")[1:]]


def _report_failure(error: BaseException) -> int:
    """Say on standard error what went wrong; returns the exit code."""
    from heedful.cli.terminal import say, say_error

    if isinstance(error, KeyboardInterrupt):
        say("interrupted")
        return INTERRUPTED
    if (
        isinstance(error, OSError) and error.filename is None
    ):  # perhaps standard output: its reader left, its disk is full
        with contextlib.suppress(OSError, ValueError):  # closed for good, or Python would complain once more at the end
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if isinstance(error, BrokenPipeError):  # the reader (`| head`) has all it wanted
        return 0
    message = _users_message(error)
    say_error(_our_message(error) if message is None else message)
    return OUR_MISTAKE if message is None else USERS_MISTAKE


def _users_message(error: BaseException) -> str | None:
    """What the user can do something about; None for what is a mistake of ours."""
    from heedful.files import reason

    if isinstance(error, HeedfulError):
        return str(error)
    if is_out_of_memory(error):
        detail = str(error).partition("\n")[0]
        return (
            f"out of memory{': ' + detail if detail else ''}\n"
            "Give it less at once (a smaller batch, model, beam or text), or a machine with more."
        )
    match error:
        case shutil.Error(args=([(origin, _, why), *_],)):
            return f"{origin} cannot be copied: {why}"
        case shutil.Error():
            return str(error)
        case OSError(filename=None, errno=number):
            return reason(error) if number in _REFUSED else None
        case OSError(filename=name):
            return f"{os.fsdecode(name)}: {reason(error)}"
        case _:
            return None


def _our_message(error: BaseException) -> str:
    """One line that says so, once the details are in a file."""
    import platform
    import tempfile
    import traceback
    from datetime import UTC, datetime

    versions = [f"heedful {__version__}", f"Python {platform.python_version()}"]
    loaded = (sys.modules[name] for name in _PACKAGES if name in sys.modules)
    versions += [f"{module.__name__} {getattr(module, '__version__', '?')}" for module in loaded]
    details = (
        f"time: {datetime.now(UTC).isoformat(timespec='seconds')}\n"
        f"versions: {', '.join(versions)}, on {platform.platform()}\n"
        f"command: {sys.argv!r}\n{''.join(traceback.format_exception(error))}"
    )
    what = f"{type(error).__name__}: {str(error).partition(chr(10))[0][:200]}".rstrip(": ")
    message = f"a mistake of heedful's own ({what})"
    if os.environ.get(_SHOW_TRACEBACK, "0") not in ("", "0"):
        return f"{message}\n{details}"
    try:
        descriptor, path = tempfile.mkstemp(prefix="heedful-", suffix=".txt")
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(details)
    except OSError:
        return f"{message}; {_SHOW_TRACEBACK}=1 shows the details. Please report it"
    return f"{message}; please report it with what is in {path}"
