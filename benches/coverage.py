"""Coverage of the intervals by simulation: `python -m benches.coverage [REPLICATIONS]`.

Nominal is 95 %. To reach: order-statistic intervals 94 to 99 % where bounded, bootstrap intervals 93 to 97 %.
"""

import sys

from tests.support.simulation import autocorrelated, comparison_coverage, interval_coverage, stalled

from paceline.stats.compare import Statistic

SERIES = [stalled(), *(autocorrelated(rho) for rho in (0.0, 0.3, 0.5, 0.7))]
STATISTICS: tuple[Statistic, ...] = ("p50", "p99", "mean")


def main() -> None:
    replications = int(sys.argv[1]) if len(sys.argv) > 1 else 4000
    print("order-statistic intervals: covered where bounded (share bounded)")
    print(f"{'series':30}{'n':>6}{'p50':>18}{'p90':>18}{'p99':>18}")
    for series in SERIES:
        for n in (100, 400, 1000, 4000):
            found = interval_coverage(series, n, replications, seed=1).values()
            cells = "".join(
                f"{f'{c.covered:.3f} ({c.bounded:.2f})' if c.bounded else 'not bounded':>18}" for c in found
            )
            print(f"{series.name:30}{n:6}{cells}", flush=True)
    print("bootstrap intervals: covered, ratio / difference")
    print(f"{'series':30}{'n':>6}" + "".join(f"{statistic:>18}" for statistic in STATISTICS))
    for series in SERIES[:4]:
        for n in (100, 400, 1000):
            cells = ""
            for statistic in STATISTICS:
                if statistic == "p99" and n < 1000:
                    cells += f"{'not enough':>18}"
                    continue
                ratio, difference = comparison_coverage(series, statistic, n, replications // 4, seed=2)
                cells += f"{f'{ratio:.3f} / {difference:.3f}':>18}"
            print(f"{series.name:30}{n:6}{cells}", flush=True)


if __name__ == "__main__":
    main()
