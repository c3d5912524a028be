//! Brings the ledger to the disk from time to time. A thread of its own: a disk takes its time, and an event loop that
//! waited for it would hold up every stream that it carries.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::writer::SharedWriter;

/// So often is looked whether the segment is still there, and a ledger that fails is tried.
const LOOK: Duration = Duration::from_secs(1);

/// Ends when it is dropped, after a last sync.
#[derive(Debug)]
pub(super) struct Syncer {
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Syncer {
    /// `every_ns`: 0: never, and it only looks.
    pub(super) fn start(writer: Arc<SharedWriter>, every_ns: i64) -> io::Result<Self> {
        let every = u64::try_from(every_ns).ok().filter(|every_ns| *every_ns > 0).map(Duration::from_nanos);
        let (end, ended) = channel::<()>();
        let thread = std::thread::Builder::new().name("ledger".to_owned()).spawn(move || {
            let (mut looked, mut synced) = (Instant::now(), Instant::now());
            let wait = |looked: Instant, synced: Instant| {
                let look = LOOK.saturating_sub(looked.elapsed());
                every.map_or(look, |every| every.saturating_sub(synced.elapsed()).min(look))
            };
            while ended.recv_timeout(wait(looked, synced)) == Err(RecvTimeoutError::Timeout) {
                if looked.elapsed() >= LOOK {
                    writer.look();
                    looked = Instant::now();
                }
                if every.is_some_and(|every| synced.elapsed() >= every) {
                    writer.sync();
                    synced = Instant::now();
                }
            }
            if every.is_some() {
                writer.sync();
            }
        })?;
        Ok(Self { end: Some(end), thread: Some(thread) })
    }
}

impl Drop for Syncer {
    fn drop(&mut self) {
        self.end = None;
        if let Some(thread) = self.thread.take() {
            // It cannot have panicked: the workspace's lints see to that.
            let _ = thread.join();
        }
    }
}
