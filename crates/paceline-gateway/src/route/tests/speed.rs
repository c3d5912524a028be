//! What a plan costs. No test: `cargo test --release -p paceline-gateway -- --ignored --nocapture what_a_plan_costs`.

use rustix::time::{ClockId, clock_gettime};

use super::{Bench, ask, document, offer};

/// CPU time of this thread, in us: other work on the machine does not count.
fn cpu_us() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e6 + time.tv_nsec as f64 / 1e3
}

#[test]
#[ignore = "a measurement"]
#[expect(clippy::print_stdout, reason = "it prints what it measured")]
fn what_a_plan_costs() {
    let ids: Vec<String> = (0..10).map(|place| format!("o{place}")).collect();
    let mut bench = Bench::new(&document(&ids.iter().map(|id| offer(id, 1.0)).collect::<Vec<_>>()));
    for turn in 0..300 {
        for id in &ids {
            bench.warm(id, 1, 300.0 + f64::from(turn), 50.0);
        }
    }
    let mut deadline = ask();
    deadline.preferences.finish_by_ns = Some(600 * super::S);
    let mut long = ask();
    long.prefix = (0..512).collect();
    let mut explained = ask();
    explained.explain = true;
    let asks =
        [("plain", ask()), ("finish_by_ms", deadline), ("512 KiB of prompt", long), ("explained", explained)];
    for (name, ask) in asks {
        let turns = 2000;
        let began = cpu_us();
        let mut candidates = 0;
        for _ in 0..turns {
            candidates += bench.plan(&ask).unwrap().candidates.len();
        }
        assert_eq!(candidates, 10 * turns);
        println!(
            "plan over 10 offers with full windows, {name}: {:.1} us",
            (cpu_us() - began) / turns as f64
        );
    }
    let began = cpu_us();
    for _ in 0..2000 {
        bench.answers("o1", 400.0, 50.0);
    }
    println!("observe: {:.1} us", (cpu_us() - began) / 2000.0);
}
