//! The engine's thread: one loop over timers, model and sockets.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender};

use paceline_io::clock::{StampClock, now_ns, thread_cpu_ns};
use paceline_io::listen::is_out_of_descriptors;
use paceline_io::poller::{Poller, Ready, WAKE};
use paceline_io::pool::Pool;
use paceline_io::stream::{ReadEnd, Scratch, Stream};
use paceline_io::timers::{Timer, Timers};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rustls::ServerConfig;

use crate::answers::Answers;
use crate::config::{Mode, SimConfig};
use crate::connection::{Connection, State};
use crate::engine::{Emission, EngineModel, Work};
use crate::frames::Outbox;
use crate::http::push_error;
use crate::metrics::{Snapshot, Totals};
use crate::prefix_cache::{BLOCK_TOKENS, PrefixCache};
use crate::rate_limit::RateLimiter;
use crate::request::Protocol;
use crate::routes;
use crate::stats::{Histogram, SimStats};
use crate::text::Text;
use crate::truth::{End, TruthLog};

const LISTENER: u64 = WAKE - 1;
/// Due timers that are served before the sockets are looked at again: an engine that is overloaded must still
/// notice clients that come and go.
const TIMERS_A_ROUND: usize = 256;
/// Connections that are accepted before the timers are looked at again.
const ACCEPTS_A_ROUND: usize = 32;
/// Sockets that one wait tells of.
const READY_A_WAIT: usize = 256;

/// What other threads ask of the engine.
#[derive(Debug)]
pub(crate) enum Command {
    Stats(SyncSender<SimStats>),
    Stop,
}

/// The engine.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) config: SimConfig,
    listener: TcpListener,
    tls: Option<Arc<ServerConfig>>,
    poller: Poller,
    commands: Receiver<Command>,
    clock: StampClock,
    scratch: Scratch,
    pub(crate) pool: Pool<Connection>,
    pub(crate) timers: Timers,
    pub(crate) model: Option<EngineModel>,
    emissions: Vec<Emission>,
    /// Engine mode: which connection wants the tokens of which request.
    pub(crate) by_number: HashMap<u64, u64>,
    pub(crate) outbox: Outbox,
    /// Exact mode: what the prefix cache knows.
    pub(crate) prefix_cache: PrefixCache,
    /// Exact mode: what would be a model's work.
    pub(crate) exact_work: Work,
    pub(crate) totals: Totals,
    /// When the engine began, from which the timeline counts.
    pub(crate) started_ns: i64,
    /// The stage that the last request found.
    pub(crate) stage: Option<usize>,
    pub(crate) rate_limiter: RateLimiter,
    pub(crate) truth: TruthLog,
    pub(crate) plain_text: Arc<Text>,
    pub(crate) wide_text: Arc<Text>,
    pub(crate) answers: Answers,
    pub(crate) rng: ChaCha8Rng,
    /// The number of the last answer.
    pub(crate) last_number: u64,
    pub(crate) stats: SimStats,
    pub(crate) late: Histogram,
    /// Given up for a moment when descriptors run out, so that a client can be turned away.
    reserve: Option<File>,
    stopping: bool,
}

impl Server {
    /// Must be called on the thread that will run it.
    pub(crate) fn new(
        config: SimConfig,
        listener: TcpListener,
        tls: Option<Arc<ServerConfig>>,
        truth: TruthLog,
        commands: Receiver<Command>,
    ) -> io::Result<Self> {
        let poller = Poller::new(READY_A_WAIT)?;
        poller.add_listener(&listener, LISTENER)?;
        let model =
            (config.mode == Mode::Engine).then(|| EngineModel::new(config.engine.clone(), config.seed));
        Ok(Self {
            listener,
            tls,
            poller,
            commands,
            clock: StampClock::new(),
            scratch: Scratch::new(),
            pool: Pool::default(),
            timers: Timers::default(),
            model,
            emissions: Vec::new(),
            by_number: HashMap::new(),
            outbox: Outbox::default(),
            prefix_cache: PrefixCache::new(config.exact.prefix_cache_blocks),
            exact_work: Work::default(),
            totals: Totals::default(),
            started_ns: now_ns(),
            stage: None,
            rate_limiter: RateLimiter::new(&config.rate_limit),
            truth,
            plain_text: Arc::new(Text::plain(config.seed)),
            wide_text: Arc::new(Text::wide(config.seed)),
            answers: Answers::new(&config.answers, config.quality, config.seed),
            rng: ChaCha8Rng::seed_from_u64(config.seed),
            last_number: 0,
            stats: SimStats::default(),
            late: Histogram::new(),
            reserve: File::open("/dev/null").ok(),
            stopping: false,
            config,
        })
    }

    pub(crate) fn waker(&self) -> paceline_io::poller::Waker {
        self.poller.waker()
    }

    /// Runs until it is told to stop, and returns the last counters.
    pub(crate) fn run(mut self) -> SimStats {
        let mut ready = Vec::with_capacity(READY_A_WAIT);
        while !self.stopping {
            self.run_due();
            let next_ns = [self.timers.next_ns(), self.model.as_ref().and_then(EngineModel::next_ns)];
            let timeout_ns = next_ns.into_iter().flatten().min().map(|due_ns| due_ns - now_ns());
            ready.clear();
            if self.poller.wait(timeout_ns, &mut ready).is_err() {
                break;
            }
            for event in &ready {
                self.run_due();
                self.clock.refresh();
                self.on_ready(*event);
            }
        }
        self.finish()
    }

    /// Serves timers and model steps that are due.
    fn run_due(&mut self) {
        let mut now = now_ns();
        for _ in 0..TIMERS_A_ROUND {
            if self.model.as_ref().and_then(EngineModel::next_ns).is_some_and(|due_ns| due_ns <= now) {
                self.advance_model(now);
            }
            let Some(timer) = self.timers.pop_due(now) else { return };
            self.on_timer(timer);
            now = now_ns();
        }
    }

    fn on_timer(&mut self, timer: Timer) {
        let Some(connection) = self.pool.get_mut(timer.token) else { return };
        if connection.timer_id != timer.id {
            return;
        }
        if matches!(connection.state, State::Closing) {
            self.drop_connection(timer.token, End::ClientGone);
        } else {
            self.pump(timer.token);
        }
    }

    fn advance_model(&mut self, now: i64) {
        let Some(model) = &mut self.model else { return };
        let mut emissions = std::mem::take(&mut self.emissions);
        model.advance(now, &mut emissions);
        for emission in emissions.drain(..) {
            let Some(token) = self.by_number.get(&emission.number).copied() else { continue };
            if emission.last {
                self.by_number.remove(&emission.number);
            }
            if let Some(connection) = self.pool.get_mut(token)
                && let State::Answering(response) = &mut connection.state
            {
                response.provide(emission.due_ns, emission.tokens, emission.hit, emission.last);
                if response.protocol() != Protocol::Embeddings {
                    self.totals.generated_tokens += emission.tokens;
                }
                self.pump(token);
            }
        }
        self.emissions = emissions;
    }

    fn on_ready(&mut self, event: Ready) {
        match event.token {
            WAKE => self.obey(),
            LISTENER => self.accept(),
            token => {
                if event.writable {
                    self.on_writable(token);
                }
                if event.readable {
                    self.on_readable(token, event.hangup);
                }
            }
        }
    }

    fn on_readable(&mut self, token: u64, hangup: bool) {
        let Some(connection) = self.pool.get_mut(token) else { return };
        let Connection { stream, inbox, state, .. } = connection;
        let busy = !matches!(state, State::Idle);
        let end = stream.read(&mut self.scratch, &self.clock, hangup, &mut |bytes, arrival| {
            inbox.take(bytes, arrival.ns, busy);
        });
        // A TLS handshake has something to say.
        let flushed = if stream.has_pending() { stream.flush().is_ok() } else { true };
        if !flushed {
            self.drop_connection(token, End::ClientGone);
            return;
        }
        match end {
            Ok(ReadEnd::Drained) => {}
            Ok(ReadEnd::Eof) if matches!(state, State::Answering(_) | State::Flushing { .. }) => {
                self.on_gone(token);
                return;
            }
            _ => {
                self.drop_connection(token, End::ClientGone);
                return;
            }
        }
        if !busy {
            self.on_request(token);
        }
    }

    fn obey(&mut self) {
        while let Ok(command) = self.commands.try_recv() {
            match command {
                Command::Stats(reply) => {
                    // Who asked may have gone meanwhile.
                    let _ = reply.try_send(self.snapshot());
                }
                Command::Stop => self.stopping = true,
            }
        }
    }

    fn snapshot(&self) -> SimStats {
        SimStats {
            connections: self.pool.len() as u64,
            queued: self.model.as_ref().map_or(0, |model| model.queued() as u64),
            cpu_ns: u64::try_from(thread_cpu_ns()).unwrap_or(0),
            late_p50_ns: self.late.quantile(0.5),
            late_p99_ns: self.late.quantile(0.99),
            late_max_ns: self.late.max(),
            truth_lost: self.truth.lost(),
            ..self.stats.clone()
        }
    }

    /// What the metrics tell of this instant.
    pub(crate) fn observe(&self) -> Snapshot {
        let now = Snapshot {
            model: self.config.models.first().cloned().unwrap_or_default(),
            totals: self.totals,
            ..Snapshot::default()
        };
        if let Some(model) = &self.model {
            return Snapshot {
                running: model.running() as u64,
                waiting: model.queued() as u64,
                used_blocks: model.used_blocks(),
                blocks: self.config.engine.prefix_cache_blocks as u64,
                work: model.work(),
                ..now
            };
        }
        let used_blocks = self.pool.values().filter_map(|connection| match &connection.state {
            State::Answering(response) => {
                Some((response.prompt_tokens() + response.tokens_out()).div_ceil(BLOCK_TOKENS as u64))
            }
            _ => None,
        });
        Snapshot {
            running: self.stats.in_flight,
            used_blocks: used_blocks.sum(),
            blocks: self.config.exact.prefix_cache_blocks as u64,
            work: self.exact_work,
            ..now
        }
    }

    fn finish(mut self) -> SimStats {
        let now = now_ns();
        for connection in self.pool.drain() {
            if let State::Answering(response) = connection.state {
                self.stats.in_flight -= 1;
                self.truth.push(response.into_truth(now, Some(End::Stopped), connection.gone_ns));
            }
        }
        self.truth.close();
        self.snapshot()
    }

    fn accept(&mut self) {
        for _ in 0..ACCEPTS_A_ROUND {
            match self.listener.accept() {
                Ok((socket, _)) => self.welcome(socket),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if is_out_of_descriptors(&error) => {
                    // Without this the listener would stay ready for ever, and the loop would spin.
                    self.reserve = None;
                    if self.listener.accept().is_ok() {
                        self.stats.connections_refused += 1;
                    }
                    self.reserve = File::open("/dev/null").ok();
                    return;
                }
                // The client has gone before it was accepted.
                Err(_) => {}
            }
        }
    }

    fn welcome(&mut self, socket: std::net::TcpStream) {
        let Ok(mut stream) = Stream::accepted(socket, true) else { return };
        if self.pool.len() >= self.config.max_connections {
            self.stats.connections_refused += 1;
            if self.tls.is_none() {
                let mut refusal = Vec::new();
                push_error(
                    &mut refusal,
                    &routes::crowded(self.config.max_connections),
                    false,
                    "req-sim-0",
                    &[],
                );
                // The client may have gone already.
                let _ = stream.send(&refusal);
            }
            stream.shutdown();
            return;
        }
        if let Some(config) = &self.tls
            && stream.start_tls_server(config.clone()).is_err()
        {
            return;
        }
        let token = self.pool.insert(Connection::new(stream));
        let added = self
            .pool
            .get_mut(token)
            .is_some_and(|connection| self.poller.add(&connection.stream, token).is_ok());
        if !added {
            self.pool.remove(token);
        }
    }
}
