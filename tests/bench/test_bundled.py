from __future__ import annotations

import pytest

from tokbench.bench.config import bundled
from tokbench.bench.errors import UsageError


@pytest.mark.parametrize("dataset", ["sentences", "programs"])
def test_every_bundled_text_can_be_a_corpus(make, entry, dataset) -> None:
    keys = bundled.text_keys(dataset)
    if not keys:
        pytest.skip(f"no bundled {dataset} in this checkout")
    assert list(entry(source="builtin", dataset=dataset).options()) == keys
    one = make(keys[0], source="builtin", dataset=dataset)
    assert one.meta.documents > 0
    assert one.meta.sources[0]["path"] == f"{dataset}/{keys[0]}.jsonl"


def test_an_unknown_ready_config_lists_those_there_are() -> None:
    with pytest.raises(UsageError, match="unknown config 'quikc'"):
        bundled.config_path("quikc")
