"""TTFT and ITL error against the engine's own truth log, beside the bare client's: at most the same.

Client and engine share the machine's cores. At 2,000 streams each stream gets 20 tok/s instead of 100,
since two cores cannot both send and read 200,000 events a second; the rate is printed.
"""

import numpy as np

from benches import common


def main() -> None:
    rows = []
    for streams, itl_us in ((64, 10_000), (512, 10_000), (2_000, 50_000)):
        output_tokens, requests = 100, streams * 2
        with common.reference_engine(itl_us=itl_us, output_tokens=output_tokens) as engine:
            runs = {
                "bare": common.run_bare(engine, streams, requests, output_tokens),
                "paceline": common.run_paceline(engine, streams, requests, output_tokens),
            }
            truths = engine.finish()
        errors = {name: common.errors_us(run.seen, truths) for name, run in runs.items()}
        for what, index in (("TTFT", 0), ("ITL", 1)):
            bare, ours = (np.percentile(errors[name][index], [50, 99]) for name in ("bare", "paceline"))
            rows.append(
                [
                    str(streams),
                    f"{1e6 / itl_us:.0f}",
                    what,
                    *(f"{value:.0f}" for value in (bare[0], ours[0])),
                    f"{ours[0] / bare[0]:.2f}",
                    *(f"{value:.0f}" for value in (bare[1], ours[1])),
                    f"{ours[1] / bare[1]:.2f}",
                ]
            )
    print("|client - truth|, us (target: ratios at most 1)")
    common.table(
        ["streams", "tok/s", "", "p50 bare", "paceline", "ratio", "p99 bare", "paceline", "ratio"],
        rows,
    )


if __name__ == "__main__":
    main()
