//! How long a thread has waited for a core.

/// Time that the calling thread could have run and had no core, in ns; 0 where the kernel does not tell.
pub(crate) fn runqueue_wait_ns() -> i64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split_ascii_whitespace().nth(1).and_then(|field| field.parse().ok()).unwrap_or(0)
}
