//! Each field of a row that comes from the response.

mod support;

use paceline_wire::{KIND_CONTENT, KIND_REASONING, KIND_TOOL_CALL, Outcome, Stamp};
use support::{CHAT, COMPLETIONS, Response, STOP, data, delta, events};

#[test]
fn every_generated_token_counts_and_nothing_else() {
    let row = Response::stream(CHAT).observe(&events(&[
        &delta(r#""role":"assistant""#),
        &delta(r#""role":"assistant","content":"""#),
        &delta(r#""content":null"#),
        &delta(r#""reasoning_content":"hm""#),
        &delta(r#""reasoning":" so""#),
        &delta(r#""content":"Yes""#),
        &delta(r#""tool_calls":[{"index":0,"id":"t","type":"function","function":{"name":"f","arguments":""}}]"#),
        &delta(r#""tool_calls":[{"index":0,"function":{"arguments":"{\"a\""}}]"#),
        &delta(r#""tool_calls":[{"index":0,"function":{"arguments":":1"}},{"index":1,"function":{"arguments":"}"}}]"#),
        &delta(r#""function_call":{"name":"g"}"#),
        &delta(r#""function_call":{"arguments":"{}"}"#),
        &delta(r#""refusal":"No""#),
        STOP,
        "[DONE]",
    ]));
    assert_eq!(row.outcome, Outcome::Ok);
    assert_eq!(row.text, "hm soYes{\"a\":1}{}No");
    assert_eq!(
        row.event_kind,
        [
            KIND_REASONING,
            KIND_REASONING,
            KIND_CONTENT,
            KIND_TOOL_CALL,
            KIND_TOOL_CALL,
            KIND_TOOL_CALL,
            KIND_CONTENT
        ]
    );
    assert_eq!(row.event_bytes, [2, 3, 3, 4, 3, 2, 2]);
    assert_eq!(row.event_tokens, [-1; 7]);
    assert_eq!(row.events, 14);
}

#[test]
fn one_event_may_carry_several_kinds_and_choices() {
    let several = r#"{"choices":[{"index":0,"delta":{"content":"a","reasoning_content":"b"}},{"index":1,"delta":{"content":"c"}}]}"#;
    let row = Response::stream(CHAT).observe(&events(&[several, STOP]));
    assert_eq!((row.event_kind, &*row.text), (vec![KIND_CONTENT | KIND_REASONING], "bac"));
}

#[test]
fn reasoning_under_both_names_counts_once() {
    let row = Response::stream(CHAT)
        .observe(&events(&[&delta(r#""reasoning":"hm","reasoning_content":"hm","content":"""#), STOP]));
    assert_eq!((row.event_bytes, &*row.text), (vec![2], "hm"));
}

#[test]
fn every_text_of_a_chat_counts_once() {
    let row = Response::stream(CHAT).observe(&data("openai-chat.all.sse"));
    assert_eq!((row.outcome, &row.error), (Outcome::Ok, &None));
    assert_eq!(row.text, "Hm, größerIt is \"7\" 😀\nseven{\"a\":{}1}No.");
    let (content, reasoning, call) = (KIND_CONTENT, KIND_REASONING, KIND_TOOL_CALL);
    assert_eq!(row.event_kind, [reasoning, reasoning, content, content, call, call, content]);
    assert_eq!(row.event_tokens, [2, 1, 4, 1, 3, 2, 2]);
    assert_eq!(
        (row.prompt_tokens, row.completion_tokens, row.reasoning_tokens),
        (Some(9), Some(15), Some(3))
    );
    assert_eq!((row.cached_tokens, row.cache_write_tokens), (Some(8), Some(1)));
    assert_eq!(row.answer(), "It is \"7\" 😀\nsevenNo.");
}

#[test]
fn reasoning_details_count_where_the_reasoning_is_nowhere_else() {
    let details = r#""reasoning_details":[{"type":"reasoning.text","text":"hm"},{"type":"reasoning.summary","summary":"so"},{"type":"reasoning.encrypted","data":"AAAA"}]"#;
    for (fields, text) in [
        (details.to_owned(), "hmso"),
        (format!(r#"{details},"reasoning":"hm""#), "hm"),
        (format!(r#"{details},"reasoning":"","reasoning_content":null"#), "hmso"),
        (r#""reasoning_details":[],"content":"a""#.to_owned(), "a"),
        (r#""reasoning_details":null,"audio":null,"content":"a""#.to_owned(), "a"),
    ] {
        assert_eq!(Response::stream(CHAT).observe(&events(&[&delta(&fields), STOP])).text, text, "{fields}");
    }
}

#[test]
fn the_answer_is_the_content_and_without_it_whatever_came() {
    for (fields, answer) in [
        (r#""content":"a","reasoning":"b","tool_calls":[{"function":{"arguments":"{}"}}]"#, "a"),
        (r#""reasoning":"b","tool_calls":[{"function":{"arguments":"{}"}}]"#, "b{}"),
        (r#""content":"""#, ""),
    ] {
        let row = Response::stream(CHAT).observe(&events(&[&delta(fields), STOP]));
        assert_eq!(row.answer(), answer, "{fields}");
        let whole = format!(r#"{{"choices":[{{"message":{{{fields}}},"finish_reason":"stop"}}]}}"#);
        assert_eq!(Response::whole(CHAT).observe(&whole).answer(), answer, "{fields}");
    }
    let parts = [r#""content":"a""#, r#""reasoning":"b""#, r#""content":"c""#].map(delta);
    let mut chat = Response::stream(CHAT);
    let row = chat.observe(&events(&[&parts[0], &parts[1], &parts[2], STOP]));
    assert_eq!(row.answer(), "ac");
    // Of an event that cannot be read nothing is kept.
    let broken = r#"{"choices":[{"delta":{"content":"x"}},{"delta":{"content":7}}]}"#;
    assert_eq!(chat.observe(&events(&[&parts[0], broken])).answer(), "a");
    chat.limits.keep_text = false;
    assert_eq!(chat.observe(&events(&[&parts[0], STOP])).answer(), "");
}

#[test]
fn content_parts_are_told_apart() {
    let row = Response::stream(CHAT).observe(&events(&[
        &delta(r#""content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]}]"#),
        &delta(r#""content":[{"type":"text","text":"Yes"}]"#),
        STOP,
    ]));
    assert_eq!((row.event_kind, &*row.text), (vec![KIND_REASONING, KIND_CONTENT], "hmYes"));
}

#[test]
fn a_message_repeated_beside_the_delta_is_nothing_new() {
    let both = r#"{"choices":[{"delta":{"content":"b"},"message":{"content":"ab"}}]}"#;
    assert_eq!(Response::stream(CHAT).observe(&events(&[both, STOP])).text, "b");
}

#[test]
fn completions_carry_text() {
    let row = Response::stream(COMPLETIONS).observe(&events(&[
        r#"{"id":"cmpl-1","object":"text_completion","model":"m","choices":[{"index":0,"text":"On","finish_reason":null,"logprobs":null}]}"#,
        r#"{"id":"cmpl-1","choices":[{"index":0,"text":"","finish_reason":null}]}"#,
        r#"{"id":"cmpl-1","choices":[{"index":0,"text":"ce\n","finish_reason":"length"}]}"#,
        "[DONE]",
    ]));
    assert_eq!((row.outcome, &*row.text, row.event_bytes), (Outcome::Ok, "Once\n", vec![2, 3]));
    assert_eq!((row.finish_reason.as_deref(), row.response_id.as_deref()), (Some("length"), Some("cmpl-1")));
}

#[test]
fn completions_list_their_tokens() {
    let row = Response::stream(COMPLETIONS).observe(&data("openai-completions.all.sse"));
    assert_eq!((row.outcome, &*row.text, row.event_tokens), (Outcome::Ok, "Once überall", vec![2, 1]));
    assert_eq!((row.prompt_tokens, row.completion_tokens), (Some(3), Some(3)));
}

#[test]
fn what_llama_server_sends_is_read() {
    let row = Response::stream(CHAT).observe(&data("openai-chat.llama.sse"));
    assert_eq!(
        (row.outcome, &*row.text, row.finish_reason.as_deref()),
        (Outcome::Ok, "<|im_", Some("length"))
    );
    assert!(row.server_timings.is_some_and(|timings| timings.contains("\"predicted_n\":4")));
    let row = Response::stream(COMPLETIONS).observe(&data("openai-completions.llama.sse"));
    assert_eq!((row.outcome, &*row.text), (Outcome::Ok, " there\ni have"));
    assert_eq!((row.prompt_tokens, row.completion_tokens, row.cached_tokens), (Some(2), Some(4), Some(1)));
}

#[test]
fn names_come_from_the_body_first() {
    let row = Response::stream(CHAT).observe(&events(&[&delta(r#""content":"a""#), STOP, "[DONE]"]));
    assert_eq!(row.response_id.as_deref(), Some("c-1"));
    assert_eq!(row.server_model.as_deref(), Some("m"));
    assert_eq!(row.finish_reason.as_deref(), Some("stop"));
    assert!(row.end_marker && row.streaming);
    assert_eq!((row.status, row.headers_ns), (Some(200), Some(50)));
    let row = Response::stream(CHAT).observe(&events(&[r#"{"choices":[]}"#]));
    assert_eq!(row.response_id.as_deref(), Some("req-1"));
    let long = format!(r#"{{"id":"{}","choices":[]}}"#, "é".repeat(500));
    assert_eq!(Response::stream(CHAT).observe(&events(&[&long])).response_id.map(|id| id.len()), Some(200));
}

#[test]
fn usage_is_taken_from_any_event() {
    let usage = r#""usage":{"prompt_tokens":9,"completion_tokens":4,"completion_tokens_details":{"reasoning_tokens":3},"prompt_tokens_details":{"cached_tokens":8}}"#;
    let last = format!(r#"{{"choices":[],{usage}}}"#);
    let with_stop = STOP.replacen('{', &format!("{{{usage},"), 1);
    for documents in
        [vec![&*delta(r#""content":"a""#), STOP, &last], vec![&*delta(r#""content":"a""#), &with_stop]]
    {
        let row = Response::stream(CHAT).observe(&events(&documents));
        assert_eq!(
            (row.prompt_tokens, row.completion_tokens, row.reasoning_tokens, row.cached_tokens),
            (Some(9), Some(4), Some(3), Some(8))
        );
        assert_eq!(row.event_tokens, [-1]);
    }
    let row = Response::stream(CHAT).observe(&events(&[&delta(r#""content":"a""#), STOP]));
    assert_eq!((row.prompt_tokens, row.completion_tokens), (None, None));
}

#[test]
fn usage_on_each_event_counts_its_tokens() {
    let with_usage = |text: &str, tokens: u32| {
        delta(&format!(r#""content":"{text}""#)).replacen(
            '{',
            &format!(r#"{{"usage":{{"completion_tokens":{tokens}}},"#),
            1,
        )
    };
    let row = Response::stream(CHAT).observe(&events(&[
        &with_usage("", 0),
        &with_usage("a", 1),
        &with_usage("bcd", 4),
        // Half a character was generated: the next event has it.
        &with_usage("", 5),
        &with_usage("é", 6),
        STOP,
    ]));
    assert_eq!(row.event_tokens, [1, 3, 2]);
    assert_eq!(row.completion_tokens, Some(6));
}

#[test]
fn listed_tokens_count() {
    let ids = |ids: &str, text: &str| {
        format!(r#"{{"choices":[{{"index":0,"delta":{{"content":"{text}"}},"token_ids":{ids}}}]}}"#)
    };
    let row = Response::stream(CHAT).observe(&events(&[
        &ids("null", ""),
        &ids("[5]", "a"),
        &ids("[6]", ""),
        &ids("[7,8]", "bc"),
        r#"{"token_ids":[1,2],"choices":[{"delta":{"content":"d"}}]}"#,
        r#"{"choices":[{"delta":{"content":"e"},"logprobs":{"content":[{"token":"e","logprob":-0.1,"top_logprobs":[]}],"refusal":null}}]}"#,
        &delta(r#""content":"f""#),
        STOP,
    ]));
    assert_eq!(row.event_tokens, [1, 3, 2, 1, -1]);
    let row = Response::stream(COMPLETIONS).observe(&events(&[
        r#"{"choices":[{"text":"ab","logprobs":{"tokens":["a","b"],"token_logprobs":[0,0],"text_offset":[0,1]}}]}"#,
        "[DONE]",
    ]));
    assert_eq!(row.event_tokens, [2]);
}

#[test]
fn timings_are_kept_as_they_came() {
    let timings = r#"{"prompt_n": 9, "predicted_ms":12.50 }"#;
    let last = STOP.replacen('{', &format!(r#"{{"timings":{timings},"#), 1);
    let row = Response::stream(CHAT).observe(&events(&[&delta(r#""content":"a""#), &last, "[DONE]"]));
    assert_eq!(row.server_timings.as_deref(), Some(timings));
    let none = STOP.replacen('{', r#"{"timings":null,"#, 1);
    assert_eq!(Response::stream(CHAT).observe(&events(&[&none])).server_timings, None);
}

#[test]
fn arrivals_are_those_of_the_read_that_ends_the_event() {
    let one = events(&[&delta(r#""content":"a""#)]);
    let (head, tail) = one.as_bytes().split_at(20);
    let two = one.repeat(2);
    let row = Response::stream(CHAT).observe_reads(&[
        one.as_bytes(),
        head,
        tail,
        two.as_bytes(),
        ": c\n\n".as_bytes(),
        one.as_bytes(),
        events(&[STOP]).as_bytes(),
    ]);
    assert_eq!(row.event_ns, [100, 300, 400, 400, 600]);
    assert_eq!(row.event_coalesced, [false, false, true, true, false]);
    assert!(row.kernel_stamped);
}

#[test]
fn events_of_one_read_are_coalesced_over_several_calls() {
    let one = events(&[&delta(r#""content":"a""#)]);
    let role = events(&[&delta(r#""role":"assistant""#)]);
    let stamp = |read, kernel| Stamp { ns: 10, kernel, read };
    let pieces = [
        (role.as_bytes(), stamp(1, true)),
        (one.as_bytes(), stamp(1, true)),
        (one.as_bytes(), stamp(2, true)),
        (one.as_bytes(), stamp(2, false)),
        (one.as_bytes(), stamp(2, true)),
    ];
    let row = Response::stream(CHAT).observe_stamped(&pieces).0;
    assert_eq!(row.event_coalesced, [false, true, true, true]);
    assert!(!row.kernel_stamped);
}

#[test]
fn text_is_kept_only_when_asked_for() {
    let mut chat = Response::stream(CHAT);
    chat.limits.keep_text = false;
    let row = chat.observe(&events(&[&delta(r#""content":"añb\n""#), STOP]));
    assert_eq!((&*row.text, row.event_bytes), ("", vec![5]));
}

#[test]
fn what_follows_the_end_marker_is_ignored() {
    let body = events(&[&delta(r#""content":"a""#), STOP, "[DONE]", &delta(r#""content":"b""#), "{nonsense"]);
    let row = Response::stream(CHAT).observe_reads(&[body.as_bytes(), b"data: {more"]);
    assert_eq!((row.outcome, &*row.text, row.events), (Outcome::Ok, "a", 3));
    assert_eq!(row.bytes_received, body.len() as u64 + 11);
}

#[test]
fn keep_alive_without_data_is_no_error() {
    let body = ": ping\n\ndata:\n\ndata: \n\n".to_owned() + &events(&[&delta(r#""content":"a""#), STOP]);
    let row = Response::stream(CHAT).observe(&body);
    assert_eq!((row.outcome, row.events), (Outcome::Ok, 4));
}

#[test]
fn a_non_streaming_answer_is_one_token_event_at_its_last_byte() {
    let body = r#"{"id":"c-9","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Hello","reasoning_content":"hm","tool_calls":null},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":7}}"#;
    let row = Response::whole(CHAT).observe_reads(&[&body.as_bytes()[..50], &body.as_bytes()[50..]]);
    assert_eq!((row.outcome, row.error), (Outcome::Ok, None));
    assert_eq!((row.event_ns, row.event_kind), (vec![200], vec![KIND_CONTENT | KIND_REASONING]));
    assert_eq!((row.event_tokens, row.event_bytes, row.event_coalesced), (vec![7], vec![7], vec![false]));
    assert_eq!((&*row.text, row.events, row.end_marker, row.streaming), ("hmHello", 1, false, false));
    assert_eq!((row.response_id.as_deref(), row.finish_reason.as_deref()), (Some("c-9"), Some("stop")));
    let row = Response::whole(COMPLETIONS).observe(r#"{"choices":[{"text":"Hi","finish_reason":"length"}]}"#);
    assert_eq!((row.outcome, &*row.text, row.event_tokens), (Outcome::Ok, "Hi", vec![-1]));
}
