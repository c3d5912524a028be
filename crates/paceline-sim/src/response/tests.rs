use std::sync::Arc;

use super::*;
use crate::config::{EngineConfig, ExactConfig, Mode, SimConfig};
use crate::prefix_cache::Hit;
use crate::request;
use crate::text::Text;

const BODY: &str = r#"{"model": "truth", "stream": true, "max_tokens": 4, "messages": [{"content": "a b"}]}"#;

fn setup(mode: Mode, fault: Option<&str>, body: &str) -> Response {
    setup_of(Protocol::Chat, mode, fault, body)
}

fn setup_of(protocol: Protocol, mode: Mode, fault: Option<&str>, body: &str) -> Response {
    let call = request::parse(protocol, body.as_bytes(), &SimConfig::default()).unwrap();
    let exact = ExactConfig { ttft_us: 10, itl_us: 2, output_tokens: 6, ..ExactConfig::default() };
    Response::new(Setup {
        number: 7,
        call: &call,
        mode,
        exact: &exact,
        engine: &EngineConfig::default(),
        fault: fault.map(|fault| serde_json::from_str(fault).unwrap()),
        stage: None,
        text: Arc::new(Text::plain(1)),
        received_ns: 1_000_000,
        created_s: 0,
        keep_alive: true,
        log_events: true,
        hit: Hit::default(),
        headers: Headers::new(),
    })
}

const FIVE: Hit = Hit { cached_tokens: 5, written_tokens: 0 };

/// Fires all steps that are due for ever, and returns each one's instant, its number of bytes and its verdict.
fn play(response: &mut Response) -> Vec<(i64, usize, Verdict)> {
    let mut steps = Vec::new();
    while let Some(due_ns) = response.due_ns() {
        let mut out = Outbox::default();
        let verdict = response.fire(&mut out);
        if !out.bytes.is_empty() {
            response.mark_sent(due_ns);
        }
        steps.push((due_ns, out.bytes.len(), verdict));
        if verdict != Verdict::Continue {
            break;
        }
    }
    steps
}

fn dues(steps: &[(i64, usize, Verdict)]) -> Vec<i64> {
    steps.iter().map(|(due_ns, _, _)| due_ns - 1_000_000).collect()
}

#[test]
fn a_stream_has_its_head_at_once_and_each_event_when_it_is_due() {
    let mut response = setup(Mode::Exact, None, BODY);
    let steps = play(&mut response);
    assert_eq!(dues(&steps), [0, 10_000, 12_000, 14_000, 16_000]);
    assert_eq!(steps.last().unwrap().2, Verdict::Done);
    let truth = response.into_truth(5, None, None);
    assert_eq!(truth.headers_sent_ns, Some(1_000_000));
    let sent: Vec<i64> = truth.events.iter().map(|event| event.sent_ns - 1_000_000).collect();
    assert_eq!(sent, [10_000, 12_000, 14_000, 16_000]);
    assert_eq!((truth.end, truth.end_ns, truth.prompt_tokens), (End::Complete, 5, 2));
}

#[test]
fn a_whole_answer_is_one_step() {
    let mut response = setup(Mode::Exact, None, &BODY.replace("true", "false"));
    let steps = play(&mut response);
    assert_eq!((dues(&steps), steps[0].2), (vec![16_000], Verdict::Done));
    let truth = response.into_truth(0, None, None);
    assert_eq!(truth.events, [SentEvent { sent_ns: 1_016_000, tokens: 4, kind: 1 }]);
}

#[test]
fn coalesced_events_wait_for_the_last_of_their_write() {
    let mut response = setup(Mode::Exact, Some(r#"{"kind": "coalesce", "events": 3}"#), BODY);
    let steps = play(&mut response);
    let silent: Vec<bool> = steps.iter().map(|(_, bytes, _)| *bytes == 0).collect();
    assert_eq!(silent, [false, true, true, false, false]);
    let sent: Vec<i64> =
        response.into_truth(0, None, None).events.iter().map(|e| e.sent_ns - 1_000_000).collect();
    assert_eq!(sent, [14_000, 14_000, 14_000, 16_000]);
}

#[test]
fn an_interruption_comes_when_the_next_event_was_due() {
    for (fault, due_ns, verdict, end) in [
        (r#"{"kind": "cut", "after_events": 2}"#, 14_000, Verdict::Cut, End::Cut),
        (r#"{"kind": "reset", "after_events": 0}"#, 10_000, Verdict::Reset, End::Reset),
        (r#"{"kind": "error_event", "after_events": 1}"#, 12_000, Verdict::Done, End::Error),
        // Fewer events than that: after the last one, in place of the end.
        (r#"{"kind": "cut", "after_events": 50}"#, 18_000, Verdict::Cut, End::Cut),
    ] {
        let mut response = setup(Mode::Exact, Some(fault), BODY);
        let steps = play(&mut response);
        assert_eq!((*dues(&steps).last().unwrap(), steps.last().unwrap().2), (due_ns, verdict), "{fault}");
        assert_eq!(response.into_truth(0, None, None).end, end);
    }
    let mut response = setup(Mode::Exact, Some(r#"{"kind": "stall", "after_events": 1}"#), BODY);
    assert_eq!(dues(&play(&mut response)), [0, 10_000]);
    assert_eq!(response.due_ns(), None);
}

#[test]
fn engine_mode_sends_what_the_model_has_made() {
    let mut response = setup(Mode::Engine, None, BODY);
    assert_eq!(response.output_tokens(), 4);
    assert_eq!(dues(&play(&mut response)), [0]);
    response.provide(1_030_000, 1, FIVE, false);
    assert_eq!(dues(&play(&mut response)), [30_000]);
    response.provide(1_040_000, 3, FIVE, true);
    let steps = play(&mut response);
    assert_eq!((dues(&steps), steps[0].2), (vec![40_000], Verdict::Done));
    let truth = response.into_truth(0, None, None);
    assert_eq!(
        (truth.cached_tokens, truth.events.iter().map(|e| e.tokens).collect::<Vec<_>>()),
        (5, vec![1, 3])
    );

    let mut whole = setup(Mode::Engine, None, &BODY.replace("true", "false"));
    whole.provide(1_030_000, 1, Hit::default(), false);
    assert_eq!(whole.due_ns(), None, "not before the last token");
    whole.provide(1_040_000, 3, Hit::default(), true);
    assert_eq!(dues(&play(&mut whole)), [40_000]);
}

#[test]
fn a_late_head_holds_the_models_tokens_back() {
    let mut response = setup(Mode::Engine, Some(r#"{"kind": "slow_headers", "us": 50}"#), BODY);
    response.provide(1_030_000, 4, Hit::default(), true);
    assert_eq!(dues(&play(&mut response)), [50_000, 50_000]);
}

#[test]
fn where_an_event_has_one_kind_the_log_has_one_for_each() {
    let body = r#"{"model": "truth", "stream": true, "max_tokens": 6, "messages": [{"role": "user", "content": "a"}]}"#;
    let exact = ExactConfig { reasoning_tokens: 3, ..ExactConfig::default() };
    let call = request::parse(Protocol::Messages, body.as_bytes(), &SimConfig::default()).unwrap();
    let mut response = Response::new(Setup {
        number: 7,
        call: &call,
        mode: Mode::Exact,
        exact: &ExactConfig { tokens_per_event: 4, ..exact },
        engine: &EngineConfig::default(),
        fault: None,
        stage: None,
        text: Arc::new(Text::plain(1)),
        received_ns: 0,
        created_s: 0,
        keep_alive: true,
        log_events: true,
        hit: Hit::default(),
        headers: Headers::new(),
    });
    play(&mut response);
    let events: Vec<(u32, u8)> =
        response.into_truth(0, None, None).events.iter().map(|event| (event.tokens, event.kind)).collect();
    assert_eq!(events, [(3, 2), (1, 1), (2, 1)]);
}

#[test]
fn an_embedding_is_due_with_what_would_be_the_first_token() {
    let body = r#"{"model": "truth", "input": "a b"}"#;
    let mut response = setup_of(Protocol::Embeddings, Mode::Exact, None, body);
    assert_eq!(dues(&play(&mut response)), [10_000]);
    let truth = response.into_truth(0, None, None);
    assert_eq!(truth.events, [SentEvent { sent_ns: 1_010_000, tokens: 0, kind: 8 }]);
    let mut response = setup_of(Protocol::Embeddings, Mode::Engine, None, body);
    assert_eq!((response.output_tokens(), response.due_ns()), (1, None));
    response.provide(1_030_000, 1, Hit::default(), true);
    assert_eq!(dues(&play(&mut response)), [30_000]);
}
