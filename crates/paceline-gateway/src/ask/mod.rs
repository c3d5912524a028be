//! What a client asks: read once from its request, and never changed.

mod app;
mod field;
mod members;
mod parse;
mod preferences;
mod prefix;
mod prompt;
#[cfg(test)]
mod tests;

use paceline_wire::Protocol;

use crate::table::Tier;

pub(crate) use app::app;
pub(crate) use members::{Members, Place};

/// What offers are ordered by, where the client says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sort {
    Price,
    /// Decode rate, tokens a second.
    Throughput,
    /// TTFT.
    Latency,
}

/// A bound that holds at a percentile of what was measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Bound {
    /// 0.5, 0.75, 0.9 or 0.99; a bare number is meant at the median.
    pub(crate) quantile: f64,
    pub(crate) value: f64,
}

/// `provider.max_price`, USD per million tokens, and per request.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct MaxPrice {
    pub(crate) prompt_usd_per_mtok: Option<f64>,
    pub(crate) completion_usd_per_mtok: Option<f64>,
    pub(crate) request_usd: Option<f64>,
}

/// The request's `provider` object, and what says the same elsewhere.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Preferences {
    /// Names of providers or ids of offers, first to try first.
    pub(crate) order: Vec<String>,
    pub(crate) only: Vec<String>,
    pub(crate) ignore: Vec<String>,
    /// Others than the first choice (of `order`: than those named) may be asked.
    pub(crate) allow_fallbacks: bool,
    pub(crate) require_parameters: bool,
    pub(crate) sort: Option<Sort>,
    /// TTFT in seconds, as OpenRouter has it. What does not meet it comes last.
    pub(crate) max_latency_s: Vec<Bound>,
    /// Tokens a second. What does not meet it comes last.
    pub(crate) min_throughput_tok_s: Vec<Bound>,
    pub(crate) max_price: MaxPrice,
    /// From the receipt of the request to its first token, in ns.
    pub(crate) deadline_ns: Option<i64>,
    /// From the receipt of the request to its end, in ns.
    pub(crate) finish_by_ns: Option<i64>,
    /// Hedge this request (within the budget); none: as the policy has it.
    pub(crate) hedge: Option<bool>,
}

impl Default for Preferences {
    fn default() -> Self {
        Self {
            order: Vec::new(),
            only: Vec::new(),
            ignore: Vec::new(),
            allow_fallbacks: true,
            require_parameters: false,
            sort: None,
            max_latency_s: Vec::new(),
            min_throughput_tok_s: Vec::new(),
            max_price: MaxPrice::default(),
            deadline_ns: None,
            finish_by_ns: None,
            hedge: None,
        }
    }
}

/// What a client asks.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Ask {
    pub(crate) protocol: Protocol,
    /// The model's name as asked, without `:nitro` or `:floor`.
    pub(crate) model: String,
    /// The request's `models`: to be tried after `model`, in order.
    pub(crate) fallbacks: Vec<String>,
    pub(crate) streaming: bool,
    /// The client asked for usage in the stream (chat, completions); other protocols always have it.
    pub(crate) usage_asked: bool,
    pub(crate) max_tokens: Option<u64>,
    /// `n`: answers asked for.
    pub(crate) answers: u32,
    /// Names of the body's parameters that an offer may support or not (`tools`, `response_format`...).
    pub(crate) parameters: Vec<String>,
    pub(crate) preferences: Preferences,
    /// From `service_tier` or `speed`.
    pub(crate) tier: Option<Tier>,
    pub(crate) explain: bool,
    /// Bytes of the prompt's text, images left out.
    pub(crate) prompt_bytes: u64,
    pub(crate) images: u32,
    /// Hash of the prompt's first KiB, of its first two, and so on, at most 512: equal beginnings have equal hashes.
    pub(crate) prefix: Vec<u64>,
    /// `X-Title` and `HTTP-Referer`.
    pub(crate) app_title: Option<String>,
    pub(crate) app_referer: Option<String>,
    /// Where the body's members lie in it.
    pub(crate) places: Vec<Place>,
}

#[cfg(test)]
impl Ask {
    /// What a client asks that names a model, and says nothing else.
    pub(crate) fn of(protocol: Protocol, model: &str) -> Self {
        let body = serde_json::json!({"model": model}).to_string();
        Self::read(protocol, &paceline_io::http1::Head::default(), body.as_bytes()).unwrap()
    }
}
