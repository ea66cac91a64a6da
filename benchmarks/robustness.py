"""Does what must not change come through a translation? 500 lines of it, checked one by one.

    python benchmarks/robustness.py --model en-de-small
    python benchmarks/robustness.py --model run --from de --json > robustness.json

The lines, and what must be in their translations, are those of `robustness_lines.py`. They go the way of `heedful
translate`, with all that it does around a model. A translation is right when every value is in it exactly once, in a
form that its language or the source's has, nothing of its kind is left over, and the rest was translated at all; in
CAPITALS, when it is in capitals and has the words that it must have. What the rest says is not judged.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from typing import Any

from robustness_lines import COUNTS, LANGUAGES, Case, Language, cases

_TAG = re.compile(r"<(/?)(\w+)[^<>]*?(/?)>")
_LEFT_OVER = {
    "a number": re.compile(r"\d"),
    "a sign of money": re.compile("[€£$]"),
    "part of an address": re.compile(r"@|://|www\."),
    "a tag or part of one": re.compile(r"[<>]"),
    "an emoji": re.compile("[\U0001f000-\U0001faff\u2600-\u27bf\ufe0f\u200d\u20e3]"),
    "U+FFFD": re.compile("\ufffd"),
    "a stand-in": re.compile(r"\bX\b"),
}
_MOST_KEPT = 0.6
"""Of the source's words that may be in the translation too: more is no translation."""
_SHORTEST, _LONGEST = 0.4, 2.5
"""Words of a translation to those of its source, give or take two."""


def problem(case: Case, translation: str, *, into: Language) -> str | None:
    """What is wrong with a translation of a case's line; None where nothing is."""
    rest, source = translation, case.line
    for value in case.values:
        pattern = value.pattern(into)
        wanted = sum(value.text == other.text for other in case.values)
        if len(pattern.findall(translation)) != wanted:
            times = len(pattern.findall(translation))
            return (
                f"{' / '.join(dict.fromkeys(value.text))} is there {times} times"
                if times
                else f"{value.text[0]} is lost"
            )
        rest = pattern.sub(" ", rest)
        for text in value.text:
            source = source.replace(text, " ")
    if case.kind == "tags" and (wrong := _tag_problem(case.line, translation)):
        return wrong
    if case.kind == "tags":
        rest, source = _TAG.sub(" ", rest), _TAG.sub(" ", source)
    found = next((name for name, pattern in _LEFT_OVER.items() if pattern.search(rest)), None)
    if found:
        return f"{found} that is not the source's"
    return _words_problem(case, source, rest)


def _words_problem(case: Case, source: str, rest: str) -> str | None:
    """What is wrong with the words between the values."""
    if case.kind == "CAPITALS":
        if rest.replace("ß", "SS") != rest.upper().replace("ẞ", "SS"):
            return "not in capitals"
        missing = [one for one in case.words if not any(word in rest for word in one)]
        if missing:
            return f"no {' or '.join(missing[0])}"
    ours, theirs = (re.findall(r"[^\W\d_]+", text.casefold()) for text in (source, rest))
    if not _SHORTEST * len(ours) - 2 <= len(theirs) <= _LONGEST * len(ours) + 2 or (ours and not theirs):
        return f"{len(theirs)} words for {len(ours)}"
    kept = sum((Counter(ours) & Counter(theirs)).values())
    return "not translated" if len(ours) > 1 and kept > _MOST_KEPT * len(ours) else None


def _tag_problem(line: str, translation: str) -> str | None:
    """Whether tags got lost, were added, cross each other, or are around nothing."""
    if Counter(match[0] for match in _TAG.finditer(line)) != Counter(match[0] for match in _TAG.finditer(translation)):
        return "not the same tags"
    open_: list[tuple[str, int]] = []
    for match in _TAG.finditer(translation):
        if match[3]:
            continue
        if not match[1]:
            open_.append((match[2], match.end()))
        elif not open_ or open_[-1][0] != match[2]:
            return f"{match[0]} closes what is not open"
        elif not _TAG.sub("", translation[open_.pop()[1] : match.start()]).strip():
            return f"nothing in <{match[2]}>"
    return "a tag that is not closed" if open_ else None


def report(checked: list[tuple[Case, str, str | None]]) -> dict[str, Any]:
    """The share that is right, of each kind and of all; and everything that is wrong."""
    right = Counter(case.kind for case, _, wrong in checked if wrong is None)
    return {
        "lines": len(checked),
        "right": right.total() / len(checked),
        "kinds": {kind: {"lines": count, "right": right[kind] / count} for kind, count in COUNTS.items()},
        "wrong": [
            {"kind": case.kind, "source": case.line, "translation": said, "problem": wrong}
            for case, said, wrong in checked
            if wrong is not None
        ],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="en-de-small", help="a run, a bundle, or a model that comes with heedful")
    parser.add_argument(
        "--from", dest="source", choices=LANGUAGES, help="the language of the lines; else the model's own"
    )
    parser.add_argument("--device", default="auto")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    import heedful

    translator = heedful.load(given.model, device=given.device)
    spoken = translator.saved.description.languages
    source = given.source or (spoken.source if spoken else None)
    if source not in LANGUAGES or (spoken and {spoken.source, spoken.target} != {*LANGUAGES}):
        parser.error(f"{given.model} must translate between English and German; say from which with --from")
    into: Language = "de" if source == "en" else "en"
    made = cases(source)
    outputs = translator.translate([case.line for case in made])
    found = report([(case, said, problem(case, said, into=into)) for case, said in zip(made, outputs, strict=True)])
    if given.json:
        print(json.dumps({"model": given.model, "from": source, "to": into, **found}, ensure_ascii=False, indent=1))
        return
    for one in found["wrong"]:
        print(f"{one['kind']}: {one['problem']}\n    {one['source']}\n    {one['translation']}")
    print(f"\n| {given.model}, {source} → {into} | lines | right |\n|---|---:|---:|")
    for kind, row in found["kinds"].items():
        print(f"| {kind} | {row['lines']} | {row['right']:.1%} |")
    print(f"| all | {found['lines']} | {found['right']:.1%} |")


if __name__ == "__main__":
    main()
