"""Data sets read from a Hub by unmodified libraries, and every way it can say no."""

from __future__ import annotations

import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from stub_hub import COMMIT, OLDER, Fault, card, json_lines, parquet

TEXTS = ["one", "two", "three"]


@pytest.fixture
def texts(hub):
    """A data set with one Parquet file."""
    hub.add("datasets/owner/texts", {"data/train-00000.parquet": parquet(*TEXTS)})
    return hub


@pytest.mark.parametrize("streaming", [True, False])
def test_parquet_is_read_and_its_commit_recorded(texts, read, streaming) -> None:
    got = read(streaming=streaming)
    assert got.value["texts"] == TEXTS, got.reason
    assert got.value["sources"][0]["revision"] == COMMIT


@pytest.mark.parametrize("streaming", [True, False])
def test_json_lines_in_several_configs_are_read(hub, read, streaming) -> None:
    files = {"en/train.jsonl": json_lines("hello"), "nb/train.jsonl": json_lines("hei")}
    hub.add("datasets/owner/texts", {"README.md": card(en="en/*", nb="nb/*"), **files})
    assert read("nb", config="nb", streaming=streaming).value["texts"] == ["hei"]


def test_a_pinned_revision_is_the_one_read(texts, read) -> None:
    texts.add("datasets/owner/texts", {"data/train.parquet": parquet("older")}, OLDER)
    assert read(revision=OLDER).value["texts"] == ["older"]


def test_a_data_set_made_by_a_script_is_refused_with_what_to_do(hub, read) -> None:
    hub.add("datasets/owner/texts", {"texts.py": b"", "data/train.parquet": parquet("one")})
    reason = read().reason
    assert "requires a loading script" in reason
    assert "refs/convert/parquet" in reason


def test_the_parquet_branch_of_a_script_is_read_by_folder(hub, read) -> None:
    """As the Hub converts it: one folder for each config, one in it for each split."""
    hub.add("datasets/owner/texts", {"texts.py": b""})
    files = {f"{key}/train/0000.parquet": parquet(text) for key, text in (("en", "a"), ("de", "b"))}
    hub.add("datasets/owner/texts", files, OLDER)
    hub.branches["refs/convert/parquet"] = OLDER
    options = {"revision": "refs/convert/parquet", "data_dir": "{language}", "split": "train"}
    got = read("de", **options)
    assert got.value["texts"] == ["b"], got.reason
    assert got.value["sources"][0]["revision"] == OLDER


@pytest.mark.parametrize("streaming", [True, False])
def test_rows_of_one_language_are_told_by_a_column(hub, read, streaming) -> None:
    sink = io.BytesIO()
    table = {"code": ["print(1)", "x", "y"], "language_name": ["Python", "C", "Python"]}
    pq.write_table(pa.table(table), sink)
    hub.add("datasets/owner/texts", {"data/train.parquet": sink.getvalue()})
    options = {"text": "code", "kind": "code", "streaming": streaming}
    got = read("python", where={"language_name": "Python"}, **options)
    assert got.value["texts"] == ["print(1)", "y"], got.reason
    reason = read("python", where={"language_name": "Pyton"}, **options).reason
    assert "no documents: 0 rows read where language_name is 'Pyton'" in reason
    assert "has no column 'lang'" in read("python", where={"lang": "Python"}, **options).reason


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("gated", "requires a login: accept its terms"),
        ("unauthorized", "requires a login: accept its terms"),
        ("forbidden", "requires access: you are logged in"),
        ("private", "does not exist on the Hub, or is private"),
        ("missing", "does not exist on the Hub, or is private"),
    ],
)
def test_refusals_are_told_apart(hub, read, how, words) -> None:
    hub.refuse(how)
    assert words in read().reason


def test_a_revision_that_is_not_there_is_named(texts, read) -> None:
    assert "has no revision 'v9'" in read(revision="v9").reason


def test_a_short_wait_is_waited_for(texts, read) -> None:
    texts.faults.append(
        Fault(match="GET .*parquet", status=429, headers={"Retry-After": "1"}, times=1)
    )
    assert read(streaming=True).value["texts"] == TEXTS


@pytest.mark.parametrize("streaming", [True, False])
@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_hub_that_refuses_for_now_is_waited_for_up_to_the_limit(
    texts, read, status, streaming
) -> None:
    headers = {"Retry-After": "3600"} if status == 429 else {}
    texts.faults.append(Fault(match="GET .*parquet", status=status, headers=headers))
    got = read(streaming=streaming)
    assert f"refused temporarily: the Hub answers {status}" in got.reason
    assert got.seconds < 60


@pytest.mark.parametrize("streaming", [True, False])
def test_a_hub_that_breaks_off_is_waited_for_up_to_the_limit(texts, read, streaming) -> None:
    texts.faults.append(Fault(match="GET .*parquet", keep=0.5))
    got = read(streaming=streaming)
    assert "cannot be reached: " in got.reason  # "no answer" or "incomplete answers", as it falls
    assert got.seconds < 60


@pytest.mark.parametrize("streaming", [True, False])
def test_a_connection_that_was_cut_once_costs_nothing(texts, read, streaming) -> None:
    texts.faults.append(Fault(match="GET .*parquet", keep=0.5, times=1))
    assert read(streaming=streaming).value["texts"] == TEXTS


def test_a_file_that_changes_under_one_revision_is_noticed(texts, read) -> None:
    other = parquet(*TEXTS, "and one more")
    texts.faults.append(Fault(match="GET .*parquet", change=lambda content: other))
    assert "is damaged" in read(streaming=False).reason


@pytest.mark.parametrize("streaming", [True, False])
def test_a_file_cut_short_on_the_hub_is_damaged(texts, read, streaming) -> None:
    texts.faults.append(Fault(match=r"resolve.*parquet", change=lambda content: content[:-20]))
    assert "is damaged" in read(streaming=streaming).reason


def test_a_slow_hub_is_given_up(texts, read, environment) -> None:
    environment["HF_HUB_ETAG_TIMEOUT"] = environment["HF_HUB_DOWNLOAD_TIMEOUT"] = "1"
    texts.faults.append(Fault(match="(GET|HEAD) .*parquet", delay=3))
    got = read()
    assert "cannot be reached" in got.reason
    assert got.seconds < 90


def test_nobody_answers(texts, read) -> None:
    texts.stop()
    got = read()
    assert "cannot be reached" in got.reason
    assert got.seconds < 90


def test_offline_nothing_is_asked_and_what_was_downloaded_is_used(texts, read) -> None:
    assert "offline mode is on" in read(offline=True).reason
    assert texts.requests == []
    assert read(streaming=False).value["texts"] == TEXTS
    texts.requests.clear()
    assert read(streaming=False, offline=True).value["texts"] == TEXTS
    assert texts.requests == []


def test_the_token_is_sent_to_the_hub_and_told_nobody(hub, read, environment, tmp_path) -> None:
    hub.refuse("forbidden")
    read()
    assert any(environment["HF_TOKEN"] in token for token in hub.tokens)
    for path in tmp_path.rglob("*"):
        assert path.is_dir() or environment["HF_TOKEN"].encode() not in path.read_bytes()
