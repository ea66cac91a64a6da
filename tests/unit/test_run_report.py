"""The page of a run, of whatever its folder holds: all of it, or what is left."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.attention_toys import HOSTILE
from tests.pages import Page
from tests.report_toys import toy_scores
from tests.trained_toys import train_toy

from heedful.errors import CheckpointError
from heedful.prepare.pipeline import prepare
from heedful.prepare.request import Request
from heedful.report.curves import metric_charts
from heedful.report.pages import differing, page_file
from heedful.report.run_page import headline, run_page, run_sections
from heedful.runs.record import run_record, validation_text
from heedful.text.pairs import tsv

SETTINGS = ("training.validation_steps=10", "training.samples=2", "training.log_steps=5", "training.best_by=bleu")
TITLES = ["The run", "Translations", "Training", "Scores", "Data", "Learning-rate schedule", "Positional encodings",
          "Configuration", "Versions and hardware", "To repeat it"]  # fmt: skip


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train_toy(tmp_path_factory.mktemp("toy"), steps=20, settings=SETTINGS)


@pytest.fixture
def run(trained: Path, tmp_path: Path) -> Path:
    """A run of one's own, to break. Its corpus is everybody's."""
    return shutil.copytree(trained, tmp_path / "run")


def page_of(run: Path, **options: Any) -> Page:
    return Page(run_page(f"Run {run.name}", run_sections(run_record(run), **options)))


def change(path: Path, **fields: Any) -> None:
    """Give a JSON file other fields; None takes one away."""
    stored = json.loads(path.read_text()) | fields
    path.write_text(json.dumps({key: value for key, value in stored.items() if value is not None}))


def test_a_whole_run_has_every_section(run: Path) -> None:
    sentences = ["a b c", "d e", "f g h i"]
    scores = toy_scores(sentences, ["a b c", "d x", "y z"], sentences)
    record = run_record(run)
    assert record.problems == ()
    sections = run_sections(record, scores)
    assert [section.title for section in sections] == TITLES
    page = Page(run_page("Run", sections))
    links = [attributes["href"] for tag, attributes in page.elements if tag == "a"]
    ids = [attributes["id"] for tag, attributes in page.elements if tag == "h2"]
    assert links == [f"#{anchor}" for anchor in ids]
    assert record.corpus is not None
    pairs = len(set((record.corpus.folder.parent / "train.source").read_text().splitlines()))  # the others are copies
    for expected in ("finished: all 20 steps are done", f"{pairs} pairs", "Python", "heedful train", "preset: 64"):
        assert expected in page.text
    for score in scores.report.scores:
        assert score.signature in page.text
        assert f"{score.value:.2f}" in page.text
    assert "7.50 a subword, of the references" in page.text
    assert "No attention is shown: it is too long" in page.text


def test_the_page_asks_nobody_for_anything(run: Path) -> None:
    sections = run_sections(run_record(run))
    text = run_page("Run", sections)
    page = Page(text)
    for tag, attributes in page.elements:
        assert tag not in {"link", "iframe", "img", "object", "base", "form"}
        assert not {"src", "action"} & attributes.keys()
        assert not [name for name in attributes if name.startswith("on")]
        assert (attributes.get("href") or "#").startswith(("#", "data:image/png;base64,"))
    assert not re.search(r"https?://|@import|url\((?!#)|fetch\(|XMLHttpRequest|innerHTML|eval\(", text)
    policy = next(attributes for _, attributes in page.elements if "http-equiv" in attributes)["content"] or ""
    assert policy.startswith("default-src 'none'")


def test_hostile_text_stays_text(run: Path) -> None:
    line = json.loads((run / "metrics.jsonl").read_text().splitlines()[-1])
    evil = "".join(HOSTILE) + "\ud800\x00"
    line |= {"kind": "validation", "step": 21, "samples": [dict.fromkeys(("source", "reference", "output"), evil)]}
    with (run / "metrics.jsonl").open("a") as file:
        file.write(json.dumps(line) + "\n")
    change(run / "run.json", started=evil, init=evil)
    change(run / "status.json", why=evil)
    scores = toy_scores(HOSTILE[:3], HOSTILE[3:6], HOSTILE[6:9])
    sections = run_sections(run_record(run), scores)
    text = run_page(f"{evil}{{{{style}}}}", sections)
    text.encode("utf-8")
    page = Page(text)
    scripts = [one for one in page.texts["script"] if not one.startswith("{")]
    assert [one.strip() for one in scripts] == [page_file("report.js").strip()]
    assert len(page.texts["style"]) == 1
    assert all(json.loads(one) for one in page.texts["script"] if one.startswith("{"))
    assert '</script><script>alert("1")</script>' in page.text
    assert "{{style}}" in page.texts["title"][0]
    assert {tag for tag, _ in page.elements} <= KNOWN


KNOWN = {
    *("html", "head", "meta", "title", "style", "body", "header", "nav", "main", "section", "article", "footer"),
    *("h1", "h2", "h3", "p", "a", "b", "i", "bdi", "span", "div", "mark", "wbr", "pre", "code", "dl", "dt", "dd"),
    *(
        "small",
        "details",
        "summary",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "figure",
        "figcaption",
        "output",
        "script",
    ),
    *("svg", "g", "text", "path", "rect", "image", "defs", "use", "clippath"),
}


def test_a_damaged_line_of_metrics_is_named_and_the_rest_drawn(run: Path) -> None:
    lines = (run / "metrics.jsonl").read_text().splitlines()
    (run / "metrics.jsonl").write_text("\n".join([lines[0], "{nonsense", *lines[1:], '{"kind": "tr']))
    page = page_of(run)
    assert "metrics.jsonl, line 2: not JSON" in page.text
    assert "perplexity a subword" in page.text


def test_an_empty_translation_is_said_to_be_one(run: Path) -> None:
    scores = toy_scores(["a b", "c d", "e f"], ["", "c d", "e"], ["a b", "c d", "e f"])
    page = Page(run_page("Run", run_sections(run_record(run), scores)))
    assert page.text.count("(nothing)") == 1


@pytest.mark.parametrize("content", [None, ""])
def test_a_run_that_has_just_begun_has_a_page(run: Path, content: str | None) -> None:
    (run / "metrics.jsonl").unlink()
    if content is not None:
        (run / "metrics.jsonl").write_text(content)
    (run / "status.json").unlink()
    page = page_of(run, why_not="there is no checkpoint yet")
    assert "Nothing has been measured yet" in page.text
    assert "No text was translated: there is no checkpoint yet" in page.text
    assert ("has no metrics.jsonl yet" in page.text) == (content is None)


def test_a_corpus_that_is_gone_or_another_one_is_not_described(run: Path, tmp_path: Path) -> None:
    stored = json.loads((run / "run.json").read_text())["data"]
    change(run / "run.json", data={**stored, "folder": str(tmp_path / "gone")})
    assert "there is no folder gone" in page_of(run).text
    change(run / "run.json", data={**stored, "manifest_sha256": "0"})
    page = page_of(run)
    assert "now holds another corpus" in page.text
    assert "Some training pairs" not in page.text
    change(run / "run.json", data=None)
    assert "run.json does not say which corpus it was" in page_of(run).text


def test_a_cleaning_report_that_was_changed_is_not_believed(run: Path, tmp_path: Path) -> None:
    stored = json.loads((run / "run.json").read_text())["data"]
    corpus = shutil.copytree(stored["folder"], tmp_path / "corpus")
    change(run / "run.json", data={**stored, "folder": str(corpus)})
    assert "What cleaning removed" in page_of(run).text
    size = len((corpus / "report.json").read_bytes())
    (corpus / "report.json").write_text('{"rules": [1]}'.ljust(size))
    page = page_of(run)
    assert "What cleaning removed" not in page.text
    assert "report.json, cannot be read" in page.text
    assert "Some training pairs" in page.text


def test_the_page_shows_the_versions_that_prepare_added(run: Path, tmp_path: Path) -> None:
    assert "Versions that were added" not in page_of(run).text
    rows = (f"This is house number {number}.\tDas ist Haus Nummer {number}.\n" for number in range(40))
    (tmp_path / "pairs.tsv").write_text("".join(rows))
    prepare(Request((tsv(tmp_path / "pairs.tsv"),), augment={"upper": 1.0}), output=tmp_path / "corpus")
    sha256 = hashlib.sha256((tmp_path / "corpus" / "manifest.json").read_bytes()).hexdigest()
    change(run / "run.json", data={"folder": str(tmp_path / "corpus"), "manifest_sha256": sha256})
    assert re.search(r"upper\s*1\s*40\s*both sides in capitals\s*THIS IS HOUSE NUMBER", page_of(run).text)


def test_a_run_of_before_versions_were_recorded_says_what_its_checkpoints_know(run: Path) -> None:
    change(run / "run.json", environment=None, command=None)
    page = page_of(run)
    assert "not recorded" in page.text
    assert "CPU, 1 thread" in page.text
    assert "As it was typed" not in page.text
    shutil.rmtree(run / "checkpoints")
    assert "CPU, 1 thread" not in page_of(run).text


def test_what_was_typed_is_shown(run: Path) -> None:
    change(run / "run.json", command={"words": ["heedful", "train", "my corpus"], "folder": "/somewhere"})
    assert "As it was typed:heedful train 'my corpus'" in page_of(run).text


def test_a_page_names_no_folder_of_the_machine_that_trained(run: Path) -> None:
    words = ["heedful", "train", f"{run.parent}/corpus", "--output", str(run)]
    change(run / "run.json", command={"words": words, "folder": str(run.parent)}, init=f"{run.parent}/earlier/run")
    (run / "metrics.jsonl").write_text("nonsense\n")  # a problem that names its file
    record = run_record(run)
    assert record.corpus is not None
    text = run_page("Run", run_sections(record, why_not=f"{run}/checkpoints is empty"))
    assert "metrics.jsonl, line 1" in text
    assert "heedful train corpus" in text.replace("&#34;", "")
    for folder in (run.parent, record.corpus.folder.parent):
        assert str(folder) not in text
        assert str(folder) not in Page(text).text  # where a line may be broken inside a name


def test_the_first_screen_says_how_good_how_long_on_what_and_how_large(run: Path) -> None:
    sentences = ["a b c", "d e", "f g h i"]
    record = run_record(run)
    scores = toy_scores(sentences, ["a b c", "d x", "y z"], sentences)
    told = {question: (answer, about) for question, answer, about in headline(record, scores)}
    bleu = scores.report.scores[0]
    assert told["how good"][0] == f"{bleu.value:.1f} BLEU"
    assert bleu.interval is not None
    assert told["how good"][1].startswith(f"95 %: {bleu.interval.low:.1f} – {bleu.interval.high:.1f}; 3 sentences")
    assert told["how long"][1] == "20 of 20 steps; finished: all 20 steps are done"
    assert told["on what text"][0].endswith(" pairs")
    millions = record.description.parameters / 1e6
    assert told["how large"] == (f"{millions:.1f} million parameters", "1 + 2 layers of 32, on CPU, 1 thread")
    assert headline(record, None)[0][1].endswith(" BLEU")  # what the run was watched by


def test_a_page_begins_with_a_sentence_and_marks_what_differs(run: Path) -> None:
    scores = toy_scores(["a b c", "d e", "f g h i"], ["a b c", "d x", "y z"], ["a b c", "d e", "f g h i"])
    text = run_page("Run", run_sections(run_record(run), scores))
    first = text[text.index('class="numbers"') : text.index('id="translations"')]
    assert first.count('class="links"') == 2  # the picture, and its place
    assert "d <mark>x</mark>" in first
    assert "d <mark>e</mark>" in first
    assert '<details><summary><h2 id="configuration">' in text


@pytest.mark.parametrize(
    ("text", "other", "parts"),
    [
        ("a red house", "a green house!", [("a ", False), ("red", True), (" house", False)]),
        ("a house !", "a house", [("a house", False), (" ", False), ("!", True)]),
        ("same", "same", [("same", False)]),
        ("", "a", []),
        ("a b", "", [("a b", True)]),
        ("我们好", "我好", [("我", False), ("们", True), ("好", False)]),
        ("10\u202f000 €", "10\u202f000 €", [("10\u202f000 €", False)]),
    ],
)
def test_what_differs_is_told_word_by_word(text: str, other: str, parts: list[tuple[str, bool]]) -> None:
    assert differing(text, other) == parts


def test_the_size_of_the_vocabulary_is_that_of_the_vocabulary(run: Path) -> None:
    record = run_record(run)
    assert record.config.data.vocab_size != record.description.vocab_size
    (section,) = [one for one in run_sections(record) if one.title == "Configuration"]
    row = section.content[section.content.index("<code>vocab_size</code>") :][:80]
    assert f"<td>{record.description.vocab_size:,}</td>" in row


def test_a_folder_that_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"is not a run: no run\.json"):
        run_record(tmp_path)


def test_the_charts_hold_what_was_measured(run: Path) -> None:
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    charts = {chart.title: chart for chart in metric_charts(run_record(run).metrics)}
    for title, kind, key in (
        ("Loss", "train", "loss"),
        ("Loss", "validation", "smoothed_loss"),
        ("Perplexity", "validation", "perplexity"),
        ("BLEU", "validation", "bleu"),
        ("Learning rate", "train", "learning_rate"),
        ("Gradient norm", "train", "gradient_norm"),
    ):
        (series,) = [one for one in charts[title].series if one.kind == kind]
        assert list(series.points) == [(line["step"], line[key]) for line in lines if line["kind"] == kind]
    speeds = [line["wall"]["tokens_per_second"] for line in lines if line["kind"] == "train"]
    assert [value for _, value in charts["Speed"].series[0].points] == speeds
    best = min((line["smoothed_loss"], line["step"]) for line in lines if line["kind"] == "validation")
    (mark,) = [one for one in charts["Loss"].series if one.kind == "mark"]
    assert mark.points == [(best[1], best[0])]


def test_the_validation_text_is_the_text_that_was_prepared(run: Path) -> None:
    text = validation_text(run_record(run))
    corpus = Path(json.loads((run / "run.json").read_text())["data"]["folder"])
    assert list(text.sources or []) == (corpus.parent / "valid.source").read_text().splitlines()
    assert list(text.references) == (corpus.parent / "valid.target").read_text().splitlines()


def test_the_settings_that_differ_from_the_preset_are_marked_and_no_others(run: Path) -> None:
    (section,) = [one for one in run_sections(run_record(run)) if one.title == "Configuration"]
    marked = re.findall(r"<tr><td><code>(\w+)</code></td><td><mark>", section.content)
    # Everything that the toy was given and that the preset tiny has otherwise.
    assert marked == [
        *("d_model", "d_ff", "num_heads", "encoder_layers", "steps", "source_tokens", "target_tokens"),
        *("warmup_steps", "checkpoint_steps", "average_last", "validation_steps", "best_by", "samples", "log_steps"),
    ]


def test_learned_positions_are_shown_where_the_model_was_loaded(run: Path) -> None:
    config = json.loads((run / "run.json").read_text())["config"]
    config["model"]["positions"] = "learned"
    change(run / "run.json", config=config)
    assert "They are not shown, since the model was not loaded" in page_of(run).text


def test_the_code_of_the_documentation_adds_a_section(run: Path, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (root / "docs" / "report.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    monkeypatch.chdir(run.parent)
    exec(compile(code, "report.md", "exec"), {})
    page = Page((run.parent / "page.html").read_text(encoding="utf-8"))
    assert "The error rate is 12 %." in page.text
    # The table names every section that there is, in its order.
    assert re.findall(r"^\| ([A-Z][^|]+) \|", text, flags=re.MULTILINE) == TITLES
