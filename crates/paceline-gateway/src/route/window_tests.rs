//! Samples, their weights, drift.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::*;

const S: i64 = 1_000_000_000;
const MS: f64 = 1e6;
const WINDOW_NS: i64 = 600 * S;

/// Log-normal around `median`, a factor of 1.3 either way (a sum of uniforms stands for the normal).
fn draw(rng: &mut ChaCha8Rng, median: f64) -> f64 {
    let normal: f64 = (0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0;
    median * (0.26 * normal).exp()
}

fn median(window: &mut Window, tokens: f64, now_ns: i64) -> f64 {
    window.next(tokens, now_ns).unwrap().quantile(0.5).0
}

#[test]
fn age_and_size_weigh_by_hand() {
    let mut window = Window::new(400 * S);
    window.add(0, 1000.0, 10.0, false, 0);
    window.add(0, 1000.0, 20.0, false, 100 * S);
    // The half-life is 100 s: weights 1/2 and 1.
    let seen = window.next(1000.0, 100 * S).unwrap();
    assert!((seen.at(10.0) - 1.0 / 3.0).abs() < 1e-9);
    assert!((seen.effective() - 2.25 / 1.25).abs() < 1e-9);
    // Another half-life without a sample: the same shares, and half the count.
    let later = window.next(1000.0, 200 * S).unwrap();
    assert!((later.at(10.0) - 1.0 / 3.0).abs() < 1e-9);
    assert!((later.effective() - 0.9).abs() < 1e-9);
    // One octave away (with 64 tokens on either side): half the weight for the far one.
    let mut window = Window::new(400 * S);
    window.add(0, 960.0, 10.0, false, 0);
    window.add(0, 1984.0, 20.0, false, 0);
    let seen = window.next(1984.0, 0).unwrap();
    assert!((seen.at(seen.quantile(0.0).0) - 1.0 / 3.0).abs() < 1e-9, "{seen:?}");
}

#[test]
fn the_ring_is_bounded_and_old_samples_go() {
    let mut window = Window::new(WINDOW_NS);
    for turn in 0..1000 {
        window.add(0, 100.0, 1.0 + turn as f64, false, turn);
    }
    assert_eq!(window.samples.len(), SAMPLES);
    assert!(window.samples.iter().all(|sample| sample.at_ns >= 744), "the oldest go first");
    assert_eq!(window.count(WINDOW_NS + 2000), 0);
    assert!(window.next(100.0, WINDOW_NS + 2000).is_none());
    window.add(0, 100.0, 5.0, false, WINDOW_NS + 2000);
    assert_eq!(window.samples.len(), 1);
}

#[test]
fn a_tripled_ttft_shows_within_five_samples_and_so_does_recovery() {
    let (mut soon, mut changes) = (0, 0);
    for seed in 0..50 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut window = Window::new(WINDOW_NS);
        let mut now_ns = 0;
        for (stretch, level) in [300.0, 900.0, 300.0].into_iter().enumerate() {
            let before = stretch > 0;
            changes += i32::from(before);
            for turn in 0..200 {
                now_ns += S / 2;
                window.add(0, 500.0, draw(&mut rng, level * MS), false, now_ns);
                let off = median(&mut window, 500.0, now_ns) / (level * MS);
                soon += i32::from(before && turn == 4 && (0.6..1.6).contains(&off));
                let settled = before && turn >= 9;
                assert!(!settled || (0.55..1.8).contains(&off), "seed {seed}, {level}, sample {turn}: {off}");
            }
        }
    }
    assert!(soon * 100 >= changes * 95, "{soon} of {changes} after five samples");
}

#[test]
fn without_a_change_the_window_is_kept() {
    let mut alarms = 0;
    for seed in 0..50 {
        let mut rng = ChaCha8Rng::seed_from_u64(100 + seed);
        let mut window = Window::new(WINDOW_NS);
        for turn in 0..400 {
            window.add(0, 500.0, draw(&mut rng, 300.0 * MS), false, turn * S);
        }
        alarms += window.changes();
    }
    assert!(alarms <= 25, "{alarms} false alarms in 20,000 samples");
}

#[test]
fn ttft_is_predicted_for_the_size() {
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let mut window = Window::new(WINDOW_NS);
    for turn in 0..256 {
        let tokens = (6.0 + 9.0 * rng.random::<f64>()).exp2();
        window.add(0, tokens, draw(&mut rng, (100.0 + 0.1 * tokens) * MS), false, turn * S / 10);
    }
    for tokens in [64.0, 500.0, 4000.0, 30_000.0, 100_000.0] {
        let off = median(&mut window, tokens, 26 * S) / ((100.0 + 0.1 * tokens) * MS);
        assert!((0.8..1.3).contains(&off), "{tokens}: {off}");
    }
}

#[test]
fn sizes_beyond_what_was_seen_are_never_faster() {
    let mut window = Window::new(WINDOW_NS);
    for turn in 0..50 {
        window.add(0, 1000.0, 200.0 * MS, false, turn * S);
    }
    let at = |window: &mut Window, tokens| median(window, tokens, 50 * S);
    assert_eq!(at(&mut window, 10.0), 200.0 * MS);
    assert_eq!(at(&mut window, 11_000.0), 1200.0 * MS);
    assert!(window.next(11_000.0, 50 * S).unwrap().effective() <= 50.0);
}

#[test]
fn intervals_and_probabilities_hold_with_sizes_and_ages() {
    let mut rng = ChaCha8Rng::seed_from_u64(6);
    let (mut covered, mut predicted, mut met) = (0, 0.0, 0);
    for _ in 0..400 {
        let mut window = Window::new(WINDOW_NS);
        for turn in 0..150 {
            let tokens = (6.0 + 6.0 * rng.random::<f64>()).exp2();
            window.add(0, tokens, draw(&mut rng, (100.0 + 0.1 * tokens) * MS), false, turn * S);
        }
        let tokens = (6.0 + 6.0 * rng.random::<f64>()).exp2();
        let truth = (100.0 + 0.1 * tokens) * MS;
        let seen = window.next(tokens, 150 * S).unwrap();
        let figure = seen.figure(0.5);
        covered +=
            i32::from(figure.lo.is_some_and(|lo| lo <= truth) && figure.hi.is_some_and(|hi| hi >= truth));
        predicted += seen.probability(1.25 * truth).value;
        met += i32::from(draw(&mut rng, truth) <= 1.25 * truth);
    }
    assert!(covered >= 360, "{covered} of 400");
    assert!((predicted - f64::from(met)).abs() < 28.0, "{predicted} predicted, {met} met");
}

#[test]
fn requests_that_wait_show_a_stall_before_any_has_ended() {
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let mut window = Window::new(WINDOW_NS);
    for turn in 0..100 {
        window.add(0, 500.0, draw(&mut rng, 300.0 * MS), false, turn * S);
    }
    for ticket in 1..=5 {
        window.waits(ticket, 500.0, 100 * S);
    }
    assert!(median(&mut window, 500.0, 100 * S + S / 10) < 400.0 * MS, "not late yet");
    let stalled = window.next(500.0, 105 * S).unwrap();
    assert!(stalled.mean() > 3000.0 * MS, "{}", stalled.mean());
    assert!(stalled.probability(1000.0 * MS).value < 0.4);
    for ticket in 1..=5 {
        window.waits_no_more(ticket);
    }
    assert!(median(&mut window, 500.0, 105 * S) < 400.0 * MS, "and it was nothing, if they come after all");
}

#[test]
fn a_censored_sample_is_at_least_that_late() {
    let mut window = Window::new(WINDOW_NS);
    for turn in 0..20 {
        window.add(0, 500.0, 100.0 + f64::from(turn), false, i64::from(turn));
    }
    for turn in 20..40 {
        window.add(0, 500.0, 5000.0, true, turn);
    }
    let (value, at_least) = window.next(500.0, 40).unwrap().quantile(0.9);
    assert_eq!((value, at_least), (5000.0, true));
}

#[test]
fn a_sample_is_corrected_by_its_ticket() {
    let mut window = Window::new(WINDOW_NS);
    window.add(7, 5000.0, 100.0, false, 0);
    assert!(window.correct(7, 20.0));
    assert!(!window.correct(8, 20.0));
    assert_eq!(window.median_tokens(), 20.0);
    assert_eq!(window.samples.len(), 1);
}

#[test]
fn the_epoch_moves_on() {
    let mut window = Window::new(4 * S);
    for turn in 0..3000 {
        window.add(0, 500.0, 100.0 + turn as f64, false, turn * S);
    }
    let seen = window.next(500.0, 2999 * S).unwrap();
    assert!(seen.quantile(0.5).0 > 3000.0 && seen.effective().is_finite());
}
