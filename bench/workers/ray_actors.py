"""Ray as an executor: actors that each guard one worker process, on any machine of a cluster.

The pool of `tokbench.bench.workers.pool` decides what runs where and what follows a loss, as it
does on one machine; only the worker differs. An actor is a small process that starts a
`WorkerProcess` beside itself and asks it: limits of time and memory are kept there, next to the
tokenizer, and a library that crashes costs its child and not the actor. Ray places the actors,
restarts those whose machine was lost, and asks them again; a job may run twice, because it writes
its file whole and always the same one.

All machines must see the run folder and the cache under the same paths.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from pydantic import Field

from tokbench.bench.errors import TokbenchError, UsageError, named
from tokbench.bench.workers.executors import MOST_JOBS, Executor, ExecutorPlugin
from tokbench.bench.workers.job import Died
from tokbench.bench.workers.pool import Workers
from tokbench.bench.workers.process import WorkerProcess

RESTARTS = 20
"""How often Ray restarts one actor, and asks again for one job, before the pool sees a loss."""

POLL_SECONDS = 1.0
"""Seconds between two looks at whether the run has ended."""

KNOCK_SECONDS = 20.0
"""Seconds for the head of a cluster to accept a connection."""

HANDED_ON = (
    "TOKBENCH_CACHE",
    "TIKTOKEN_CACHE_DIR",
    "HF_HUB_OFFLINE",
    "HF_DATASETS_OFFLINE",
    "TRANSFORMERS_OFFLINE",
    "TOKENIZERS_PARALLELISM",
)
"""Variables that the actors get from the driver. Secrets are not: machines have their own."""


class RayActors(ExecutorPlugin):
    """Actors of a Ray cluster (extra: ray)."""

    address: str | None = Field(
        None,
        description="Address of the cluster; `auto` finds the one of this machine. By default "
        "RAY_ADDRESS, else a cluster of this machine alone, for the time of the run.",
    )

    @contextmanager
    def start(self, jobs: int | None, on_loss: Callable[[str], None]) -> Iterator[Executor]:
        """Connect to the cluster, or start one; yield its actors, by default one per CPU."""
        ray = _imported()
        address = self.address or os.environ.get("RAY_ADDRESS") or "local"
        with _connected(ray, address, jobs):
            number = min(jobs or int(ray.cluster_resources().get("CPU", 1)), MOST_JOBS)
            start = _Actors(ray).start
            with Workers(number, on_loss=on_loss, start=start, name="ray", local=False) as workers:
                workers.facts |= {"ray": ray.__version__, "nodes": len(ray.nodes())}
                yield workers


def _imported() -> Any:
    # Ray reads both when it is imported
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    try:
        import ray
    except ImportError as exc:
        raise UsageError(
            "executor 'ray' requires Ray: pip install 'tokbench[ray]' (here and on every machine "
            "of the cluster)"
        ) from exc
    return ray


@contextmanager
def _connected(ray: Any, address: str, jobs: int | None) -> Iterator[None]:
    """Connect to a cluster for the time of the block; start one for `local`, on loopback."""
    options: dict[str, Any] = {}
    if address == "local":
        options = {
            "include_dashboard": False,
            "num_cpus": jobs,
            "_node_ip_address": "127.0.0.1",
        }
    handler = signal.getsignal(signal.SIGTERM)
    try:
        _knock(address)
        ray.init(
            address=address,
            log_to_driver=False,
            logging_level="ERROR",
            runtime_env={"env_vars": _environment()},
            **options,
        )
    except Exception as exc:  # Ray raises ConnectionError, RuntimeError, ValueError and its own
        raise UsageError(
            f"executor 'ray': no cluster at address {address!r}: {named(exc)}; start one with "
            "`ray start --head`, or leave --address out"
        ) from exc
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, handler)  # Ray's own would end the process at once
    try:
        yield
    finally:
        ray.shutdown()


def _knock(address: str) -> None:
    """Raise `OSError` where nothing listens at ``host:port``: Ray would try for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if host and port.isdigit():
        socket.create_connection((host.strip("[]"), int(port)), timeout=KNOCK_SECONDS).close()


def _environment() -> dict[str, str]:
    return {name: os.environ[name] for name in HANDED_ON if name in os.environ}


class _Guard:
    """What an actor is: the keeper of one worker process."""

    def __init__(self) -> None:
        self._worker: WorkerProcess | None = None

    def ask(self, call: bytes, memory: int | None, option: str) -> bytes:
        """Run a pickled call in the worker process; return its answer, pickled.

        The answer is a pair: ``raised`` with a `TokbenchError`, ``died`` with how the process was
        lost and its last words, ``done`` with the value.
        """
        fn, arguments = pickle.loads(call)
        if self._worker is None:
            self._worker = WorkerProcess.start()
        try:
            value = self._worker.ask(fn, *arguments, memory=memory, option=option)
        except TokbenchError as exc:
            return pickle.dumps(("raised", exc))
        if isinstance(value, Died):
            words = self._worker.last_words()
            self._worker.stop()
            self._worker = None
            return pickle.dumps(("died", (value, words)))
        return pickle.dumps(("done", value))

    def end(self) -> None:
        """End the worker process."""
        if self._worker is not None:
            self._worker.stop()
            self._worker = None


class _Actors:
    """The actors of a run: one that is done with its tokenizer takes the next, which is faster."""

    def __init__(self, ray: Any) -> None:
        options = {"num_cpus": 1, "max_restarts": RESTARTS, "max_task_retries": RESTARTS}
        self._ray, self._kind = ray, ray.remote(**options)(_Guard)
        self._idle: list[Any] = []

    def start(self) -> _ActorWorker:
        """Give a worker: an actor that is idle, else a new one."""
        actor = self._idle.pop() if self._idle else self._kind.remote()
        return _ActorWorker(self._ray, actor, self._idle)


class _ActorWorker:
    """A worker of the pool that is an actor."""

    def __init__(self, ray: Any, actor: Any, idle: list[Any]) -> None:
        self._ray, self._actor, self._idle = ray, actor, idle
        self._words = ""
        self._is_free = True

    def ask(
        self,
        fn: Callable[..., Any],
        *arguments: object,
        memory: int | None = None,
        option: str = "limits.memory",
        closed: threading.Event | None = None,
    ) -> Any | Died:
        """Call a function in the actor's worker process; see `WorkerProcess.ask`."""
        self._words, self._is_free = "", False
        call = self._actor.ask.remote(pickle.dumps((fn, arguments)), memory, option)
        try:
            while not self._ray.wait([call], timeout=POLL_SECONDS)[0]:
                if closed is not None and closed.is_set():
                    return Died(kind="died", step=("start",), reason="the run has ended")
            word, value = pickle.loads(self._ray.get(call))
        except self._ray.exceptions.RayError as exc:
            reason = f"its actor was lost ({type(exc).__name__})"
            return Died(kind="died", step=("start",), reason=reason)
        self._is_free = True
        if word == "raised":
            raise value
        if word == "died":
            died, self._words = value
            return died
        return value

    def last_words(self) -> str:
        """Return the last line that the worker process wrote before it was lost."""
        return self._words

    def stop(self) -> None:
        """End the worker process, and the actor too where it is lost or still at work."""
        with contextlib.suppress(self._ray.exceptions.RayError):
            if self._is_free:
                self._actor.end.remote()
                self._idle.append(self._actor)
            else:
                self._ray.kill(self._actor)
