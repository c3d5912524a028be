"""CPU a streamed chunk, against an epoll client that parses nothing: at most 1.5 times.

Closed loop of 64 and 512 streams at 100 tok/s each, one token an event. Both clients run in turn
against the same engine, three times each, and the medians are compared. `loop` is the CPU of the load
threads, which is what the bare client's figure is too; `process` adds polling, Arrow and Python.
"""

from statistics import median

from benches import common

ROUNDS = 3


def main() -> None:
    rows = []
    for streams in (64, 512):
        output_tokens, requests = 100, streams * 4
        events = output_tokens * requests
        loops: dict[str, list[float]] = {"bare": [], "paceline": []}
        process: list[float] = []
        with common.reference_engine(output_tokens=output_tokens) as engine:
            for _ in range(ROUNDS):
                bare = common.run_bare(engine, streams, requests, output_tokens, keep=False)
                ours = common.run_paceline(engine, streams, requests, output_tokens)
                loops["bare"].append(bare.cpu_ns / events / 1e3)
                loops["paceline"].append(ours.cpu_ns / events / 1e3)
                process.append(ours.process_cpu_ns / events / 1e3)
        floor, ours_us, process_us = median(loops["bare"]), median(loops["paceline"]), median(process)
        rows.append(
            [
                str(streams),
                f"{floor:.2f}",
                f"{ours_us:.2f}",
                f"{ours_us / floor:.2f}",
                f"{process_us:.2f}",
                f"{process_us / floor:.2f}",
            ]
        )
    print("CPU a streamed chunk, us (target: ratio at most 1.5)")
    common.table(["streams", "bare", "paceline loop", "ratio", "paceline process", "ratio"], rows)


if __name__ == "__main__":
    main()
