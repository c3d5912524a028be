//! Why a run cannot be made or goes wrong. A failed request is a row, never one of these.

/// The run itself is impossible or has failed.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The specification is not one.
    #[error("load specification: {0}")]
    Spec(String),
    /// The bodies do not have the agreed form.
    #[error("request bodies: {0}")]
    Bodies(String),
    /// TLS cannot be set up.
    #[error(transparent)]
    Tls(#[from] paceline_io::tls::TlsSetupError),
    /// The system refuses what a run needs.
    #[error("{what}: {source}")]
    System {
        /// What was tried.
        what: &'static str,
        /// What the system said.
        source: std::io::Error,
    },
    /// A load thread has ended by a defect.
    #[error("a load thread has ended unexpectedly")]
    Thread,
    /// A call that the run's state does not allow.
    #[error("the run was {0}")]
    State(&'static str),
    /// Rows cannot be put into Arrow form.
    #[error("rows: {0}")]
    Rows(String),
}
