//! Probes: small real requests to offers of which nothing has been seen for long.

use paceline_io::clock::{now_ns, unix_ns};
use paceline_wire::{BodyEnd, Protocol};
use serde_json::json;

use super::Worker;
use super::attempts::request_bytes;
use super::exchange::{Exchange, Purpose};
use super::usage::Credible;
use crate::accounts::{Most, Used};
use crate::ledger::entry::{Entry, Role};
use crate::table::Offer;

const PROMPT: &str = "Count from one to twenty in words.";
/// Tokens of the prompt and its template, and some more.
const PROMPT_TOKENS: u32 = 64;

fn body(offer: &Offer, protocol: Protocol, tokens: u32) -> Vec<u8> {
    let model = &offer.upstream_model;
    let messages = json!([{"role": "user", "content": PROMPT}]);
    let mut body = match protocol {
        Protocol::OpenaiChat => json!({
            "model": model, "messages": messages, "max_tokens": tokens, "stream": true,
            "stream_options": {"include_usage": true},
        }),
        Protocol::OpenaiCompletions => json!({
            "model": model, "prompt": PROMPT, "max_tokens": tokens, "stream": true,
            "stream_options": {"include_usage": true},
        }),
        Protocol::OpenaiResponses => json!({
            "model": model, "input": PROMPT, "max_output_tokens": tokens.max(16), "stream": true, "store": false,
        }),
        Protocol::OpenaiEmbeddings => json!({"model": model, "input": PROMPT}),
        Protocol::AnthropicMessages => json!({
            "model": model, "messages": messages, "max_tokens": tokens, "stream": true,
        }),
    };
    if let Some(members) = body.as_object_mut() {
        for (name, value) in &offer.extra_body {
            members.entry(name.clone()).or_insert_with(|| value.clone());
        }
    }
    body.to_string().into_bytes()
}

impl Worker {
    /// Probes the offer that most needs it, if one does and the day's money lasts.
    pub(super) fn probe(&mut self, now: i64, unix_s: i64) {
        let table = self.shared.table();
        let probing = table.policy.probing;
        if probing.every_ns == 0 || self.shared.is_draining() {
            return;
        }
        let Some(place) = self.shared.router.probe_due(&table, now) else { return };
        let offer = table.offers[place].clone();
        let Some(protocol) = offer.protocols.first().copied() else { return };
        let usd = offer.price.map_or(0.0, |price| {
            (f64::from(PROMPT_TOKENS) * price.input_usd_per_mtok
                + f64::from(probing.output_tokens) * price.output_usd_per_mtok)
                / 1e6
                + price.request_usd
        });
        let tokens = u64::from(PROMPT_TOKENS + probing.output_tokens);
        let Some(hold) = self.shared.accounts.reserve_probe(Most { usd, tokens }, unix_s, now) else {
            return;
        };
        let Ok(permit) = self.shared.router.admit(&table, place, now) else { return };
        let streaming = protocol.streams();
        let request =
            request_bytes(&offer, protocol, streaming, &[], &body(&offer, protocol, probing.output_tokens));
        let purpose = Purpose {
            client: None,
            role: Role::Probe,
            offer,
            place,
            table,
            protocols: (protocol, protocol),
            streaming,
            usage_asked: true,
            sequence: self.shared.ledger.next_attempt(),
            begun_ns: now_ns(),
            prompt_tokens: u64::from(PROMPT_TOKENS),
            credible: Credible::of_probe(probing.output_tokens),
            uncached_tokens: f64::from(PROMPT_TOKENS),
            paid_events: u32::MAX,
            ask: None,
            _pass: None,
            hold: Some(hold),
        };
        let settings = &self.shared.settings;
        let exchange = Exchange::new(purpose, request, permit, &settings.clients, false);
        if let Err((exchange, error)) = self.carry(Box::new(exchange), false) {
            let concluded = exchange.conclude(BodyEnd::ConnectError(error.to_string()), now_ns());
            self.record_probe(concluded);
        }
    }

    pub(super) fn probe_ended(&mut self, token: u64, end: BodyEnd) {
        if let Some((concluded, _)) = self.take_attempt(token, end) {
            self.record_probe(concluded);
        }
    }

    fn record_probe(&self, mut concluded: super::exchange::Concluded) {
        let attempt = self.attempt_entry(&concluded, false, false);
        let now = now_ns();
        let cost_usd = attempt.cost_usd.unwrap_or(0.0);
        if let Some(hold) = concluded.purpose.hold.take() {
            let tokens = attempt.usage.prompt_tokens + attempt.usage.completion_tokens;
            self.shared.accounts.settle(hold, Used { usd: cost_usd, tokens });
        }
        let begun_ns = concluded.purpose.begun_ns;
        let first_ns = concluded.observation().event_ns.first();
        let entry = Entry {
            id: self.shared.ledger.new_id(unix_ns()),
            received_unix_ns: unix_ns() - (now - begun_ns),
            received_ns: begun_ns,
            ended_ns: now,
            key: None,
            app_title: None,
            app_referer: None,
            protocol: attempt.protocol,
            streaming: concluded.purpose.streaming,
            asked_model: attempt.model.clone(),
            outcome: "probe",
            status: concluded.observation().status,
            code: None,
            ttft_ns: first_ns.filter(|_| concluded.purpose.streaming).map(|ns| ns - begun_ns),
            queued_ns: 0,
            deadline_ns: None,
            finish_by_ns: None,
            deadline_met: None,
            cost_usd,
            cost_is_partial: attempt.cost_usd.is_none(),
            attempts: vec![attempt],
        };
        self.shared.ledger.append(&entry);
        self.shared.counters.finished(&entry);
    }
}
