"""What the throughput suite measures: definitions, sources and the ways to get them wrong."""

from __future__ import annotations

from tokbench.bench.model import MetricSpec

_MEDIAN = "median over the rounds of each process, then over processes"

ENCODE_THROUGHPUT = MetricSpec(
    name="encode_throughput",
    unit="MB/s",
    direction="higher",
    lane="noisy",
    definition="UTF-8 megabytes (10⁶ bytes) of text per second of wall time: "
    f"{_MEDIAN}. Params name the call, the batch size, the threads, the text and its lengths.",
    formula="passes × bytes of the text ÷ 10⁶ ÷ wall seconds of the sample",
    source="tokbench; samples that take turns as in Kalibera and Jones 2013, Rigorous "
    "Benchmarking in Reasonable Time.",
    not_meant="A speed of the tokenizer everywhere: it is one machine's, in one call over one "
    "text. "
    "Compare within one table, and never between languages, whose characters take one to four "
    "bytes. Tokens per second would favour tokenizers that split the text into more tokens.",
    trap="Timing one tokenizer in batches and another text by text, one with offsets and another "
    "without, one on all cores and another on one; text that a cache of words has seen before.",
)
DECODE_THROUGHPUT = MetricSpec(
    name="decode_throughput",
    unit="MB/s",
    direction="higher",
    lane="noisy",
    definition="UTF-8 megabytes of the text whose ids are decoded, per second of wall time: "
    f"{_MEDIAN}.",
    formula="passes × bytes of the text that was encoded ÷ 10⁶ ÷ wall seconds of the sample",
    source="tokbench.",
    not_meant="Tokens per second: a tokenizer with longer tokens decodes fewer of them.",
    trap="Counting the bytes of what comes out: a tokenizer that loses text would seem slow.",
)
TRAIN_THROUGHPUT = MetricSpec(
    name="train_throughput",
    unit="MB/s",
    direction="higher",
    lane="noisy",
    definition="UTF-8 megabytes of training text per second of wall time, from text to files: "
    f"{_MEDIAN}. Only for tokenizers that the config trains.",
    formula="bytes of the text ÷ 10⁶ ÷ wall seconds of one training",
    source="tokbench.",
    not_meant="A rate that holds for more text: training often grows faster than its text, and "
    "with the size of the vocabulary.",
    trap="Comparing trainers with different requested vocabulary sizes.",
)
RELATIVE_SPEED = MetricSpec(
    name="relative_speed",
    unit="ratio",
    direction="higher",
    lane="noisy",
    definition="Time of the pinned tokenizer ÷ time of this one: same text, same call, same "
    "rounds. "
    "By CPU seconds on one thread, by wall seconds on several and for latency. The interval is "
    "over processes, or over rounds where there are fewer than three; params give the verdict: "
    "faster, slower, or not resolvable where the interval covers 1, the difference is within the "
    "timing floor, or Holm's correction for all comparisons of the same kind of call takes it "
    "away.",
    formula="geometric mean over processes of the median over rounds of "
    "seconds(pinned) ÷ seconds(tokenizer); interval by Student's t on its logarithms",
    source="Kalibera and Jones 2013, Rigorous Benchmarking in Reasonable Time; Holm 1979.",
    not_meant="That the tokenizer is faster on other text, in other calls or on another machine.",
    trap="Dividing two speeds that were measured minutes apart, or in different processes once "
    "each; reading an interval over rounds of one process as if it spoke for the next process.",
)
TIMING_FLOOR = MetricSpec(
    name="timing_floor",
    unit="ratio",
    direction="lower",
    lane="noisy",
    definition="How far the pinned tokenizer differs from itself, in a second process that takes "
    "turns as the others do: the larger of the ratio and its inverse. Differences below it mean "
    "nothing.",
    formula="max(r, 1 ÷ r), r the relative speed of the pinned tokenizer's twin",
    source="A/A test; tokbench.",
    not_meant="A bound on every error: it is one draw of what equal tokenizers differ by.",
    trap="Not measuring it: on a shared machine two processes of one program often differ by "
    "several per cent.",
)
LATENCY_P50 = MetricSpec(
    name="latency_p50",
    unit="µs",
    direction="lower",
    lane="noisy",
    definition="Median wall time of one call for one short text, over all texts, rounds and "
    "processes. By the library's call for a single text; a batch of one where it has none.",
    formula="50th percentile of wall seconds × 10⁶",
    source="tokbench.",
    not_meant="What a request costs: the server, the template and the copy to the model come on "
    "top.",
    trap="A batch call for each text: some libraries start a pool of threads for every batch.",
)
LATENCY_P99 = MetricSpec(
    name="latency_p99",
    unit="µs",
    direction="lower",
    lane="noisy",
    definition="Wall time of one call for one short text that 99 in 100 calls stay below.",
    formula="99th percentile of wall seconds × 10⁶",
    source="tokbench.",
    not_meant="A property of the tokenizer alone: on a busy machine it shows who else ran.",
    trap="Too few calls: of 100, the 99th percentile is a single one.",
)
LOAD_TIME = MetricSpec(
    name="load_time",
    unit="s",
    direction="lower",
    lane="noisy",
    definition="Wall seconds until a fresh process has the tokenizer ready, median over processes: "
    "the library is imported and the files are read. tokbench reads the vocabulary and its "
    "fingerprint in the same time, so it is an upper bound of the library's own.",
    formula="wall seconds of import and load in a fresh process",
    source="tokbench.",
    not_meant="The library's own load time, nor a first start: the files were read moments before.",
    trap="Loading a second time in one process, where the library is imported already.",
)
PEAK_MEMORY = MetricSpec(
    name="peak_memory",
    unit="MB",
    direction="lower",
    lane="noisy",
    definition="Highest resident memory (10⁶ bytes) of the tokenizer's process, median over "
    "processes: Python, tokbench and the timed texts are in it, so only differences count.",
    formula="peak resident set size at the end of the process",
    source="getrusage and /proc.",
    not_meant="Memory of the tokenizer alone.",
    trap="Reading the parent's peak, which a forked process inherits.",
)

THROUGHPUT: dict[str, MetricSpec] = {
    "encode": ENCODE_THROUGHPUT,
    "decode": DECODE_THROUGHPUT,
    "train": TRAIN_THROUGHPUT,
}
METRICS = (
    RELATIVE_SPEED,
    ENCODE_THROUGHPUT,
    DECODE_THROUGHPUT,
    TRAIN_THROUGHPUT,
    LATENCY_P50,
    LATENCY_P99,
    LOAD_TIME,
    PEAK_MEMORY,
    TIMING_FLOOR,
)
