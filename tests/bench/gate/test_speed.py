"""`tokbench speed`: both sides timed now, ids looked at, environments told apart."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from tokbench.bench.cli import main
from tokbench.bench.errors import TokbenchError, UsageError
from tokbench.bench.speed import interpreters
from tokbench.bench.speed.interpreters import BarePair, BareWorker, Library, write_texts
from tokbench.bench.timing.cases import Case
from tokbench.bench.timing.race import Lap, Race, Rules, Workload, race, ratios_of
from tokbench.bench.timing.standalone_worker import digest_of_ids

CASES = [
    Case(corpus="web", phase="encode", blocks=(("one two", "three", "four"),)),
    Case(corpus="web", phase="decode", call="single", blocks=(("one two", "three"),)),
]


class Clockwork:
    """A track on which each lap takes as long as its documents and passes say."""

    def __init__(self) -> None:
        self.laps: list[tuple[str, int]] = []

    def lap(self, side: str, case: int, load: Workload) -> tuple[float, float]:
        self.laps.append((side, case))
        seconds = 0.004 * load.passes / load.stride * (1.5 if side == "candidate" else 1.0)
        return seconds, seconds

    def ids(self, side: str) -> list[str]:
        return ["a", "b" if side == "base" else "c"]


RULES = Rules(rounds=8, seconds=0.01, seed=1)


def test_sides_take_turns_in_shuffled_order_on_the_same_work() -> None:
    track = Clockwork()
    found = race(track, CASES, None, RULES)
    assert found.workloads == [Workload(passes=2), Workload(passes=2)]
    turns = track.laps[6:]  # the first ones fitted the work
    pairs = list(zip(turns[::2], turns[1::2], strict=True))
    assert all(first[1] == second[1] and first[0] != second[0] for first, second in pairs)
    assert len({first[0] for first, _ in pairs}) == 2
    assert [lap.warm_up for lap in found.laps].count(True) == 2 * 2 * 2
    assert ratios_of(found, CASES[0], 0) == pytest.approx([1.5] * 8)


def test_a_text_that_takes_too_long_is_thinned_by_whole_documents() -> None:
    found = race(Clockwork(), CASES, None, Rules(rounds=6, seconds=0.001, seed=1))
    assert found.workloads == [Workload(stride=3), Workload(stride=2)]  # four, but there are two


def test_a_later_race_takes_the_work_of_the_first_and_looks_at_no_ids() -> None:
    loads = [Workload(passes=7), Workload(passes=9)]
    found = race(Clockwork(), CASES, loads, RULES)
    assert (found.workloads, found.ids) == (loads, None)


def lap(side: Any, number: int, wall: float, cpu: float) -> Lap:
    return Lap(case=0, side=side, round=number, warm_up=False, wall_seconds=wall, cpu_seconds=cpu)


def test_one_thread_is_compared_by_the_cpu_and_several_by_the_wall() -> None:
    laps = [lap("candidate", 2, 3.0, 2.0), lap("base", 2, 1.0, 1.0)]
    found = Race(laps=laps, workloads=[Workload()], ids=None)
    assert ratios_of(found, CASES[0], 0) == [2.0]
    several = Case(corpus="web", phase="encode", threads=2, blocks=(("a",),))
    assert ratios_of(found, several, 0) == [3.0]


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., Result]:
    """Run the command on tiny configs; what is asserted never depends on the clock."""
    limits = {
        "rounds": 6,
        "milliseconds": 0.2,
        "max_processes": 5,
        "max_interval": 100,
        "estimate": 1000,
    }

    def run(*arguments: str, **configs: Any) -> Result:
        for name, tokenizers in configs.items():
            document = {
                "name": name,
                "corpora": {"web": {"source": "files", "path": "en.jsonl", "language": "en"}},
                "tokenizers": tokenizers,
                "gate": {"speed": limits},
            }
            (tmp_path / f"{name}.yaml").write_text(json.dumps(document), encoding="utf-8")
        (tmp_path / "en.jsonl").write_text('{"text": "the cät sat"}\n', encoding="utf-8")
        monkeypatch.chdir(tmp_path)
        return CliRunner().invoke(main, ["speed", *arguments])

    return run


BYTES = {"mine": {"type": "utf8_bytes"}}


def test_two_configs_are_timed_in_one_process_and_every_lap_is_kept(
    quick: Callable[..., Result], tmp_path: Path
) -> None:
    done = quick("base.yaml", "new.yaml", "--output", "out", base=BYTES, new=BYTES)
    assert done.exit_code == 0, done.output
    assert "base.yaml → new.yaml: Passes: 2" in done.stdout
    assert "mine-web-encode-batch" in done.stdout
    laps = pq.read_table(tmp_path / "out" / "laps.parquet").to_pylist()
    assert len(laps) == 3 * 2 * 2 * (6 + 2)  # processes, cells, sides, rounds and warm-ups
    assert {row["side"] for row in laps} == {"base", "candidate"}
    found = json.loads((tmp_path / "out" / "speed.json").read_text(encoding="utf-8"))
    assert [v["ratio"]["processes"] for v in found["verdicts"]] == [3, 3]
    assert (tmp_path / "out" / "speed.md").read_text(encoding="utf-8").startswith("# Speed\n")


def test_sides_with_other_ids_are_told(quick: Callable[..., Result]) -> None:
    other = {"mine": {"type": "characters"}}
    done = quick("base.yaml", "new.yaml", base=BYTES, new=other)
    assert "the ids of the two sides differ, so they did not do the same work" in done.stdout


def test_configs_without_a_common_tokenizer_are_wrong_usage(
    quick: Callable[..., Result],
) -> None:
    done = quick("base.yaml", "new.yaml", base=BYTES, new={"yours": {"type": "utf8_bytes"}})
    assert done.exit_code == 2
    assert "have no tokenizer under one key: mine; yours" in done.output


def test_a_tokenizer_that_the_candidate_lacks_is_never_dropped(
    quick: Callable[..., Result],
) -> None:
    both = {**BYTES, "gone": {"type": "characters"}}
    done = quick("base.yaml", "new.yaml", base=both, new=BYTES)
    assert done.exit_code == 3
    assert "Not decided: 1 incomparable, 2 same." in done.stdout
    assert "the candidate has no loadable tokenizer under this key" in done.stdout


def test_one_config_alone_is_wrong_usage(quick: Callable[..., Result]) -> None:
    assert quick("base.yaml", base=BYTES).exit_code == 2
    assert quick("base.yaml", "--base-python", "x", base=BYTES).exit_code == 2


def test_what_is_part_of_tokbench_cannot_be_timed_without_it(
    quick: Callable[..., Result],
) -> None:
    pythons = ["--base-python", sys.executable, "--candidate-python", sys.executable]
    done = quick("base.yaml", *pythons, base=BYTES)
    assert done.exit_code == 3
    assert "Not decided: 2 incomparable" in done.stdout
    assert "its type requires tokbench" in done.stdout


def test_a_python_that_is_not_there_is_wrong_usage(
    quick: Callable[..., Result], tokenizer_json: dict[str, Any]
) -> None:
    mine = {"mine": {"type": "huggingface", "file": tokenizer_json["file"]}}
    done = quick("base.yaml", "--base-python", "no", "--candidate-python", "no", base=mine)
    assert done.exit_code == 2
    assert "no: cannot be started: No such file or directory" in done.output


def test_cells_that_the_gate_leaves_out_are_not_timed(
    quick: Callable[..., Result], tmp_path: Path
) -> None:
    rules = 'gate.rules=[{"metric": "decode_throughput", "gated": false}]'
    done = quick("base.yaml", "base.yaml", "--set", rules, "--json", base=BYTES)
    found = json.loads(done.stdout)
    assert [v["cell"] for v in found["verdicts"]] == ["mine-web-encode-batch"]


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    path = tmp_path / "texts.json"
    write_texts(path, CASES)
    return path


@pytest.fixture
def tokenizer_json(tmp_path: Path) -> dict[str, Any]:
    from tokenizers import Tokenizer, models, pre_tokenizers

    vocabulary = {"[UNK]": 0, "one": 1, "two": 2, "three": 3}
    library = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    library.pre_tokenizer = pre_tokenizers.Whitespace()
    path = tmp_path / "tokenizer.json"
    library.save(str(path))
    return {"library": "tokenizers", "file": str(path), "special_tokens": "text"}


def test_a_pair_of_pythons_gives_ids_laps_and_versions(
    tokenizer_json: dict[str, Any], texts: Path
) -> None:
    import tokenizers

    side = Library(python=Path(sys.executable), spec=tokenizer_json)
    with BarePair(side, side, texts) as pair:
        assert pair.obstacle() is None
        assert pair.remarks() == ()
        assert pair.versions() == (tokenizers.__version__,) * 2
        found = race(pair, CASES, None, Rules(rounds=2, seconds=0.0001, seed=0))
    assert found.ids is not None
    assert (
        found.ids[0]
        == found.ids[1]
        == [
            digest_of_ids([[1, 2], [3], [0]]),
            digest_of_ids([[1, 2], [3]]),
        ]
    )
    assert len(found.laps) == 2 * 2 * 4


def test_other_builds_of_python_are_incomparable(
    tokenizer_json: dict[str, Any], texts: Path
) -> None:
    side = Library(python=Path(sys.executable), spec=tokenizer_json)
    with BarePair(side, side, texts) as pair:
        pair._workers["candidate"].facts["python"] = "3.99.0"
        assert "the builds of Python differ: python 3." in (pair.obstacle() or "")


def test_a_call_that_one_version_lacks_is_replaced_on_both_sides_and_told(
    tokenizer_json: dict[str, Any], texts: Path
) -> None:
    side = Library(python=Path(sys.executable), spec=tokenizer_json)
    with BarePair(side, side, texts) as pair:
        pair._workers["base"].encoders = ["encode_batch"]
        pair.encoder = pair._common_encoder()
        assert pair.encoder == "encode_batch"
        assert pair.remarks() == (
            "timed by encode_batch, the fastest call that both versions have",
        )


def test_an_environment_without_the_library_says_so(tmp_path: Path, texts: Path) -> None:
    spec = {"library": "module", "factory": "no_such_library:Tokenizer"}
    with pytest.raises(TokbenchError, match="No module named 'no_such_library'"):
        BareWorker(Library(python=Path(sys.executable), spec=spec), texts)


def test_a_python_that_cannot_be_started_is_wrong_usage(tmp_path: Path, texts: Path) -> None:
    with pytest.raises(UsageError, match="cannot be started"):
        BareWorker(Library(python=tmp_path / "python", spec={}), texts)


def test_a_worker_that_says_nothing_is_ended(
    tmp_path: Path, texts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    silent = tmp_path / "python"
    silent.write_text("#!/bin/sh\nexec sleep 60\n", encoding="utf-8")
    silent.chmod(0o755)
    monkeypatch.setattr(interpreters, "LOAD_SECONDS", 0.2)
    with pytest.raises(TokbenchError, match="its worker timed out: no progress for 0.2 s"):
        BareWorker(Library(python=silent, spec={}), texts)


def test_the_worker_needs_nothing_of_tokbench() -> None:
    source = Path(interpreters.standalone_worker.__file__).read_text(encoding="utf-8")
    assert "import tokbench" not in source
    assert "from tokbench" not in source
