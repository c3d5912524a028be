//! The row does not depend on where the bytes are split, and no bytes do harm.

mod support;

use paceline_wire::{BodyEnd, Limits, Observation, Outcome, Protocol, Stamp};
use proptest::prelude::*;
use proptest::sample::Index;
use support::{CHAT, Response, STOP, corpus, delta, events};

const STAMP: Stamp = Stamp { ns: 10, kernel: true, read: 1 };

fn observe(response: &Response, pieces: &[&[u8]]) -> (Observation, bool) {
    let stamped: Vec<_> = pieces.iter().map(|piece| (*piece, STAMP)).collect();
    response.observe_stamped(&stamped)
}

fn pieces<'a>(bytes: &'a [u8], cuts: &[Index]) -> Vec<&'a [u8]> {
    let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
    at.extend([0, bytes.len()]);
    at.sort_unstable();
    at.windows(2).map(|ends| &bytes[ends[0]..ends[1]]).collect()
}

/// Bodies that between them take every path, of every protocol.
fn bodies() -> Vec<String> {
    let recorded = corpus().into_iter().flat_map(|(body, _)| [body.replace('\n', "\r\n"), body]);
    chat_bodies().into_iter().chain(recorded).collect()
}

fn chat_bodies() -> Vec<String> {
    let usual = events(&[
        &delta(r#""role":"assistant","content":"""#),
        &delta(r#""reasoning_content":"häm""#),
        &delta(r#""content":"Größe 😀 \"x\" \n""#),
        &delta(r#""tool_calls":[{"function":{"arguments":"{}"}}]"#),
        STOP,
        r#"{"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2},"timings":{"a":1}}"#,
        "[DONE]",
    ]);
    vec![
        usual.replace('\n', "\r\n"),
        usual.replace('\n', "\r"),
        usual.replace("data: ", ": ping\n\nid: 1\nevent: x\ndata:"),
        usual.replace(",\"model\"", "\ndata: ,\"model\""),
        format!("\u{feff}{usual}"),
        usual.replace("[DONE]\n\n", "[DONE]"),
        usual.replace("[DONE]", "{\"x\":"),
        usual.replace("STOP", "x")
            + "event: error\ndata: {\"message\":\"m\"}\n\ndata: [DONE]\n\ndata: junk\n\n",
        events(&[
            &delta(r#""content":"a""#),
            r#"{"error":{"message":"overloaded"}}"#,
            &delta(r#""content":"b""#),
        ]),
        events(&[&delta(&format!(r#""content":"{}""#, "long ".repeat(60)))]) + &usual,
        r#" {"id":"c","choices":[{"message":{"content":"Größe"},"text":"a","finish_reason":"stop"}]} "#
            .to_owned(),
        r#"{"error":{"message":"bad key sk-123456"}}"#.to_owned(),
        "<html>Größe</html>".to_owned(),
        "nothing of the kind\n".to_owned(),
        usual,
    ]
}

fn response() -> impl Strategy<Value = Response> {
    let end = prop::sample::select(vec![BodyEnd::Complete, BodyEnd::Cut("cut".into()), BodyEnd::Timeout]);
    let status = prop::sample::select(vec![200, 200, 200, 429, 500]);
    let limits = (
        prop::sample::select(vec![60, 250, 1 << 20]),
        prop::sample::select(vec![30, 1 << 16]),
        any::<bool>(),
    );
    let protocol = prop::sample::select(Protocol::ALL.to_vec());
    (protocol, any::<bool>(), status, end, limits).prop_map(|(protocol, streaming, status, end, limits)| {
        let (max_event_bytes, max_body_bytes, keep_text) = limits;
        let limits = Limits { max_event_bytes, keep_text, max_body_bytes };
        Response { streaming, status, end, limits, ..Response::stream(protocol) }
    })
}

fn check_bounds(row: &Observation, bytes: usize) {
    let events = row.event_ns.len();
    for length in
        [row.event_kind.len(), row.event_tokens.len(), row.event_bytes.len(), row.event_coalesced.len()]
    {
        assert_eq!(length, events);
    }
    assert!(row.text.len() <= bytes && row.bytes_received == bytes as u64);
    assert!(row.error.as_ref().is_none_or(|error| error.chars().count() <= 500));
}

#[test]
fn a_body_cut_at_each_byte_is_the_same() {
    let of_chat = chat_bodies().into_iter().flat_map(|body| {
        [Response::stream(CHAT), Response::whole(CHAT)].map(|response| (body.clone(), response))
    });
    for (body, response) in corpus().into_iter().chain(of_chat) {
        let whole = observe(&response, &[body.as_bytes()]);
        for cut in 1..body.len() {
            let (head, tail) = body.as_bytes().split_at(cut);
            assert_eq!(observe(&response, &[head, tail]), whole, "{body:?} cut at {cut}");
        }
    }
}

#[test]
fn every_recorded_response_is_what_its_name_says() {
    for (body, response) in corpus() {
        let row = observe(&response, &[body.as_bytes()]).0;
        let expected = if body.contains("error\":{") { Outcome::ErrorInStream } else { Outcome::Ok };
        assert_eq!(row.outcome, expected, "{body}");
    }
}

proptest! {
    #[test]
    fn any_split_observes_the_same(
        response in response(),
        body in prop::sample::select(bodies()),
        cuts in prop::collection::vec(any::<Index>(), 0..20),
        end in any::<Index>(),
    ) {
        let bytes = &body.as_bytes()[..=end.index(body.len())];
        let whole = observe(&response, &[bytes]);
        prop_assert_eq!(&observe(&response, &pieces(bytes, &cuts)), &whole);
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        prop_assert_eq!(&observe(&response, &single), &whole);
    }

    #[test]
    fn any_bytes_are_borne(
        response in response(),
        bytes in prop::collection::vec(any::<u8>(), 0..500),
        cuts in prop::collection::vec(any::<Index>(), 0..6),
    ) {
        let (row, _) = observe(&response, &pieces(&bytes, &cuts));
        check_bounds(&row, bytes.len());
    }

    #[test]
    fn a_body_with_wrong_bytes_is_borne_the_same_at_any_split(
        response in response(),
        body in prop::sample::select(bodies()),
        wrong in prop::collection::vec((any::<Index>(), any::<u8>()), 1..6),
        cuts in prop::collection::vec(any::<Index>(), 0..6),
    ) {
        let mut bytes = body.into_bytes();
        for (at, byte) in wrong {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let whole = observe(&response, &[&bytes]);
        check_bounds(&whole.0, bytes.len());
        prop_assert_eq!(observe(&response, &pieces(&bytes, &cuts)), whole);
    }
}
