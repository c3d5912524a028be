//! OpenAI embeddings.

mod support;

use paceline_wire::{KIND_EMBEDDING, Observation, Outcome};
use support::{EMBEDDINGS, Response, data};

fn whole(body: &str) -> Observation {
    Response::whole(EMBEDDINGS).observe(body)
}

#[test]
fn vectors_are_one_event_of_no_text_at_the_last_byte() {
    for name in ["openai-embeddings.llama.json", "openai-embeddings.base64.json"] {
        let body = data(name);
        let (head, tail) = body.as_bytes().split_at(40);
        let row = Response::whole(EMBEDDINGS).observe_reads(&[head, tail]);
        assert_eq!((row.outcome, &row.error), (Outcome::Ok, &None));
        assert_eq!((row.event_ns, row.event_kind), (vec![200], vec![KIND_EMBEDDING]));
        assert_eq!((row.event_bytes, row.event_tokens, &*row.text), (vec![0], vec![-1], ""));
        assert_eq!(row.finish_reason.as_deref(), Some("completed"));
        assert_eq!(row.server_model.as_deref(), Some("m"));
        assert!(row.prompt_tokens.is_some_and(|tokens| tokens > 0));
        assert_eq!((row.completion_tokens, row.events, row.streaming), (None, 1, false));
    }
}

#[test]
fn there_are_no_generated_tokens_even_where_the_server_counts_them() {
    let row = whole(
        r#"{"data":[{"embedding":[1]}],"usage":{"prompt_tokens":5,"completion_tokens":0,"total_tokens":5,"completion_tokens_details":{"reasoning_tokens":0}}}"#,
    );
    assert_eq!(row.outcome, Outcome::Ok);
    assert_eq!((row.prompt_tokens, row.completion_tokens, row.reasoning_tokens), (Some(5), None, None));
    assert_eq!(row.event_tokens, [-1]);
}

#[test]
fn there_are_no_streams_of_embeddings() {
    let row = Response::stream(EMBEDDINGS).observe(&data("openai-embeddings.llama.json"));
    assert_eq!((row.outcome, row.streaming), (Outcome::Ok, false));
}

#[test]
fn an_answer_without_a_vector_is_empty() {
    for body in [
        r#"{"object":"list","data":[],"usage":{"prompt_tokens":5}}"#,
        r#"{"object":"list","data":[{"embedding":[]},{"embedding":""},{}]}"#,
        r#"{"object":"list"}"#,
    ] {
        let row = whole(body);
        assert_eq!((row.outcome, row.event_ns.len(), row.finish_reason), (Outcome::Empty, 0, None), "{body}");
    }
}

#[test]
fn errors_and_other_documents_are_told() {
    for body in [
        r#"{"error":{"message":"boom"}}"#,
        r#"{"object":"error","message":"boom"}"#,
        r#"{"detail":"boom"}"#,
        r#"{"error":{"message":"boom"},"data":[{"embedding":[1]}]}"#,
    ] {
        let row = whole(body);
        assert_eq!((row.outcome, row.error.as_deref()), (Outcome::ErrorInStream, Some("boom")), "{body}");
        assert_eq!(row.event_ns.len(), 0);
    }
    for body in ["[]", r#"{"data":[{"embedding":7}]}"#, r#"{"data":7}"#, "{"] {
        assert_eq!(whole(body).outcome, Outcome::Malformed, "{body}");
    }
    let row = Response::whole(EMBEDDINGS).status(501).observe(r#"{"error":{"message":"no embeddings"}}"#);
    assert_eq!((row.outcome, row.error.as_deref()), (Outcome::HttpError, Some("HTTP 501: no embeddings")));
}
