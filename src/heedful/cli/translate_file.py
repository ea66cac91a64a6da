"""``heedful translate-file``: documents, with their structure kept."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heedful.cli.long_texts import made_by, resumed_text
from heedful.cli.model_options import EnsembleOptions, SearchChoices
from heedful.cli.options import Overwrite, Quiet
from heedful.cli.terminal import progress, require_place, say
from heedful.documents import FORMATS, Document, read_document
from heedful.errors import TextError
from heedful.files import new_file, reason
from heedful.text.reading import require_readable

if TYPE_CHECKING:
    from heedful.translation.translator import Translator

_BLOCK = 64
"""Units after which what is done is kept."""


def translate_file(
    document: Path,
    /,
    *,
    output: Path | None = None,
    glossary: Path | None = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
    model: EnsembleOptions = EnsembleOptions(),  # noqa: B008
    search: SearchChoices = SearchChoices(),  # noqa: B008
) -> None:
    """Translate a document and keep its structure: .txt, .md, .html, .srt, .po or .docx.

    Markup, links, code, times of subtitles, placeholders and styles stay where they belong. Of a .po file what has no
    translation gets one, marked as fuzzy. What stops it, even a power cut, loses little: the same command goes on.
    All but .txt, .md and .html need `pip install 'heedful[documents]'`.

    Args:
        document: What to translate.
        output: Where to write it; the name ends as that of the document does. When not given, beside the document, with
            the language in its name: letter.de.docx.
        glossary: A text file of terms and their translations, one each a line with a tab between them.

    Examples:
        heedful translate-file brief.docx --to en
        heedful translate-file manual.md --output handbuch.md --model run --glossary terms.tsv
    """
    if document.suffix.lower() not in FORMATS:
        raise TextError(f"{document}: a document ends in {', '.join(FORMATS)}")
    if output and output.suffix.lower() != document.suffix.lower():
        raise TextError(f"--output {output}: must end in {document.suffix}, as {document} does")
    if output:
        require_place(output, overwrite=overwrite)
    asked = search.asked()
    require_readable(document)
    try:
        taken = read_document(document)
    except OSError as error:
        raise TextError(f"{document} cannot be read: {reason(error)}") from None
    translator = model.suiting(taken.units).translator(engine="auto")
    if output is None:
        output = _beside(document, translator)
        require_place(output, overwrite=overwrite)
    from heedful.translation.lines import codes

    options = search.options(translator)
    if glossary is not None:
        from heedful.translation.glossary import read_glossary

        options = dataclasses.replace(options, glossary=read_glossary(glossary).pairs)
    units_sha256 = hashlib.sha256(json.dumps(taken.units).encode()).hexdigest()
    known = {"units": units_sha256, **asked, **dataclasses.asdict(options)}
    known |= made_by(translator, precision=model.precision)
    units = output.with_name(f"{output.name}.units")
    translations = _translations(taken, units, known, lambda some: translator.translate(some, options=options), quiet)
    with new_file(output, error=TextError) as file:
        file.write(taken.in_language(taken.filled(translations), codes(translator.saved.description)))
    for path in (units, units.with_name(f"{units.name}.progress.json")):
        path.unlink(missing_ok=True)
    pieces = f"{len(taken.units):,} pieces of text were" if len(taken.units) != 1 else "1 piece of text was"
    say(f"{output} is written: {pieces} translated", quiet=quiet)


def _beside(document: Path, translator: Translator) -> Path:
    """Where a translation is written when nobody says where."""
    from heedful.runs.lists import languages

    spoken = languages(translator.saved.description)
    if spoken is None:
        raise TextError("this model does not say which language it writes: give --output")
    return document.with_name(f"{document.stem}.{spoken.target}{document.suffix}")


def _translations(taken: Document, place: Path, known: dict[str, Any], translate: Any, quiet: bool) -> list[str]:
    """The translations of all units, each kept as a line of JSON until the document is written."""
    total = len(taken.units)
    with (
        resumed_text(place, known, lines=total) as written,
        progress(unit="pieces", quiet=quiet, speed=True) as report,
    ):
        done = written.lines
        report("translated", done, total)
        while done < total:
            for translation in translate(taken.units[done : done + _BLOCK]):
                written.write(json.dumps(translation))
                done += 1
            written.keep(done)
            report("translated", done, total)
    return [json.loads(line) for line in place.read_text(encoding="utf-8").splitlines()]
