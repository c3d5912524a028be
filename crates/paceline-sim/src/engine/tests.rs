use super::*;

const MS: i64 = 1_000_000;

fn config() -> EngineConfig {
    EngineConfig {
        slots: 2,
        prefill_tok_s: 1_000.0,
        prefill_base_us: 2_000,
        decode_step_base_us: 8_000,
        decode_step_per_seq_us: 1_000,
        prefix_cache: false,
        cached_prefill_share: 0.0,
        queue_limit: 2,
        ..EngineConfig::default()
    }
}

fn job(number: u64, prompt_tokens: u64, output_tokens: u64) -> Job {
    Job { number, prompt_tokens, prefix_hashes: Vec::new(), output_tokens }
}

fn run(model: &mut EngineModel) -> Vec<Emission> {
    let mut out = Vec::new();
    model.advance(i64::MAX, &mut out);
    out
}

fn due_ms(emissions: &[Emission], number: u64) -> Vec<i64> {
    emissions.iter().filter(|e| e.number == number).map(|e| e.due_ns / MS).collect()
}

#[test]
fn one_request_has_its_prefill_and_then_a_token_a_step() {
    let mut model = EngineModel::new(config(), 1);
    model.submit(job(1, 10, 4), 100 * MS).unwrap();
    assert_eq!(model.next_ns(), Some(112 * MS));
    let out = run(&mut model);
    assert_eq!(due_ms(&out, 1), [112, 121, 130, 139]);
    assert_eq!(out.iter().map(|e| e.last).collect::<Vec<_>>(), [false, false, false, true]);
    assert_eq!(model.next_ns(), None);
}

#[test]
fn a_second_sequence_makes_steps_longer_but_its_prefill_does_not_stop_them() {
    let mut model = EngineModel::new(config(), 1);
    model.submit(job(1, 10, 6), 0).unwrap();
    model.submit(job(2, 10, 2), 0).unwrap();
    let out = run(&mut model);
    // The second prefill ends at 24, in the middle of the step 21 to 30, and joins at 30: that step takes 10.
    assert_eq!(due_ms(&out, 1), [12, 21, 30, 40, 49, 58]);
    assert_eq!(due_ms(&out, 2), [24, 40]);
}

#[test]
fn requests_wait_in_order_for_a_slot_and_the_queue_is_bounded() {
    let mut model = EngineModel::new(config(), 1);
    for number in 1..=4 {
        model.submit(job(number, 0, 2), 0).unwrap();
    }
    assert_eq!((model.submit(job(5, 0, 2), 0), model.queued()), (Err(QueueFull), 2));
    let out = run(&mut model);
    let firsts: Vec<u64> = (1..=4).map(|n| due_ms(&out, n)[0] as u64).collect();
    // Slots are free at 11 (request 1) and, since request 2 joins then, at 20.
    assert_eq!(due_ms(&out, 1), [2, 11]);
    assert_eq!(due_ms(&out, 2), [4, 20]);
    assert_eq!(firsts, [2, 4, 13, 22]);
    assert_eq!(model.queued(), 0);
}

#[test]
fn a_cancelled_request_frees_its_slot() {
    let mut model = EngineModel::new(config(), 1);
    for number in 1..=3 {
        model.submit(job(number, 0, 1_000), 0).unwrap();
    }
    model.cancel(1, 5 * MS);
    assert_eq!(model.queued(), 0, "the third has the slot now");
    model.cancel(2, 6 * MS);
    model.cancel(3, 7 * MS);
    model.cancel(99, 7 * MS);
    assert!(run(&mut model).is_empty());
}

#[test]
fn a_late_caller_gets_the_planned_instants() {
    let mut early = EngineModel::new(config(), 1);
    let mut late = EngineModel::new(config(), 1);
    for model in [&mut early, &mut late] {
        model.submit(job(1, 10, 40), 0).unwrap();
        model.submit(job(2, 30, 40), 0).unwrap();
    }
    let mut stepped = Vec::new();
    for now in 0..2_000 {
        early.advance(now * MS, &mut stepped);
    }
    assert_eq!(stepped, run(&mut late));
}

#[test]
fn a_known_prefix_is_not_computed_again() {
    let cached = EngineConfig { prefix_cache: true, ..config() };
    let mut model = EngineModel::new(cached, 1);
    let prompt = |number| Job { number, prompt_tokens: 40, prefix_hashes: vec![7, 8], output_tokens: 1 };
    model.submit(prompt(1), 0).unwrap();
    let first = run(&mut model);
    model.submit(prompt(2), 100 * MS).unwrap();
    let second = run(&mut model);
    assert_eq!((first[0].due_ns, first[0].hit.cached_tokens), (42 * MS, 0));
    assert_eq!((second[0].due_ns, second[0].hit.cached_tokens), (110 * MS, 32));
    model.submit(Job { prompt_tokens: 32, ..prompt(3) }, 200 * MS).unwrap();
    assert_eq!(run(&mut model)[0].hit.cached_tokens, 31, "the last prompt token is always computed");
}

#[test]
fn bursts_are_seeded_bounded_and_as_frequent_as_asked() {
    let spec =
        EngineConfig { spec_burst: Some(SpecBurst { max_tokens: 4, acceptance: 0.6 }), slots: 1, ..config() };
    let sizes = |seed| {
        let mut model = EngineModel::new(spec.clone(), seed);
        model.submit(job(1, 0, 20_000), 0).unwrap();
        run(&mut model).iter().map(|e| e.tokens).collect::<Vec<_>>()
    };
    let got = sizes(1);
    assert_eq!(got, sizes(1));
    assert_ne!(got, sizes(2));
    assert_eq!(got.iter().sum::<u64>(), 20_000, "never more than asked");
    assert!(got.iter().all(|tokens| (1..=4).contains(tokens)));
    let mean = 20_000.0 / got.len() as f64;
    let expected = 1.0 + 0.6 + 0.36 + 0.216;
    assert!((mean - expected).abs() < 0.05, "{mean} {expected}");
}

#[test]
fn nothing_runs_when_nothing_is_asked() {
    let mut model = EngineModel::new(config(), 1);
    assert_eq!(model.next_ns(), None);
    assert!(run(&mut model).is_empty());
}

/// Answers a second while there are always `clients` requests in flight, counted over a long time.
fn saturated_requests_s(config: &EngineConfig, clients: u64, prompt_tokens: u64, output_tokens: u64) -> f64 {
    const SECONDS: i64 = 600;
    let mut model = EngineModel::new(config.clone(), 1);
    for number in 0..clients {
        model.submit(job(number, prompt_tokens, output_tokens), 0).unwrap();
    }
    let (mut next, mut ended, mut out) = (clients, 0u64, Vec::new());
    while let Some(at_ns) = model.next_ns().filter(|at_ns| *at_ns < SECONDS * 1_000 * MS) {
        model.advance(at_ns, &mut out);
        for emission in out.drain(..).filter(|emission| emission.last) {
            ended += 1;
            model.submit(job(next, prompt_tokens, output_tokens), emission.due_ns).unwrap();
            next += 1;
        }
    }
    ended as f64 / SECONDS as f64
}

/// The formula of docs/reference/sim.md.
fn capacity_requests_s(config: &EngineConfig, prompt_tokens: u64, output_tokens: u64) -> f64 {
    let prefill_s = config.prefill_base_us as f64 / 1e6 + prompt_tokens as f64 / config.prefill_tok_s;
    let (base_s, per_seq_s) =
        (config.decode_step_base_us as f64 / 1e6, config.decode_step_per_seq_us as f64 / 1e6);
    let steps = (output_tokens - 1) as f64;
    // Solved by turns: the rate decides how many sequences decode, and these decide the step.
    let mut rate = 1.0 / prefill_s;
    for _ in 0..1_000 {
        let decoding = (config.slots as f64 - rate * prefill_s).max(1.0);
        let step_s = base_s + per_seq_s * decoding;
        let join_s = if config.slots > 1 && steps > 0.0 { step_s / 2.0 } else { 0.0 };
        let in_slot_s = prefill_s + join_s + steps * step_s;
        let wanted = (config.slots as f64 / in_slot_s).min(1.0 / prefill_s);
        rate = 0.5 * rate + 0.5 * wanted;
    }
    rate
}

#[test]
fn capacity_follows_from_the_configuration() {
    let base = EngineConfig { queue_limit: 10_000, ..config() };
    for (slots, prefill_tok_s, prompt_tokens, output_tokens) in [
        (8, 8_000.0, 128, 64),
        (8, 1_000.0, 500, 64),
        (32, 8_000.0, 128, 200),
        (1, 8_000.0, 64, 32),
        (16, 20_000.0, 1_000, 100),
        (8, 2_000.0, 400, 1),
    ] {
        let config = EngineConfig { slots, prefill_tok_s, ..base.clone() };
        let got = saturated_requests_s(&config, 2 * slots as u64, prompt_tokens, output_tokens);
        let expected = capacity_requests_s(&config, prompt_tokens, output_tokens);
        assert!((got / expected - 1.0).abs() < 0.005, "{slots} slots: {got} a second, not {expected}");
    }
}

#[test]
fn prefills_alone_are_one_server_with_a_fixed_service_time() {
    let config = EngineConfig { slots: 10_000, prefill_tok_s: 10_000.0, ..config() };
    // 2 ms and 80 tokens at 10 a ms: 10 ms. At 70 a second the server is busy for 70 % of the time.
    let (service_s, rate) = (0.010, 70.0);
    let mut model = EngineModel::new(config, 1);
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let (mut at_s, mut sum_s, mut out) = (0.0f64, 0.0f64, Vec::new());
    let arrivals = 200_000u32;
    for number in 0..u64::from(arrivals) {
        at_s -= (1.0 - rng.random::<f64>()).ln() / rate;
        let at_ns = (at_s * 1e9) as i64;
        model.advance(at_ns, &mut out);
        out.clear();
        model.submit(job(number, 80, 1), at_ns).unwrap();
        // Its own prefill ends last of those that are known.
        sum_s += (model.prefill_free_ns - at_ns) as f64 / 1e9;
    }
    let expected_s = service_s + rate * service_s * service_s / (2.0 * (1.0 - rate * service_s));
    let mean_s = sum_s / f64::from(arrivals);
    assert!((mean_s / expected_s - 1.0).abs() < 0.03, "{mean_s} s, not {expected_s} s");
}
