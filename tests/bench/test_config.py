"""A wrong config is answered with file, line, column, key and what to write instead."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest
from ruamel.yaml.comments import CommentedMap

from tokbench.bench.config.schema import Config, load_config
from tokbench.bench.config.yaml_file import ConfigFile
from tokbench.bench.errors import ConfigError

GOOD = """\
name: mine
corpora:
  prose:
    source: files
    language: en
    path: prose.txt
tokenizers:
  bytes: {type: utf8_bytes}
"""

BILLIONS = GOOD + "x0: &x0 [1, 2, 3, 4, 5, 6, 7, 8, 9]\n"
BILLIONS += "".join(f"x{n}: &x{n} [{', '.join([f'*x{n - 1}'] * 9)}]\n" for n in range(1, 12))

Load = Callable[..., Config]
Fails = Callable[..., list[str]]


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Load:
    """Load a config given as text, from a file called `c.yaml` in the current folder."""
    monkeypatch.chdir(tmp_path)

    def load_text(text: str | bytes = GOOD, *overrides: str) -> Config:
        data = text if isinstance(text, bytes) else dedent(text).encode()
        Path("c.yaml").write_bytes(data)
        return load_config("c.yaml", overrides=overrides)

    return load_text


@pytest.fixture
def fails(load: Load) -> Fails:
    """Return the lines of the error that a config gives."""

    def lines(text: str | bytes = GOOD, *overrides: str) -> list[str]:
        with pytest.raises(ConfigError) as caught:
            load(text, *overrides)
        return str(caught.value).split("\n")

    return lines


def test_a_good_config_names_its_parts(load: Load, tmp_path: Path) -> None:
    config = load()
    assert config.run.name == "mine"
    assert list(config.tokenizers) == ["bytes"]
    assert config.folder == tmp_path
    assert config.path == "c.yaml"


def test_without_suites_the_exact_ones_are_taken(load: Load) -> None:
    assert set(load().suites) == {"efficiency", "multilingual", "information", "fidelity"}


def test_suites_may_be_a_list_or_a_map(load: Load) -> None:
    as_list = load(GOOD + "suites: [efficiency, throughput]\n")
    as_map = load(GOOD + "suites: {efficiency: , throughput: {}}\n")
    assert as_list.suites == as_map.suites
    assert as_list.sha256() == as_map.sha256()


def test_layout_comments_and_order_of_keys_do_not_change_the_hash(load: Load) -> None:
    other = """\
    # the same
    tokenizers:
        bytes:
            type: utf8_bytes
    corpora: {prose: {path: prose.txt, language: "en", source: files}}
    name: mine
    """
    assert load(other).sha256() == load().sha256()


# where an error is


def test_an_unknown_key_is_located_and_the_closest_one_is_suggested(fails: Fails) -> None:
    assert fails(GOOD + "sede: 3\n") == ["c.yaml:9:1: sede: unknown key; did you mean 'seed'?"]


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (
            GOOD.replace("    path:", "    unti: line\n    path:"),
            "c.yaml:6:5: corpora.prose.unti: unknown key; did you mean 'unit'?",
        ),
        (
            GOOD.replace("    path:", "    limit: {rwos: 5}\n    path:"),
            "c.yaml:6:13: corpora.prose.limit.rwos: unknown key; did you mean 'rows'?",
        ),
        (
            GOOD.replace("utf8_bytes", "utf_bytes"),
            "c.yaml:8:17: tokenizers.bytes.type: unknown name 'utf_bytes'; did you mean "
            "'utf8_bytes'?",
        ),
        (
            GOOD.replace("{type: utf8_bytes}", "{type: tiktoken, encodign: gpt2}"),
            "c.yaml:8:27: tokenizers.bytes.encodign: unknown key; did you mean 'encoding'?",
        ),
        (
            GOOD.replace("source: files", "source: fils"),
            "c.yaml:4:13: corpora.prose.source: unknown 'fils'; did you mean 'files'?",
        ),
        (
            GOOD.replace("    source: files\n", ""),
            "c.yaml:3:3: corpora.prose: needs `source: huggingface|files|builtin`",
        ),
        (
            GOOD + "suites:\n  efficency: {}\n",
            "c.yaml:10:3: suites.efficency: unknown name 'efficency'; did you mean 'efficiency'?",
        ),
        (
            GOOD + "suites: {throughput: {round: 3}}\n",
            "c.yaml:9:23: suites.throughput.round: unknown key; did you mean 'rounds'?",
        ),
        (
            GOOD + "reports: [markdown, markdwon]\n",
            "c.yaml:9:21: reports.markdwon: unknown name 'markdwon'; did you mean 'markdown'?",
        ),
        (
            GOOD + "  own: {train: {trainer: spm_bpe, corpus: prosa, vocab_size: 500}}\n",
            "c.yaml:9:43: tokenizers.own.train.corpus: unknown corpus 'prosa'; "
            "did you mean 'prose'?",
        ),
        (
            GOOD + "  own: {train: {trainer: spm_bpee, corpus: prose}}\n",
            "c.yaml:9:26: tokenizers.own.train.trainer: unknown name 'spm_bpee'; "
            "did you mean 'spm_bpe'?",
        ),
    ],
)
def test_a_misspelt_name_is_located_and_the_closest_one_is_suggested(
    fails: Fails, wrong: str, told: str
) -> None:
    assert fails(wrong)[0] == told


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ("seed: twelve", "c.yaml:9:7: seed: must be a whole number, not"),
        ("resamples: 10", "c.yaml:9:12: resamples: must be at least 200, not 10"),
        ("lost_limit: 2", "c.yaml:9:13: lost_limit: "),
        ("lost_limit: .nan", "c.yaml:9:13: lost_limit: "),
        ("keep_ids: perhaps", "c.yaml:9:11: keep_ids: must be true or false"),
        ("reports: markdown", "c.yaml:9:10: reports: write a list: [markdown]"),
        ("description: 2024-01-01", "c.yaml:9:14: description: must be text"),
        ("suites: efficiency", "c.yaml:9:9: suites: write a list: [efficiency]"),
        ("suites: {efficiency: 3}", "c.yaml:9:22: suites.efficiency: must be a mapping"),
        ("special_tokens: match", "c.yaml:9:1: special_tokens: "),
    ],
)
def test_a_wrong_type_or_value_is_located(fails: Fails, wrong: str, told: str) -> None:
    [line] = fails(GOOD + wrong + "\n")
    assert line.startswith(told)


@pytest.mark.parametrize("part", ["corpora", "tokenizers"])
@pytest.mark.parametrize("value", ["", "[]", "{}", "5", "text", "[a, b]"])
def test_a_part_that_is_no_mapping_with_entries_is_located(
    fails: Fails, part: str, value: str
) -> None:
    lines = GOOD.replace("corpora:", "_corpora:").replace("tokenizers:", "_tokenizers:")
    other = {"corpora": "tokenizers", "tokenizers": "corpora"}[part]
    text = lines.replace(f"_{other}:", f"{other}:") + f"{part}: {value}\n"
    column = len(part) + 3 if value else 1
    names = value == "[a, b]" and part == "tokenizers"  # which a list may hold
    told = f"c.yaml:9:14: {part}.0: " if names else f"c.yaml:9:{column}: {part}: "
    assert any(line.startswith(told) for line in fails(text))


@pytest.mark.parametrize("entry", ["", "5", "[type, utf8_bytes]", "{}", "{type: [a]}", "{type: 5}"])
def test_a_tokenizer_that_is_no_entry_is_located(fails: Fails, entry: str) -> None:
    [line] = fails(GOOD.replace("{type: utf8_bytes}", entry))
    column = 10 if entry[:1] in ("5", "[") else 3
    assert line.startswith(f"c.yaml:8:{column}: tokenizers.bytes: ")


def test_a_train_block_stands_alone_and_needs_a_trainer(fails: Fails) -> None:
    alone = "c.yaml:9:3: tokenizers.own: an entry with `train:` cannot have other keys"
    assert fails(GOOD + "  own: {train: {}, type: utf8_bytes}\n") == [alone]
    assert fails(GOOD + "  own: {train: 5}\n") == [alone]
    trainer, corpus = fails(GOOD + "  own: {train: {vocab_size: 500}}\n")
    assert trainer == "c.yaml:9:9: tokenizers.own.train.trainer: is missing"
    assert corpus == "c.yaml:9:9: tokenizers.own.train.corpus: is missing"


def test_languages_of_a_train_block_must_be_in_its_corpus(fails: Fails) -> None:
    [line] = fails(
        GOOD
        + "  own: {train: {trainer: spm_bpe, vocab_size: 500, corpus: prose, languages: [de]}}\n"
    )
    assert line.startswith("c.yaml:9:")
    assert "corpus prose has no language 'de'" in line


def test_a_missing_key_is_named(fails: Fails) -> None:
    assert fails(GOOD.replace("name: mine\n", "")) == ["c.yaml:1:1: name: is missing"]


@pytest.mark.parametrize("name", ["a/b", "../up", "-x", "a b", "ä", "x" * 81, ".hidden", "''"])
def test_a_name_that_cannot_be_a_file_name_is_refused(fails: Fails, name: str) -> None:
    [line] = fails(GOOD.replace("bytes:", f"{name}:"))
    assert line.startswith("c.yaml:8:3: tokenizers.")
    [line] = fails(GOOD.replace("mine", name))
    assert line.startswith("c.yaml:1:7: name: ")


def test_many_mistakes_are_told_together(fails: Fails) -> None:
    wrong = GOOD.replace("utf8_bytes", "utf_bytes").replace("    path:", "    uint: 1\n    path:")
    lines = fails(
        wrong + "  words: {type: characters, x: 1}\nsede: 1\nsuites: [efficency]\nreports: [pdf]\n"
    )
    assert [line.split(": ")[1] for line in lines] == [
        "corpora.prose.uint",
        "tokenizers.bytes.type",
        "tokenizers.words.x",
        "sede",
        "suites.efficency",
        "reports.pdf",
    ]


@pytest.mark.parametrize(
    ("key", "now"),
    [("most", "max_processes"), ("width", "max_interval"), ("pairs", "process_pairs")],
)
def test_a_key_that_was_renamed_is_refused_with_its_new_name(
    fails: Fails, key: str, now: str
) -> None:
    [line] = fails(GOOD + f"gate: {{speed: {{{key}: 9}}}}\n")
    assert line.endswith(f"gate.speed.{key}: is now called `{now}`")


def test_a_report_takes_options_and_without_required_ones_it_is_refused(
    load: Load, fails: Fails
) -> None:
    cost = "{currency: EUR, models: {mine: {tokenizer: bytes, input_per_million: 2}}}"
    config = load(GOOD + f"reports: {{markdown: , cost: {cost}}}\n")
    assert config.run.reports["cost"]["currency"] == "EUR"
    assert config.run.reports["markdown"] == {}
    lines = fails(GOOD + "reports: [markdown, cost]\n")
    assert [line.split(": ", 1)[1] for line in lines] == [
        "reports.cost.currency: is missing",
        "reports.cost.models: is missing",
    ]


# what YAML is


def test_c7_yaml_1_2_reads_no_on_y_and_off_as_text(load: Load) -> None:
    config = load(
        """\
        name: no
        corpora:
          on: {source: files, languages: [en, no, de], path: "{language}.txt"}
        tokenizers:
          off: {type: utf8_bytes}
          y: {type: characters}
        """
    )
    assert config.run.name == "no"
    assert list(config.run.corpora["on"].options()) == ["en", "no", "de"]
    assert list(config.tokenizers) == ["off", "y"]


@pytest.mark.parametrize("value", ["0123456", "1.10", "12", "true", "null", "2024-01-01", "0x1F"])
def test_c7_what_should_be_text_but_is_not_is_refused_with_the_advice_to_quote(
    fails: Fails, load: Load, value: str
) -> None:
    entry = "corpora: {c: {source: huggingface, path: p, language: en, revision: %s}}\n"
    rest = "name: n\ntokenizers: {t: {type: utf8_bytes}}\n"
    if value != "null":  # null is how YAML leaves an option at its default
        [line] = fails(entry % value + rest)
        assert line.startswith("c.yaml:1:69: corpora.c.revision: this must be text")
        assert line.endswith(f'write it in quotes: "{value}"')
    quoted = load(entry % f"'{value}'" + rest)
    assert quoted.run.corpora["c"].revision == value  # type: ignore[union-attr]


def test_c7_the_cases_file_as_part_of_a_config(
    load: Load, fails: Fails, cases_folder: Path
) -> None:
    values = (cases_folder / "languages.yaml").read_text(encoding="utf-8").splitlines()
    languages, revision, version, baseline = [line for line in values if line[0] != "#"]
    entry = (
        "name: n\ntokenizers: {t: {type: utf8_bytes}}\ncorpora:\n  c:\n    source: huggingface\n"
    )
    entry += "    path: p\n    config: '{language}'\n"
    # `on` and `y` are no languages, which is said of the text and never of True
    on, y = fails(f"{entry}    {languages}\n")
    assert re.match(r"c\.yaml:8:\d+: corpora\.c\.languages\.on: 'on' is not a language code;", on)
    assert "'y' is not a language code;" in y
    known = languages.replace(", on, y", "")
    assert list(load(f"{entry}    {known}\n").run.corpora["c"].options()) == ["en", "no", "de"]
    [line] = fails(f"{entry}    {known}\n    {revision}\n")
    assert line.startswith("c.yaml:9:15: corpora.c.revision: this must be text")
    assert line.endswith('write it in quotes: "0123456"')
    lines = fails(f"{version}\n{baseline}\n{entry}    {known}\n")
    assert [line.split(": ")[1] for line in lines] == ["version", "baseline"]


@pytest.mark.parametrize("key", ["1", "1.10", "true", "null", "[a, b]", "{a: b}", "2024-01-01"])
def test_a_key_that_is_no_text_is_refused(fails: Fails, key: str) -> None:
    lines = fails(GOOD + f"  ? {key}\n  : {{type: utf8_bytes}}\n")
    [line] = lines
    assert line.startswith("c.yaml:9:5: tokenizers: a key must be text; write it in quotes: ")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (GOOD + "name: again\n", "c.yaml:9:1: not valid YAML: found duplicate key"),
        (GOOD + "  bytes: {type: characters}\n", "c.yaml:9:3: not valid YAML: found duplicate key"),
        (GOOD + "reports: [markdown\n", "c.yaml:10:1: not valid YAML: "),
        (GOOD + "a: b: c\n", "c.yaml:9:5: not valid YAML: "),
        (GOOD + "\tx: 1\n", "c.yaml:9:1: not valid YAML: "),
        (GOOD + "---\nname: two\n", "c.yaml:9:1: not valid YAML: "),
        (GOOD + "x: *nowhere\n", "c.yaml:9:4: not valid YAML: "),
        (GOOD + "description: 'open\n", "c.yaml:"),
        (GOOD + "description: \x00\n", "c.yaml:9:14: not valid YAML: "),
        (BILLIONS, "c.yaml:14:5: x5: its aliases expand to more than 100,000 values"),
        (GOOD + "x: " + "[" * 500 + "\n", "c.yaml:9:4: nests more than 50 levels deep"),
        ("", "c.yaml:1:1: the config must be a mapping"),
        ("- a\n- b\n", "c.yaml:1:1: the config must be a mapping"),
        ("just text\n", "c.yaml:1:1: the config must be a mapping"),
        ("42\n", "c.yaml:1:1: the config must be a mapping"),
        (b"name: \xff\n", "c.yaml: is not UTF-8 (byte 6)"),
        (GOOD.encode("utf-16"), "c.yaml: is not UTF-8 (byte 0)"),
        (
            GOOD.replace("mine", "!!python/object/apply:os.system [ls]"),
            "c.yaml:1:7: tag !!python/object/apply",
        ),
        (GOOD.replace("mine", "!mine x"), "c.yaml:1:7: tag !mine is unknown"),
        (GOOD + "x: !!int {a: 1}\n", "c.yaml:9:4: tag !!int does not fit this value"),
    ],
)
def test_what_is_not_valid_yaml_is_located(fails: Fails, text: str | bytes, told: str) -> None:
    assert fails(text)[0].startswith(told)


def test_a_value_that_contains_itself_is_refused_and_not_followed() -> None:
    document = CommentedMap()
    document["x"] = document
    with pytest.raises(ConfigError, match="x: this value contains itself"):
        ConfigFile(path="c.yaml", text="", document=document).values()


def test_anchors_merges_windows_line_ends_and_a_byte_order_mark_are_fine(load: Load) -> None:
    text = """\
    name: mine
    corpora:
      a: &a {source: files, language: en, path: a.txt}
      b: {<<: *a, path: b.txt}
    tokenizers: {t: {type: utf8_bytes}}
    """
    corpora = load(b"\xef\xbb\xbf" + dedent(text).replace("\n", "\r\n").encode()).run.corpora
    assert [c.path for c in corpora.values()] == [("a.txt",), ("b.txt",)]  # type: ignore[union-attr]


def test_a_file_that_is_missing_or_a_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none\.yaml: cannot be read: No such file"):
        load_config(tmp_path / "none.yaml")
    with pytest.raises(ConfigError, match="cannot be read: it is a folder"):
        load_config(tmp_path)


# --set


def test_set_changes_adds_and_reads_values_as_yaml(load: Load) -> None:
    config = load(
        GOOD,
        "seed=7",
        "corpora.prose.limit.rows=10",
        "suites.throughput.rounds=3",
        "tokenizers.chars={type: characters}",
        "reports=[summary]",
        "description=no = yes",
    )
    assert config.run.seed == 7
    assert config.run.corpora["prose"].limit.rows == 10  # type: ignore[union-attr]
    assert list(config.suites) == ["throughput"]
    assert list(config.tokenizers) == ["bytes", "chars"]
    assert list(config.run.reports) == ["summary"]
    assert config.run.description == "no = yes"


def test_set_reaches_into_lists_and_empties_values(load: Load) -> None:
    text = GOOD.replace("path: prose.txt", "path: [a.txt, b.txt]") + "description: x\n"
    config = load(text, "corpora.prose.path.1=c.txt", "description=")
    assert config.run.corpora["prose"].path == ("a.txt", "c.txt")  # type: ignore[union-attr]
    assert config.run.description == ""


def test_set_finds_keys_that_hold_dots(load: Load) -> None:
    text = GOOD.replace("bytes:", "qwen3.6:").replace("prose:", "a.b.c:")
    config = load(text, "tokenizers.qwen3.6.type=characters", "corpora.a.b.c.path=x.txt")
    assert list(config.tokenizers) == ["qwen3.6"]
    assert type(config.tokenizers["qwen3.6"]).__name__ == "Characters"
    assert config.run.corpora["a.b.c"].path == ("x.txt",)  # type: ignore[union-attr]


def test_set_is_part_of_the_hash(load: Load) -> None:
    assert load(GOOD, "seed=1").sha256() != load().sha256()
    assert load(GOOD, "seed=0").sha256() == load().sha256()


@pytest.mark.parametrize(
    ("override", "told"),
    [
        ("seed", "--set seed: write it as key.key=value"),
        ("=5", "--set =5: write it as key.key=value"),
        ("seed=[", "--set seed=[:1:2: not valid YAML"),
        ("seed=!!int x", "--set seed=!!int x: not valid YAML"),
        ("seed={a: 1, a: 2}", "--set seed={a: 1, a: 2}:1:8: not valid YAML: found duplicate key"),
        ("name.x=1", "--set name.x=1: the config has no key name.x"),
        ("name.x.y=1", "--set name.x.y=1: there is nothing below 'x' in the config"),
        ("corpora.prose.path.5=a", "--set corpora.prose.path.5=a: the config has no key"),
        ("sede=5", "c.yaml:1:1: sede: unknown key; did you mean 'seed'?"),
        ("tokenizers.x.type=utf_bytes", "c.yaml:7:1: tokenizers.x.type: unknown name 'utf_bytes'"),
    ],
)
def test_a_wrong_set_is_named(fails: Fails, override: str, told: str) -> None:
    assert fails(GOOD, override)[0].startswith(told)
