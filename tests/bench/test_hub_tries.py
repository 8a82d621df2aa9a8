"""A refusal of the Hub says how often it was asked, and how to go on."""

from __future__ import annotations

import logging

import pytest

from tokbench.bench.workers import hub_access


class _RefusedError(Exception):
    status = 503


@pytest.fixture(autouse=True)
def _handlers_stay() -> object:
    names = ("huggingface_hub", "datasets", "transformers")
    loggers = [logging.getLogger(name) for name in names]
    before = [(each.handlers, each.propagate, each.level) for each in loggers]
    yield None
    for each, (handlers, propagate, level) in zip(loggers, before, strict=True):
        each.handlers, each.propagate = handlers, propagate
        each.setLevel(level)


def test_a_refusal_says_how_often_the_hub_was_asked_and_how_long_it_took() -> None:
    hub_access.be_patient(60)
    hub_access.why_refused(_RefusedError(), None)  # what was counted before is said
    for seconds in (1, 2):
        logging.getLogger("huggingface_hub").warning("HTTP Error 503; Retrying in %ds", seconds)
    said = hub_access.why_refused(_RefusedError(), None)
    # the first question, and one after each of two waits of 1 + 2 s
    assert said is not None
    assert said.startswith(
        "refused temporarily: the Hub answers 503 (asked 3 times, 3 s of waiting)"
    )
    assert "--rerun failed" in said


def test_the_count_starts_anew_with_each_refusal() -> None:
    hub_access.be_patient(60)
    hub_access.why_refused(_RefusedError(), None)
    said = hub_access.why_refused(_RefusedError(), None)
    assert said is not None
    assert "(asked once)" in said
