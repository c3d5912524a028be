//! Translates what comes on stdin, for whoever wants to look at it, and for `tests/contract/test_translation.py`.
//!
//!     cargo run --release -p paceline-translate --example translate < LINES
//!
//! A line is `{"what": "request" | "response" | "stream", "client": ..., "upstream": ..., "body": {...}}`; a stream has
//! `"events": ["...", ...]`, the data of each event, in place of the body; a request may name the `"model"` of the
//! upstream, which else is `up`. It is answered by a line, `{"text": ...}` with
//! the body or the bytes of the stream, or `{"error": ...}`.
#![allow(clippy::print_stdout, reason = "its output is what an example is for")]

use std::io::BufRead;

use paceline_translate::{StreamTranslator, Untranslatable, request, response};
use paceline_wire::Protocol;
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

#[derive(Deserialize)]
struct Task<'a> {
    what: &'a str,
    client: &'a str,
    upstream: &'a str,
    #[serde(default)]
    model: Option<&'a str>,
    #[serde(borrow, default)]
    body: Option<&'a RawValue>,
    #[serde(default)]
    events: Vec<String>,
}

fn run(line: &str) -> Result<Vec<u8>, Untranslatable> {
    let task: Task<'_> = serde_json::from_str(line).map_err(|why| Untranslatable(why.to_string()))?;
    let protocol = |name| {
        Protocol::from_name(name).ok_or_else(|| Untranslatable(format!("there is no protocol {name}")))
    };
    let (client, upstream) = (protocol(task.client)?, protocol(task.upstream)?);
    let body = task.body.map_or(&b""[..], |raw| raw.get().as_bytes());
    match task.what {
        "request" => request(client, upstream, body, task.model.unwrap_or("up")),
        "response" => response(client, upstream, body),
        "stream" => {
            let mut translator = StreamTranslator::new(client, upstream, true);
            let mut out = Vec::new();
            for event in &task.events {
                translator.event(event.as_bytes(), &mut out)?;
            }
            Ok(out)
        }
        other => Err(Untranslatable(format!("what is {other}?"))),
    }
}

fn main() -> std::io::Result<()> {
    for line in std::io::stdin().lock().lines() {
        let answer = match run(&line?) {
            Ok(text) => json!({"text": String::from_utf8_lossy(&text)}),
            Err(error) => json!({"error": error.to_string()}),
        };
        println!("{answer}");
    }
    Ok(())
}
