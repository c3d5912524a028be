//! How a request ended.

use serde::{Serialize, Serializer};

/// The name of a request's end. Only `Ok` enters latency percentiles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Outcome {
    /// A finish reason or the end marker was seen, at least one token came, and no error was in the stream.
    Ok,
    /// A status other than 2xx and 429.
    HttpError,
    /// Status 429.
    RateLimited,
    /// No connection, or the request could not be written and no response came.
    ConnectError,
    /// The time allowed ran out first: a censored observation.
    Timeout,
    /// The server reported an error inside of a 2xx response.
    ErrorInStream,
    /// The response ended before it said that it was complete.
    Truncated,
    /// A complete response without a token.
    Empty,
    /// The response is not what the protocol says.
    Malformed,
    /// We ended the request.
    Cancelled,
    /// We hung up where the workload says that the caller does; until then all was well, and a token had come.
    HungUp,
}

impl Outcome {
    /// Every outcome.
    pub const ALL: [Self; 11] = [
        Self::Ok,
        Self::HttpError,
        Self::RateLimited,
        Self::ConnectError,
        Self::Timeout,
        Self::ErrorInStream,
        Self::Truncated,
        Self::Empty,
        Self::Malformed,
        Self::Cancelled,
        Self::HungUp,
    ];

    /// The name in rows and reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::HttpError => "http_error",
            Self::RateLimited => "rate_limited",
            Self::ConnectError => "connect_error",
            Self::Timeout => "timeout",
            Self::ErrorInStream => "error_in_stream",
            Self::Truncated => "truncated",
            Self::Empty => "empty",
            Self::Malformed => "malformed",
            Self::Cancelled => "cancelled",
            Self::HungUp => "hung_up",
        }
    }
}

impl Serialize for Outcome {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_design() {
        let names = Outcome::ALL.map(Outcome::as_str);
        assert_eq!(
            names,
            [
                "ok",
                "http_error",
                "rate_limited",
                "connect_error",
                "timeout",
                "error_in_stream",
                "truncated",
                "empty",
                "malformed",
                "cancelled",
                "hung_up"
            ]
        );
    }
}
