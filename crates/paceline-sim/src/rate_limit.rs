//! How much may still be asked: a bucket that fills evenly, for requests and for tokens, and the headers that tell of
//! it in each API's own way.

use crate::config::RateLimit;
use crate::error::ErrorShape;
use paceline_io::calendar::rfc3339;

/// The headers of one answer.
pub(crate) type Headers = Vec<(&'static str, String)>;

/// Holds a minute's worth, and gets it back within a minute.
#[derive(Debug)]
struct Bucket {
    limit: u64,
    level: f64,
    at_ns: i64,
}

impl Bucket {
    fn new(limit: u64) -> Self {
        Self { limit, level: limit as f64, at_ns: i64::MIN }
    }

    fn per_s(&self) -> f64 {
        self.limit as f64 / 60.0
    }

    fn refill(&mut self, now_ns: i64) {
        let elapsed_s = now_ns.saturating_sub(self.at_ns).max(0) as f64 / 1e9;
        self.level = (self.level + elapsed_s * self.per_s()).min(self.limit as f64);
        self.at_ns = self.at_ns.max(now_ns);
    }

    /// Until there is room for so much; what is more than the bucket holds never fits, and waits for all of it.
    fn wait_s(&self, amount: f64) -> f64 {
        let short = amount.min(self.limit as f64) - self.level;
        // Less is the rounding of many refills.
        if short < 1e-6 { 0.0 } else { short / self.per_s() }
    }

    fn full_in_s(&self) -> f64 {
        (self.limit as f64 - self.level) / self.per_s()
    }
}

/// Both buckets of the one key that there is.
#[derive(Debug)]
pub(crate) struct RateLimiter {
    requests: Option<Bucket>,
    tokens: Option<Bucket>,
}

/// What is left after a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Standing {
    /// None: the request is taken. Else it is refused, and may come again after so many seconds.
    pub(crate) retry_after_s: Option<u64>,
    pub(crate) headers: Headers,
}

impl RateLimiter {
    pub(crate) fn new(config: &RateLimit) -> Self {
        Self {
            requests: config.requests_per_min.map(Bucket::new),
            tokens: config.tokens_per_min.map(Bucket::new),
        }
    }

    /// One request with so many tokens, prompt and longest answer, at `now_ns` (CLOCK_MONOTONIC).
    pub(crate) fn take(&mut self, tokens: u64, now_ns: i64, unix_s: i64, shape: ErrorShape) -> Standing {
        let mut buckets = [(&mut self.requests, 1.0), (&mut self.tokens, tokens as f64)];
        let mut wait_s = 0.0f64;
        for (bucket, amount) in &mut buckets {
            if let Some(bucket) = bucket {
                bucket.refill(now_ns);
                wait_s = wait_s.max(bucket.wait_s(*amount));
            }
        }
        if wait_s == 0.0 {
            for (bucket, amount) in &mut buckets {
                if let Some(bucket) = bucket {
                    bucket.level = (bucket.level - *amount).max(0.0);
                }
            }
        }
        let retry_after_s = (wait_s > 0.0).then(|| (wait_s - 1e-6).ceil() as u64);
        Standing { retry_after_s, headers: self.headers(unix_s, shape) }
    }

    fn headers(&self, unix_s: i64, shape: ErrorShape) -> Headers {
        const OPENAI: [[&str; 3]; 2] = [
            ["x-ratelimit-limit-requests", "x-ratelimit-remaining-requests", "x-ratelimit-reset-requests"],
            ["x-ratelimit-limit-tokens", "x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens"],
        ];
        const ANTHROPIC: [[&str; 3]; 2] = [
            [
                "anthropic-ratelimit-requests-limit",
                "anthropic-ratelimit-requests-remaining",
                "anthropic-ratelimit-requests-reset",
            ],
            [
                "anthropic-ratelimit-tokens-limit",
                "anthropic-ratelimit-tokens-remaining",
                "anthropic-ratelimit-tokens-reset",
            ],
        ];
        let names = if shape == ErrorShape::Anthropic { ANTHROPIC } else { OPENAI };
        let mut headers = Headers::new();
        for (bucket, [limit, remaining, reset]) in [&self.requests, &self.tokens].into_iter().zip(names) {
            let Some(bucket) = bucket else { continue };
            let full_in_s = bucket.full_in_s();
            let when = match shape {
                ErrorShape::Anthropic => rfc3339(unix_s + full_in_s.ceil() as i64),
                ErrorShape::OpenAi => duration(full_in_s),
            };
            headers.push((limit, bucket.limit.to_string()));
            headers.push((remaining, (bucket.level as u64).to_string()));
            headers.push((reset, when));
        }
        headers
    }
}

/// As OpenAI writes it: `250ms`, `1.5s`, `1m0s`.
fn duration(seconds: f64) -> String {
    let ms = (seconds * 1e3).ceil() as u64;
    match ms {
        0..1_000 => format!("{ms}ms"),
        1_000..60_000 => format!("{}s", ms as f64 / 1e3),
        _ => format!("{}m{}s", ms / 60_000, ms % 60_000 / 1_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: i64 = 1_000_000_000;

    fn limiter(requests: Option<u64>, tokens: Option<u64>) -> RateLimiter {
        RateLimiter::new(&RateLimit { requests_per_min: requests, tokens_per_min: tokens })
    }

    #[test]
    fn a_minutes_worth_is_there_and_comes_back_evenly() {
        let mut limiter = limiter(Some(2), None);
        let mut retry = |at_s: i64| limiter.take(1, at_s * S, 0, ErrorShape::OpenAi).retry_after_s;
        assert_eq!([retry(100), retry(100), retry(100)], [None, None, Some(30)]);
        assert_eq!([retry(120), retry(130), retry(131)], [Some(10), None, Some(29)]);
    }

    #[test]
    fn tokens_bind_too_and_a_refusal_takes_nothing() {
        let mut limiter = limiter(Some(60), Some(600));
        assert_eq!(limiter.take(500, 0, 0, ErrorShape::OpenAi).retry_after_s, None);
        let refused = limiter.take(200, 0, 0, ErrorShape::OpenAi);
        assert_eq!(refused.retry_after_s, Some(10));
        let header = |name: &str| {
            refused.headers.iter().find(|(had, _)| *had == name).map(|(_, value)| value.as_str())
        };
        assert_eq!(header("x-ratelimit-remaining-requests"), Some("59"));
        assert_eq!(header("x-ratelimit-remaining-tokens"), Some("100"));
        assert_eq!(header("x-ratelimit-reset-tokens"), Some("50s"));
        assert_eq!(header("x-ratelimit-reset-requests"), Some("1s"));
    }

    #[test]
    fn anthropics_headers_say_an_instant() {
        let standing = limiter(Some(60), None).take(1, 0, 784_111_777, ErrorShape::Anthropic);
        assert_eq!(
            standing.headers,
            [
                ("anthropic-ratelimit-requests-limit", "60".to_owned()),
                ("anthropic-ratelimit-requests-remaining", "59".to_owned()),
                ("anthropic-ratelimit-requests-reset", "1994-11-06T08:49:38Z".to_owned()),
            ]
        );
    }

    #[test]
    fn no_limit_no_header() {
        let standing = limiter(None, None).take(1_000_000, 0, 0, ErrorShape::OpenAi);
        assert_eq!(standing, Standing { retry_after_s: None, headers: Vec::new() });
    }

    #[test]
    fn durations_are_written_as_openai_does() {
        assert_eq!([0.0, 0.0125, 1.5, 12.0, 90.0].map(duration), ["0ms", "13ms", "1.5s", "12s", "1m30s"]);
    }
}
