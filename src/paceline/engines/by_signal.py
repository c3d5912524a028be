"""What the signal that ended an engine tells, where its words tell nothing."""

from paceline.engines.engine import Failure

_ILLEGAL, _KILLED = 4, 9


def by_signal(exit_code: int | None, *, memory_hint: str, build_hint: str) -> Failure | None:
    """None where it was no signal, or one that tells nothing. A hint each: out of memory, another build."""
    # A shell between, as a wrapper script, tells of a signal by 128 and its number.
    number = -exit_code if exit_code is not None and exit_code < 0 else (exit_code or 0) - 128
    if number == _ILLEGAL:
        message = "it uses instructions that this processor does not have (illegal instruction)"
        return Failure(message, build_hint, lasting=True)
    if number == _KILLED:
        message = (
            "it was killed from outside (signal 9), as the kernel does when the machine's memory runs out"
        )
        return Failure(message, f"see dmesg; {memory_hint}", lasting=False)
    return None
