//! CPU time of one streamed chunk: observing it, next to the floor of the same run, which copies the bytes and looks
//! for line ends. Prints ns a chunk, the median and least of many rounds, and their ratio.
#![allow(clippy::print_stdout, reason = "its output is what an example is for")]

use std::hint::black_box;
use std::time::Instant;

use paceline_wire::{BodyEnd, Head, Limits, Protocol, Stamp, StreamObserver};

const CHUNKS: usize = 1_000;
const ROUNDS: usize = 300;

fn chunk(n: usize, text: &str) -> Vec<u8> {
    format!(
        "data: {{\"id\":\"chatcmpl-0123456789abcdef\",\"object\":\"chat.completion.chunk\",\"created\":1700000{n:03},\
         \"model\":\"a-model-7b\",\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{text}\"}},\
         \"logprobs\":null,\"finish_reason\":null}}]}}\n\n"
    )
    .into_bytes()
}

fn responses_chunk(n: usize, text: &str) -> Vec<u8> {
    format!(
        "event: response.output_text.delta\ndata: {{\"type\":\"response.output_text.delta\",\"item_id\":\"msg_0123456789abcdef\",\
         \"output_index\":0,\"content_index\":0,\"delta\":\"{text}\",\"sequence_number\":{n},\"logprobs\":[]}}\n\n"
    )
    .into_bytes()
}

fn messages_chunk(_: usize, text: &str) -> Vec<u8> {
    format!(
        "event: content_block_delta\ndata: {{\"type\":\"content_block_delta\",\"index\":0,\
         \"delta\":{{\"type\":\"text_delta\",\"text\":\"{text}\"}}}}\n\n"
    )
    .into_bytes()
}

fn observe(protocol: Protocol, chunks: &[Vec<u8>]) -> usize {
    let limits = Limits { max_event_bytes: 16 << 20, keep_text: true, max_body_bytes: 1 << 20 };
    let mut observer = StreamObserver::new(protocol, true, limits);
    let head =
        Head { status: 200, content_type: Some("text/event-stream"), retry_after: None, request_id: None };
    observer.on_head(&head, Stamp { ns: 0, kernel: true, read: 0 });
    for (read, chunk) in (1..).zip(chunks) {
        observer.on_body(chunk, Stamp { ns: 1, kernel: true, read });
    }
    observer.finish(BodyEnd::Complete, 2).event_ns.len()
}

fn floor(chunks: &[Vec<u8>]) -> usize {
    let mut buffer = Vec::with_capacity(4_096);
    let mut lines = 0;
    for chunk in chunks {
        buffer.clear();
        buffer.extend_from_slice(chunk);
        lines += memchr::memchr_iter(b'\n', black_box(&buffer)).count();
    }
    lines
}

/// Median and least, ns a chunk.
fn time(chunks: &[Vec<u8>], work: impl Fn(&[Vec<u8>]) -> usize) -> (f64, f64) {
    let mut rounds: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let start = Instant::now();
            black_box(work(black_box(chunks)));
            start.elapsed().as_secs_f64() * 1e9 / CHUNKS as f64
        })
        .collect();
    rounds.sort_by(f64::total_cmp);
    (rounds[ROUNDS / 2], rounds[0])
}

fn main() {
    type Chunk = fn(usize, &str) -> Vec<u8>;
    let (plain, escaped) = (" word", r#"\n\"word\" \u00e9"#);
    let cases: [(&str, Protocol, Chunk, &str); 4] = [
        ("plain", Protocol::OpenaiChat, chunk, plain),
        ("escaped", Protocol::OpenaiChat, chunk, escaped),
        ("responses", Protocol::OpenaiResponses, responses_chunk, plain),
        ("messages", Protocol::AnthropicMessages, messages_chunk, plain),
    ];
    for (name, protocol, chunk, text) in cases {
        let chunks: Vec<Vec<u8>> = (0..CHUNKS).map(|n| chunk(n, text)).collect();
        assert_eq!(observe(protocol, &chunks), CHUNKS, "{name}: each chunk is a token event");
        let (observed, observed_least) = time(&chunks, |chunks| observe(protocol, chunks));
        let (copied, copied_least) = time(&chunks, floor);
        println!(
            "{name}, {} bytes a chunk: observe {observed:.0} ns (least {observed_least:.0}), copy and split \
             {copied:.0} ns (least {copied_least:.0}), ratio {:.1}",
            chunks[0].len(),
            observed / copied
        );
    }
}
