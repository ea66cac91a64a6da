"""Settings: one default each, three places to change it, every mistake named at once."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from heedful.config import SECTIONS, Config, ModelConfig, TrainingConfig, to_toml
from heedful.errors import ConfigError, HeedfulError
from heedful.presets import ALL, BY_NAME, resolve


def test_the_defaults_are_the_papers_base_model() -> None:
    config = Config()
    model, training, search = config.model, config.training, config.search
    assert (model.d_model, model.d_ff, model.num_heads, model.key_size, model.value_size) == (512, 2048, 8, 64, 64)
    assert (model.encoder_layers, model.decoder_layers) == (6, 6)
    assert (model.dropout, model.attention_dropout, model.positions) == (0.1, 0.0, "sinusoidal")
    assert (training.steps, training.warmup_steps, training.label_smoothing) == (100_000, 4000, 0.1)
    assert (training.adam_beta1, training.adam_beta2, training.adam_epsilon) == (0.9, 0.98, 1e-9)
    assert (training.source_tokens, training.target_tokens) == (25_000, 25_000)
    assert (training.average_last, training.checkpoint_minutes, training.learning_rate_scale) == (5, 10.0, 1.0)
    assert (search.beam_size, search.length_penalty, search.max_extra_length) == (4, 0.6, 50)
    assert config.data.vocab_size == 37_000
    assert resolve() == config


def test_the_big_model_is_the_papers() -> None:
    big, french = BY_NAME["big"].make(), BY_NAME["big-en-fr"].make()
    assert (big.model.d_model, big.model.d_ff, big.model.num_heads, big.model.key_size) == (1024, 4096, 16, 64)
    assert (big.model.dropout, big.training.steps, big.training.average_last) == (0.3, 300_000, 20)
    assert (french.model.dropout, french.data.vocab_size) == (0.1, 32_000)
    assert dataclasses.replace(french.model, dropout=0.3) == big.model


def test_table_3_rows_change_what_the_table_changes() -> None:
    rows = {name.removeprefix("table3-"): preset.make() for name, preset in BY_NAME.items() if "table3" in name}
    sizes = {name: (c.model.num_heads, c.model.key_size, c.model.value_size) for name, c in rows.items()}
    assert [sizes[f"a-h{h}"] for h in (1, 4, 16, 32)] == [(1, 512, 512), (4, 128, 128), (16, 32, 32), (32, 16, 16)]
    assert [sizes[f"b-dk{k}"] for k in (16, 32)] == [(8, 16, 64), (8, 32, 64)]
    assert [sizes[name] for name in ("c-d256", "c-d1024")] == [(8, 32, 32), (8, 128, 128)]
    assert [rows[f"c-n{n}"].model.encoder_layers for n in (2, 4, 8)] == [2, 4, 8]
    assert [rows[f"c-n{n}"].model.decoder_layers for n in (2, 4, 8)] == [2, 4, 8]
    assert [rows[f"c-ff{n}"].model.d_ff for n in (1024, 4096)] == [1024, 4096]
    assert [rows[f"d-drop{p}"].model.dropout for p in ("0", "0.2")] == [0.0, 0.2]
    assert [rows[f"d-smooth{p}"].training.label_smoothing for p in ("0", "0.2")] == [0.0, 0.2]
    assert rows["e-learned"].model.positions == "learned"
    assert all(config.training.average_last == 1 for config in rows.values())
    assert len(rows) == 18


def test_the_parser_is_that_of_section_6_3() -> None:
    parser = BY_NAME["parser"].make()
    assert (parser.model.encoder_layers, parser.model.decoder_layers, parser.model.d_model) == (4, 4, 1024)
    assert (parser.search.beam_size, parser.search.length_penalty, parser.search.max_extra_length) == (21, 0.3, 300)
    assert [BY_NAME[name].make().data.vocab_size for name in ("parser", "parser-semi")] == [16_000, 32_000]


def test_preset_then_file_then_set(tmp_path: Path) -> None:
    file = tmp_path / "run.toml"
    file.write_text('preset = "big"\n[model]\ndropout = 0.25\nnum_heads = 8\n[training]\nsteps = 7\n')
    config = resolve(file=file, settings=["model.num_heads=4", "training.learning_rate_scale=2"])
    assert (config.model.d_model, config.model.dropout, config.model.num_heads) == (1024, 0.25, 4)
    assert (config.training.steps, config.training.learning_rate_scale) == (7, 2.0)
    assert resolve(name="tiny", file=file).model.d_model == 64


@pytest.mark.parametrize("preset", ALL, ids=lambda preset: preset.name)
def test_toml_reads_back_as_the_same_configuration(preset: object, tmp_path: Path) -> None:
    config = preset.make()  # pyright: ignore
    file = tmp_path / "config.toml"
    file.write_text(to_toml(config))
    assert resolve(file=file) == config


def test_every_setting_has_help() -> None:
    for section in SECTIONS.values():
        for item in dataclasses.fields(section):
            assert len(item.metadata["rule"].help) > 5


def test_all_problems_are_reported_together_with_value_limits_and_place(tmp_path: Path) -> None:
    file = tmp_path / "run.toml"
    file.write_text('[model]\nd_model = 512\n\ndropuot = 0.1\npositions = "rotary"\n[training]\nsteps = 1.5\n')
    with pytest.raises(ConfigError) as caught:
        resolve(file=file, settings=["model.dropout=1.5", "trianing.steps=3", "data", "training.warmup_steps=0"])
    assert list(caught.value.problems) == [
        "--set data: must look like --set model.d_model=512",
        f"model.dropuot = 0.1 ({file}:4): no setting of that name in model (did you mean dropout?)",
        f'model.positions = "rotary" ({file}:5): must be one of "sinusoidal", "learned"',
        f"training.steps = 1.5 ({file}:7): must be a whole number at least 1 and at most 1,000,000,000,000",
        "model.dropout = 1.5 (--set model.dropout=1.5): must be a number at least 0 and below 1",
        "trianing.steps = 3 (--set trianing.steps=3): no section of that name (did you mean training?); "
        "there are model, training, search, data",
        "training.warmup_steps = 0 (--set training.warmup_steps=0): must be a whole number at least 1 "
        "and at most 1,000,000,000,000",
    ]
    assert str(caught.value).startswith("7 problems in the configuration:\n")


def test_relations_between_settings_name_where_each_was_given(tmp_path: Path) -> None:
    file = tmp_path / "run.toml"
    file.write_text("[model]\nd_model = 511\n")
    with pytest.raises(ConfigError) as caught:
        resolve(file=file, settings=["model.num_heads=6"])
    heads, odd = caught.value.problems
    assert "d_model = 511 cannot be divided into model.num_heads = 6 equal heads" in heads
    assert f"({file}:2, --set model.num_heads=6)" in heads
    assert "511 is odd" in odd


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ModelConfig(dropout=1.5), "model.dropout = 1.5: must be a number at least 0 and below 1"),
        (lambda: ModelConfig(dropout=float("nan")), "model.dropout = nan"),
        (lambda: ModelConfig(d_model=511), "cannot be divided"),
        (lambda: ModelConfig(d_model=True), "model.d_model = true: must be a whole number"),
        (lambda: ModelConfig(positions="rope"), 'must be one of "sinusoidal", "learned"'),
        (lambda: TrainingConfig(label_smoothing=1), "training.label_smoothing = 1"),
    ],
)
def test_a_configuration_that_exists_is_valid(make: object, message: str) -> None:
    with pytest.raises(HeedfulError, match=message.replace("(", r"\(")):
        make()  # pyright: ignore


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "there is no file"),
        (b"[model\n", "is not TOML"),
        (b"\xff\xfe", "is not UTF-8"),
        (b"preset = 3\n", "must be the name of a preset"),
        (b'preset = "bigg"\n', "no preset called bigg (did you mean big?)"),
        (b"d_model = 3\n", "no section of that name"),
        (b"[training]\nsteps = " + b"9" * 5000, "is not TOML"),
        (b"[training]\nsteps = 0x" + b"f" * 5000, "steps = a very large int"),
        (b"x = " + b"[" * 100_000, "is not TOML: it is nested too deeply"),
        (b"#" * (1 << 20) + b"\n", "it is larger than 1,048,576 bytes"),
    ],
)
def test_bad_files_are_named(content: bytes | None, message: str, tmp_path: Path) -> None:
    file = tmp_path / "run.toml"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        resolve(file=file)
    assert message in str(caught.value)


def test_every_number_has_both_bounds_and_its_default_lies_between() -> None:
    for section in SECTIONS.values():
        for item in dataclasses.fields(section):
            rule = item.metadata["rule"]
            if type(item.default) in (int, float):
                assert rule.at_least is not None or rule.above is not None, item.name
                assert rule.at_most is not None or rule.below is not None, item.name
                assert rule.allows(item.default), item.name


@pytest.mark.parametrize(
    "setting",
    [
        *("training.learning_rate_scale=inf", "training.minutes=inf", "training.minutes=nan", "data.max_ratio=inf"),
        *("training.seed=-1", f"training.seed={2**64}", f"training.source_tokens={10**30}"),
        *("training.micro_batches=1000000000", "data.vocab_size=2000000000", "data.vocab_size=0"),
        *("model.d_model=" + "9" * 5000, "model.d_model=" + "[" * 100_000, "model.d_model=0x" + "f" * 5000),
    ],
    ids=lambda setting: setting[:40],
)
def test_what_lies_beyond_the_bounds_is_refused_with_what_is_allowed(setting: str) -> None:
    with pytest.raises(ConfigError, match=r"must be a (whole )?number"):
        resolve(settings=[setting])


def test_devices_are_no_settings() -> None:
    with pytest.raises(ConfigError, match="/dev/zero cannot be read: it is a device or a pipe"):
        resolve(file=Path("/dev/zero"))
