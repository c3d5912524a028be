"""What this machine moves and computes: measured once, and kept for as long as it is the same machine."""

import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from paceline.errors import UsageError
from paceline.measure.host import fingerprint, instrument
from paceline.roofline.rates import Rates
from paceline.store.atomic import make_folder, write_text
from paceline.store.paths import home as usual_home
from paceline.whole_file import read_whole

SCHEMA = "paceline.rates/1"
Watch = Callable[[str], None]

_READER = TypeAdapter(Rates)
_MOST_BYTES = 1_000_000


def machine_rates(
    home: Path | None = None,
    *,
    again: bool = False,
    device: str = "cpu",
    watch: Watch = lambda _: None,
) -> Rates:
    """The kept rates of a device, or new ones where there are none for this machine as it is.

    device: `cpu`, `gpu` (the first) or `gpuN`. again: measure whatever is kept. watch: told in words what is
    being measured, and why again. Rates that other work disturbed are measured again each time, until once
    they were not; of two such the higher stand. Takes up to about 10 s. Raises UsageError for a device that
    is not here, RunError when it cannot be measured, StoreError when the result cannot be kept.
    """
    number = _gpu_number(device)
    path = rates_path(home, device if number is None else f"gpu{number}")
    if number is None:
        from paceline.roofline.cpu import cpu_rates, this_cpu

        cpu = this_cpu()
        made_for = _made_for(threads=cpu.threads, cache_bytes=cpu.cache_bytes)
        return _kept_or_measured(path, made_for, again, watch, lambda: cpu_rates(cpu, watch))
    from paceline.roofline.gpu import gpu_rates, this_gpu

    gpu = this_gpu(number)
    made_for = _made_for(gpu=gpu.name, uuid=gpu.uuid)
    return _kept_or_measured(path, made_for, again, watch, lambda: gpu_rates(number, gpu, watch))


def rates_path(home: Path | None = None, device: str = "cpu") -> Path:
    """Where the rates of a device of this machine lie; `home`: another than the usual."""
    return (home or usual_home()) / "rates" / f"{fingerprint()}-{device}.json"


def _kept_or_measured(
    path: Path, made_for: dict[str, Any], again: bool, watch: Watch, measure: Callable[[], Rates]
) -> Rates:
    kept = _kept(path, made_for, watch)
    if kept is not None and not kept.disturbed and not again:
        return kept
    if kept is not None and not again:
        watch("other work disturbed the last measurement of this machine: it is measured again")
    found = measure()
    if kept is not None and found.disturbed and kept.bandwidth_bytes_s > found.bandwidth_bytes_s:
        watch("other work disturbed the measurement: the one before, which is higher, stands")
        found = kept
    make_folder(path.parent)
    document = {"schema": SCHEMA, "made_for": made_for, **_READER.dump_python(found, mode="json")}
    write_text(path, json.dumps(document, indent=2, allow_nan=False, ensure_ascii=False) + "\n")
    return found


def _kept(path: Path, made_for: dict[str, Any], watch: Watch) -> Rates | None:
    """What is kept for this machine as it is; `watch` is told why not, where there is something."""
    try:
        document = json.loads(read_whole(path, _MOST_BYTES).decode("utf-8")) if path.is_file() else None
        if document is None:
            return None
        if not isinstance(document, dict) or document.get("schema") != SCHEMA:
            raise ValueError(f"it has no schema {SCHEMA}")
        rates = _READER.validate_python(document)
        _check(rates)
    except (OSError, ValueError, RecursionError) as error:
        reason = "a field is missing or wrong" if isinstance(error, ValidationError) else _reason(error)
        watch(f"the kept rates {path} are damaged ({reason}): the machine is measured again")
        return None
    before = document.get("made_for")
    if before != made_for:
        watch(f"{_changed(before, made_for)}: the machine is measured again")
        return None
    return rates


def _check(rates: Rates) -> None:
    """Raises ValueError for figures that cannot be."""
    figures = [rates.bandwidth_bytes_s, *rates.by_kernel.values(), *rates.arithmetic_s.values()]
    figures += [value for pair in rates.spread.values() for value in pair]
    if not all(math.isfinite(value) and value > 0 for value in figures) or rates.threads < 1:
        raise ValueError("a figure cannot be")
    if rates.measured_at.tzinfo is None:
        raise ValueError("its date has no time zone")


def _made_for(**device: Any) -> dict[str, Any]:
    return {"host": fingerprint(), **instrument(), **device}


def _changed(before: Any, now: dict[str, Any]) -> str:
    then = before if isinstance(before, dict) else {}
    names = [name for name in now if then.get(name) != now[name]]
    return f"{', '.join(names) or 'this machine'} changed since"


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return "it is no JSON" if isinstance(error, json.JSONDecodeError | UnicodeDecodeError) else str(error)


def _gpu_number(device: str) -> int | None:
    """None: the processor. Raises UsageError."""
    if device == "cpu":
        return None
    if not re.fullmatch(r"gpu[0-9]{0,3}", device):
        raise UsageError(f"there is no device {device!r}", "devices are cpu, gpu, gpu0, gpu1 and so on")
    return int(device.removeprefix("gpu") or 0)
