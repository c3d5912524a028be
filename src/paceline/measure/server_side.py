"""The server's side of a run, sampled along with each of its segments."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, field
from typing import Any

import pyarrow as pa

from paceline.errors import StoreError
from paceline.measure.gpu import Gpus, on_this_machine, open_gpus
from paceline.measure.job import Prepared
from paceline.measure.sampler import Looks, Sampler
from paceline.measure.scrape import Scraper
from paceline.measure.segment import Sink
from paceline.store.writer import RunWriter
from paceline.units import format_percentage

# Of one core; what the looking takes beyond it may be felt by an endpoint on this machine.
NOTABLE_CPU_SHARE = 0.05
NVML_HINT = "GPUs were asked for, and NVML shows none (it takes an NVIDIA driver, and `paceline[gpu]`)"


@dataclass
class _Sink:
    """The writer, which gets what was sampled along with the progress."""

    writer: RunWriter
    samplers: list[Sampler] = field(default_factory=list)

    def append(self, batch: pa.RecordBatch) -> None:
        self.writer.append(batch)

    def append_plan(self, table: pa.Table) -> None:
        self.writer.append_plan(table)

    def append_progress(self, progress: dict[str, Any]) -> None:
        self.store()
        self.writer.append_progress(progress)

    def store(self) -> None:
        for one in self.samplers:
            self.writer.append_server(one.take())


@contextmanager
def server_side(prepared: Prepared, writer: RunWriter) -> Iterator[Sink]:
    """A segment's sink: what goes on at the server is sampled until the block ends, and stored with the rest.

    Nothing that the server's metrics or NVML do ends or fails the run. How it went is in the manifest's
    `server`, summed over segments.
    """
    watch, source = prepared.job.server, prepared.server
    local = on_this_machine(prepared.load_target.addresses)
    found = open_gpus() if watch.gpu or (watch.gpu is None and local) else None
    with ExitStack() as stack:
        sink = _Sink(writer)
        scraped = sampled = None
        if source is not None:
            scraper = Scraper(source)
            stack.callback(scraper.close)
            scraped = stack.enter_context(Sampler(scraper.look, watch.every_ns))
            sink.samplers.append(scraped)
        if found is not None:
            stack.callback(found.close)
            sampled = stack.enter_context(Sampler(found.look, watch.every_ns))
            sink.samplers.append(sampled)
        if not sink.samplers:
            _note(writer, [NVML_HINT] if watch.gpu else [])
            yield sink
            return
        try:
            yield sink
        finally:
            for one in sink.samplers:
                one.end()
            # What the disk had no room for, the run's end will say.
            with suppress(StoreError):
                sink.store()
            _tell(prepared, writer, scraped, sampled, found, local=local)
            _note(writer, _notes(prepared, writer))


def _tell(
    prepared: Prepared,
    writer: RunWriter,
    scraped: Sampler | None,
    sampled: Sampler | None,
    gpus: Gpus | None,
    *,
    local: bool,
) -> None:
    """Into the manifest: where from, how often, and how the looking went so far."""
    before = writer.manifest.server or {}
    told: dict[str, Any] = {"every_ns": prepared.job.server.every_ns, "local": local}
    if prepared.server is not None and scraped is not None:
        told["metrics"] = {
            "url": prepared.server.url,
            "engine": prepared.server.engine,
            "title": prepared.server.title,
            "counted_at_end": prepared.server.counted_at_end,
            "looks": _added(before.get("metrics"), scraped.looks),
        }
    if sampled is not None and gpus is not None:
        told["gpus"] = {"names": gpus.names, "looks": _added(before.get("gpus"), sampled.looks)}
    with suppress(StoreError):
        writer.update(server=told)


def _added(before: dict[str, Any] | None, looks: Looks) -> dict[str, Any]:
    whole = Looks(**before["looks"]) if before else Looks()
    whole.add(looks)
    return asdict(whole)


def _notes(prepared: Prepared, writer: RunWriter) -> list[str]:
    """What a reader must know of the sampling."""
    told = writer.manifest.server or {}
    found = []
    metrics = told.get("metrics")
    if metrics and metrics["looks"]["failed"]:
        looks = metrics["looks"]
        found.append(
            f"the server's metrics could not be read {looks['failed']:,} of {looks['n']:,} times: "
            f"{looks['last_failure']}"
        )
    elapsed_ns = sum(int(segment["elapsed_ns"]) for segment in writer.manifest.segments)
    spent_ns = sum(told[part]["looks"]["cpu_ns"] for part in ("metrics", "gpus") if part in told)
    if elapsed_ns and spent_ns > NOTABLE_CPU_SHARE * elapsed_ns:
        share = format_percentage(spent_ns / elapsed_ns)
        found.append(f"sampling the server's metrics took {share} of a core of this machine")
    if prepared.job.server.gpu and "gpus" not in told:
        found.append(NVML_HINT)
    return found


_BEGINNINGS = ("the server's metrics could not", "sampling the server's metrics took", NVML_HINT)


def _note(writer: RunWriter, notes: list[str]) -> None:
    """Put notes in the place of those of an earlier segment."""
    others = [note for note in writer.manifest.notes if not note.startswith(_BEGINNINGS)]
    if [*others, *notes] != writer.manifest.notes:
        with suppress(StoreError):
            writer.update(notes=[*others, *notes])
