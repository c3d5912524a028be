//! Fuzzes the readers of all protocols: bodies of `tests/data`, changed at random, read whole and in random pieces.
//!
//!     cargo run --release -p paceline-wire --example fuzz_readers -- [INPUTS] [SEED] [FIRST]
//!
//! Every input must read the same whole and in pieces, hold no more than a bound, and not panic. Input N of a seed is
//! always the same; one that fails is named, and read again alone by `1 SEED N`.
#![allow(clippy::print_stdout, reason = "its output is what an example is for")]

#[path = "../tests/support/mod.rs"]
mod support;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::time::Instant;

use paceline_wire::{BodyEnd, Limits, Observation, Protocol, Stamp};
use peak_alloc::PeakAlloc;
use support::{Response, corpus};

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

/// What reading may hold at once: this, and for each byte of the input so much.
const HELD_BYTES: usize = 64 << 10;
const HELD_BYTES_A_BYTE: usize = 100;
const MAX_INPUT_BYTES: usize = 64 << 10;

/// What may stand where a value stands.
const VALUES: [&str; 16] = [
    "null",
    "true",
    "0",
    "-1",
    "7",
    "1e999",
    "18446744073709551616",
    "\"\"",
    "\"x\"",
    "\"\\u00e9\\n\"",
    "\"é😀\"",
    "{}",
    "[]",
    "[{},{}]",
    "{\"text\":\"x\",\"message\":\"m\"}",
    "[[[[[[[[]]]]]]]]",
];

/// Fields of all the protocols, to stand before another.
const FIELDS: [&str; 29] = [
    "\"error\":{\"message\":\"boom\"},",
    "\"error\":null,",
    "\"type\":\"error\",",
    "\"type\":\"ping\",",
    "\"type\":\"response.output_text.delta\",",
    "\"type\":\"response.output_text.done\",",
    "\"type\":\"response.function_call_arguments.done\",",
    "\"type\":\"response.completed\",",
    "\"type\":\"response.failed\",",
    "\"type\":\"content_block_delta\",",
    "\"type\":\"message_delta\",",
    "\"type\":\"message_stop\",",
    "\"delta\":\"x\",",
    "\"delta\":{\"text\":\"x\"},",
    "\"text\":\"x\",",
    "\"choices\":[],",
    "\"choices\":[{},{}],",
    "\"index\":1,",
    "\"finish_reason\":\"stop\",",
    "\"usage\":{\"completion_tokens\":1,\"output_tokens\":2},",
    "\"usage\":null,",
    "\"logprobs\":[],",
    "\"token_ids\":[1],",
    "\"timings\":{\"a\":1},",
    "\"content\":\"x\",",
    "\"reasoning\":\"x\",",
    "\"tool_calls\":[{\"function\":{\"arguments\":7}}],",
    "\"audio\":7,",
    "\"content\":\"x\",\"tool_calls\":7,",
];

/// Pieces of streams and of JSON, right or wrong where they stand.
const WORDS: [&str; 28] = [
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"",
    "\\",
    "\\ud83d",
    "\\u0000",
    "\n",
    "\r",
    "\r\n",
    "\n\n",
    "\r\r",
    "data: ",
    "data:",
    "data",
    "event: error\n",
    ": c\n",
    "id: 1\n",
    "\u{feff}",
    "[DONE]",
    "data: [DONE]\n\n",
    "[[[[[[[[",
    "{\"a\":{\"a\":",
    "sk-0123456789",
    "é",
];

/// SplitMix64 (Steele, Lea, Flood 2014): a stream for each input from its number alone.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Below `end`; 0 where that is 0.
    #[expect(clippy::cast_possible_truncation, reason = "the remainder of a usize is one")]
    fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    fn of<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }

    /// A short stretch of `length`.
    fn stretch(&mut self, length: usize) -> std::ops::Range<usize> {
        let begin = self.below(length + 1);
        let most = if self.one_in(4) { 400 } else { 12 };
        begin..(begin + self.below(most)).min(length)
    }
}

/// An input: bytes, and how they are to be read.
struct Input {
    response: Response,
    bytes: Vec<u8>,
    cuts: Vec<usize>,
}

fn input(random: &mut Random, corpus: &[(String, Response)]) -> Input {
    let (body, response) = random.of(corpus);
    let mut response = response.clone();
    let mut bytes = body.clone().into_bytes();
    if random.one_in(8) {
        response.protocol = *random.of(&Protocol::ALL);
    }
    if random.one_in(16) {
        response.streaming = !response.streaming;
    }
    response.status = if random.one_in(16) { *random.of(&[429, 500]) } else { 200 };
    response.end = if random.one_in(4) {
        random.of(&[BodyEnd::Cut("cut".into()), BodyEnd::Timeout, BodyEnd::HungUp]).clone()
    } else {
        BodyEnd::Complete
    };
    response.limits = Limits {
        max_event_bytes: if random.one_in(8) { *random.of(&[60, 250, 1_000]) } else { 1 << 20 },
        keep_text: !random.one_in(4),
        max_body_bytes: if random.one_in(8) { 30 } else { 1 << 20 },
    };
    let changes = if random.one_in(4) { random.below(8) } else { random.below(3) };
    for _ in 0..changes {
        change(random, &mut bytes, corpus);
    }
    bytes.truncate(MAX_INPUT_BYTES);
    let cuts = cuts(random, bytes.len());
    Input { response, bytes, cuts }
}

fn change(random: &mut Random, bytes: &mut Vec<u8>, corpus: &[(String, Response)]) {
    let at = random.stretch(bytes.len());
    match random.below(16) {
        0 => bytes.truncate(at.start),
        1 => drop(bytes.drain(at)),
        2 => {
            let again = bytes[at.clone()].to_vec();
            drop(bytes.splice(at.end..at.end, again));
        }
        3 if !bytes.is_empty() => {
            let byte = random.below(256).to_le_bytes()[0];
            let place = random.below(bytes.len());
            bytes[place] = byte;
        }
        4 => {
            let other = random.of(corpus).0.as_bytes();
            let piece = &other[random.stretch(other.len())];
            drop(bytes.splice(at, piece.iter().copied()));
        }
        // At the beginning of an object.
        9..=11 => {
            let begin = bytes[at.start..].iter().position(|byte| *byte == b'{').map_or(0, |place| place + 1);
            let place = at.start + begin;
            drop(bytes.splice(place..place, random.of(&FIELDS).bytes()));
        }
        // In place of a value: from one mark of JSON to the next.
        5 | 12 | 13 => {
            let is_mark = |byte: &u8| b"{}[],:\"\n".contains(byte);
            let begin = at.start + bytes[at.start..].iter().position(is_mark).map_or(0, |place| place + 1);
            let end = begin + bytes[begin..].iter().position(is_mark).unwrap_or(0);
            drop(bytes.splice(begin..end, random.of(&VALUES).bytes()));
        }
        6 | 7 => events(random, bytes),
        8 => {
            let word =
                random.of(&WORDS).as_bytes().repeat(1 + random.below(40) * usize::from(random.one_in(8)));
            drop(bytes.splice(at.start..at.start, word));
        }
        _ => drop(bytes.splice(at, random.of(&WORDS).bytes())),
    }
}

/// Leaves out, repeats or moves a whole event.
fn events(random: &mut Random, bytes: &mut Vec<u8>) {
    let mut ends: Vec<usize> = (2..bytes.len()).filter(|end| bytes[..*end].ends_with(b"\n\n")).collect();
    ends.insert(0, 0);
    let which = random.below(ends.len());
    let end = ends.get(which + 1).map_or(bytes.len(), |end| *end);
    let event = bytes[ends[which]..end].to_vec();
    if !random.one_in(3) {
        drop(bytes.drain(ends[which]..end));
        ends.retain(|end| *end <= bytes.len());
    }
    if random.one_in(2) {
        let place = *random.of(&ends);
        drop(bytes.splice(place..place, event));
    }
}

/// Sorted places at which to cut, both ends among them.
fn cuts(random: &mut Random, length: usize) -> Vec<usize> {
    let mut cuts = match random.below(8) {
        0 => (0..=length).collect(),
        1 => (0..=length).step_by(1 + random.below(9)).collect(),
        _ => (0..1 + random.below(12)).map(|_| random.below(length + 1)).collect::<Vec<_>>(),
    };
    cuts.extend([0, length]);
    cuts.sort_unstable();
    cuts
}

fn check(input: &Input) -> Observation {
    const STAMP: Stamp = Stamp { ns: 10, kernel: true, read: 1 };
    let Input { response, bytes, cuts } = input;
    let pieces: Vec<(&[u8], Stamp)> = cuts.windows(2).map(|ends| (&bytes[ends[0]..ends[1]], STAMP)).collect();
    ALLOCATOR.reset_peak_usage();
    let before = ALLOCATOR.current_usage();
    let in_pieces = response.observe_stamped(&pieces);
    let held = ALLOCATOR.peak_usage().saturating_sub(before);
    let bound = HELD_BYTES + HELD_BYTES_A_BYTE * bytes.len();
    assert!(held <= bound, "{held} bytes held at once for {} of input", bytes.len());
    let whole = response.observe_stamped(&[(bytes, STAMP)]);
    assert_eq!(in_pieces, whole, "in pieces, and whole");
    let row = whole.0;
    let events = row.event_ns.len();
    for length in
        [row.event_kind.len(), row.event_tokens.len(), row.event_bytes.len(), row.event_coalesced.len()]
    {
        assert_eq!(length, events, "columns of events");
    }
    let text_bytes = row.event_bytes.iter().map(|n| *n as usize).sum::<usize>();
    assert_eq!(
        row.text.len(),
        if response.limits.keep_text { text_bytes } else { 0 },
        "the text is that of the events"
    );
    assert!(row.answer().len() <= row.text.len(), "the answer is of the text");
    assert!(text_bytes <= bytes.len() && row.bytes_received == bytes.len() as u64, "no more than came");
    assert!(row.error.as_ref().is_none_or(|error| error.chars().count() <= 500), "errors are bounded");
    row
}

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse::<u64>().ok());
    let mut argument = |otherwise| arguments.next().map_or(Some(otherwise), |given| given);
    let (Some(inputs), Some(seed), Some(first)) = (argument(100_000), argument(1), argument(0)) else {
        println!("usage: fuzz_readers [INPUTS] [SEED] [FIRST], each a number");
        return ExitCode::from(2);
    };
    let corpus = corpus();
    let mut outcomes: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    let mut read_bytes = 0;
    let begun = Instant::now();
    for n in first..first.saturating_add(inputs) {
        let mut random = Random(Random(seed).next() ^ n.wrapping_mul(0xd134_2543_de82_ef95));
        let input = input(&mut random, &corpus);
        let Ok(row) = catch_unwind(AssertUnwindSafe(|| check(&input))) else {
            println!("input {n} of seed {seed} fails, {:?}, cut at {:?}:", input.response, input.cuts);
            println!("{}", String::from_utf8_lossy(&input.bytes));
            return ExitCode::FAILURE;
        };
        read_bytes += input.bytes.len();
        *outcomes.entry((input.response.protocol.name(), row.outcome.as_str())).or_default() += 1;
    }
    let seconds = begun.elapsed().as_secs_f64();
    for ((protocol, outcome), count) in &outcomes {
        println!("{protocol:20} {outcome:16} {count:>10}");
    }
    println!(
        "seed {seed}: {inputs} inputs from {first}, {:.1} MB, each read whole and in pieces, in {seconds:.0} s; \
         no panic, no difference, none over its bound",
        read_bytes as f64 / 1e6
    );
    ExitCode::SUCCESS
}
