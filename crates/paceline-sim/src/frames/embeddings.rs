//! OpenAI's embeddings.

use super::pieces::{push, push_padding};
use super::{Manner, Usage};
use crate::fault::FaultKind;
use crate::request::Embedding;
use crate::text::mix;

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// An answer: one vector of length 1 for each text, the same for the same place in the request.
#[derive(Debug)]
pub(crate) struct Frames {
    model: serde_json::Value,
    wanted: Embedding,
}

impl Frames {
    pub(super) fn new(manner: &Manner<'_>) -> Self {
        let mut wanted = manner.call.embedding;
        if manner.fault == Some(FaultKind::Empty) {
            wanted.inputs = 0;
        }
        Self { model: manner.served.model.as_str().into(), wanted }
    }

    pub(super) fn whole(&self, usage: Option<Usage>, padding: usize) -> Vec<u8> {
        let mut json = br#"{"object":"list","data":["#.to_vec();
        for index in 0..self.wanted.inputs {
            let comma = if index > 0 { "," } else { "" };
            push(&mut json, format_args!(r#"{comma}{{"object":"embedding","index":{index},"embedding":"#));
            let vector = vector(index, self.wanted.dimensions);
            if self.wanted.base64 {
                let bytes: Vec<u8> = vector.iter().flat_map(|number| number.to_le_bytes()).collect();
                json.push(b'"');
                push_base64(&mut json, &bytes);
                json.push(b'"');
            } else {
                push(&mut json, format_args!("{vector:?}"));
            }
            json.push(b'}');
        }
        push(&mut json, format_args!(r#"],"model":{}"#, self.model));
        if let Some(usage) = usage {
            let prompt = usage.prompt;
            push(&mut json, format_args!(r#","usage":{{"prompt_tokens":{prompt},"total_tokens":{prompt}}}"#));
        }
        push_padding(&mut json, padding);
        json.push(b'}');
        json
    }
}

fn vector(index: usize, dimensions: usize) -> Vec<f32> {
    let raw: Vec<f32> = (0..dimensions)
        .map(|place| (mix(index as u64, place as u64) % 2_001) as f32 / 1_000.0 - 1.0)
        .collect();
    let length = raw.iter().map(|number| number * number).sum::<f32>().sqrt().max(f32::MIN_POSITIVE);
    raw.iter().map(|number| number / length).collect()
}

fn push_base64(out: &mut Vec<u8>, bytes: &[u8]) {
    for group in bytes.chunks(3) {
        let bits =
            group.iter().fold(0u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - group.len()));
        for digit in 0..4 {
            let sextet = (bits >> (18 - 6 * digit)) & 63;
            out.push(if digit > group.len() { b'=' } else { BASE64[sextet as usize] });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_rfc_4648() {
        for (plain, coded) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")]
        {
            let mut out = Vec::new();
            push_base64(&mut out, plain.as_bytes());
            assert_eq!(out, coded.as_bytes());
        }
    }

    #[test]
    fn a_vector_has_length_one_and_differs_from_the_next() {
        let one = vector(0, 64);
        let length: f32 = one.iter().map(|number| number * number).sum();
        assert!((length - 1.0).abs() < 1e-5);
        assert_ne!(one, vector(1, 64));
        assert_eq!(one, vector(0, 64));
    }
}
