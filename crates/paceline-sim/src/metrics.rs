//! What the engine says of itself to Prometheus, under the names of the inference engine that it is told to be.
//! `docs/reference/sim.md` says where each name comes from.

use std::fmt::Write;

use serde::Deserialize;

use crate::engine::Work;
use crate::prefix_cache::BLOCK_TOKENS;

/// Whose names are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
pub enum Flavour {
    /// vLLM.
    #[default]
    #[serde(rename = "vllm")]
    Vllm,
    /// SGLang.
    #[serde(rename = "sglang")]
    Sglang,
    /// Hugging Face's text-generation-inference.
    #[serde(rename = "tgi")]
    Tgi,
    /// llama.cpp's server.
    #[serde(rename = "llama.cpp")]
    LlamaCpp,
    /// `trtllm-serve` of TensorRT-LLM.
    #[serde(rename = "trtllm")]
    Trtllm,
}

impl Flavour {
    /// Where the metrics are.
    pub(crate) fn path(self) -> &'static str {
        if self == Self::Trtllm { "/prometheus/metrics" } else { "/metrics" }
    }
}

/// The engine at one instant.
#[derive(Debug, Clone, Default)]
pub(crate) struct Snapshot {
    pub(crate) model: String,
    pub(crate) running: u64,
    pub(crate) waiting: u64,
    pub(crate) used_blocks: u64,
    pub(crate) blocks: u64,
    pub(crate) totals: Totals,
    pub(crate) work: Work,
}

/// Sums since the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Totals {
    /// Answers that were begun.
    pub(crate) begun: u64,
    pub(crate) ended_stop: u64,
    pub(crate) ended_length: u64,
    /// Answers whose client went away.
    pub(crate) aborted: u64,
    pub(crate) generated_tokens: u64,
    /// Tokens of the answers that have ended well, and of their prompts.
    pub(crate) finished_tokens: u64,
    pub(crate) finished_prompt_tokens: u64,
}

impl Totals {
    fn finished(&self) -> u64 {
        self.ended_stop + self.ended_length
    }
}

/// Labels of a sample, without braces.
type Labels<'a> = &'a str;

struct Page {
    text: String,
    labels: String,
}

impl Page {
    fn sample(&mut self, name: &str, kind: &str, value: f64) {
        self.family(name, kind, &[("", value)]);
    }

    fn counter(&mut self, name: &str, value: u64) {
        self.sample(name, "counter", value as f64);
    }

    fn gauge(&mut self, name: &str, value: f64) {
        self.sample(name, "gauge", value);
    }

    /// One metric with several samples, each with labels of its own.
    fn family(&mut self, name: &str, kind: &str, samples: &[(Labels<'_>, f64)]) {
        // Writing to a String does not fail.
        let _ = writeln!(self.text, "# TYPE {name} {kind}");
        for (own, value) in samples {
            let comma = if own.is_empty() || self.labels.is_empty() { "" } else { "," };
            let labels = format!("{}{comma}{own}", self.labels);
            let braced = if labels.is_empty() { labels } else { format!("{{{labels}}}") };
            let _ = writeln!(self.text, "{name}{braced} {value}");
        }
    }

    /// A histogram of which only sum and count are known.
    fn histogram(&mut self, name: &str, sum: u64, count: u64) {
        let _ = writeln!(
            self.text,
            "# TYPE {name} histogram\n{name}_bucket{{le=\"+Inf\"}} {count}\n{name}_sum {sum}\n{name}_count {count}"
        );
    }
}

/// The page, in Prometheus' text format 0.0.4.
pub(crate) fn render(flavour: Flavour, now: &Snapshot) -> String {
    let model = now.model.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    let labels = match flavour {
        Flavour::Vllm => format!(r#"engine="0",model_name="{model}""#),
        Flavour::Sglang => format!(r#"engine_type="unified",model_name="{model}""#),
        Flavour::Trtllm => format!(r#"engine_type="trtllm",model_name="{model}""#),
        Flavour::Tgi | Flavour::LlamaCpp => String::new(),
    };
    let mut page = Page { text: String::new(), labels };
    match flavour {
        Flavour::Vllm => vllm(&mut page, now),
        Flavour::Sglang => sglang(&mut page, now),
        Flavour::Tgi => tgi(&mut page, now),
        Flavour::LlamaCpp => llama_cpp(&mut page, now),
        Flavour::Trtllm => trtllm(&mut page, now),
    }
    page.text
}

/// `part / whole`, and 0 of nothing.
fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

impl Snapshot {
    fn kv_use(&self) -> f64 {
        ratio(self.used_blocks as f64, self.blocks as f64).min(1.0)
    }

    fn hit_rate(&self) -> f64 {
        ratio(self.work.cache_hits as f64, self.work.cache_queries as f64)
    }

    fn speculates(&self) -> bool {
        self.work.drafted_tokens > 0
    }

    /// Steps of a sequence that began with a draft.
    fn drafts(&self) -> u64 {
        if self.speculates() { self.work.sequences } else { 0 }
    }

    /// Tokens of a step for each sequence, its own and those accepted.
    fn accept_length(&self) -> f64 {
        1.0 + ratio(self.work.accepted_tokens as f64, self.work.sequences as f64)
    }

    fn finished_by(&self) -> [(Labels<'static>, f64); 2] {
        [
            (r#"finished_reason="stop""#, self.totals.ended_stop as f64),
            (r#"finished_reason="length""#, self.totals.ended_length as f64),
        ]
    }
}

fn vllm(page: &mut Page, now: &Snapshot) {
    page.gauge("vllm:num_requests_running", now.running as f64);
    page.gauge("vllm:num_requests_waiting", now.waiting as f64);
    page.gauge("vllm:kv_cache_usage_perc", now.kv_use());
    page.counter("vllm:prefix_cache_queries_total", now.work.cache_queries);
    page.counter("vllm:prefix_cache_hits_total", now.work.cache_hits);
    page.counter("vllm:num_preemptions_total", 0);
    page.counter("vllm:prompt_tokens_total", now.work.prompt_tokens);
    page.counter("vllm:generation_tokens_total", now.totals.generated_tokens);
    page.family("vllm:request_success_total", "counter", &now.finished_by());
    if now.speculates() {
        page.counter("vllm:spec_decode_num_drafts_total", now.drafts());
        page.counter("vllm:spec_decode_num_draft_tokens_total", now.work.drafted_tokens);
        page.counter("vllm:spec_decode_num_accepted_tokens_total", now.work.accepted_tokens);
    }
}

fn sglang(page: &mut Page, now: &Snapshot) {
    page.gauge("sglang:num_running_reqs", now.running as f64);
    page.gauge("sglang:num_queue_reqs", now.waiting as f64);
    let block = BLOCK_TOKENS as u64;
    page.gauge("sglang:num_used_tokens", (now.used_blocks * block) as f64);
    page.gauge("sglang:max_total_num_tokens", (now.blocks * block) as f64);
    page.gauge("sglang:token_usage", now.kv_use());
    page.gauge("sglang:cache_hit_rate", now.hit_rate());
    page.counter("sglang:prompt_tokens_total", now.work.prompt_tokens);
    page.counter("sglang:cached_tokens_total", now.work.cache_hits);
    page.counter("sglang:generation_tokens_total", now.totals.generated_tokens);
    page.counter("sglang:num_requests_total", now.totals.finished());
    page.counter("sglang:num_aborted_requests_total", now.totals.aborted);
    if now.speculates() {
        page.gauge("sglang:spec_accept_length", now.accept_length());
        page.gauge(
            "sglang:spec_accept_rate",
            ratio(now.work.accepted_tokens as f64, now.work.drafted_tokens as f64),
        );
    }
}

fn tgi(page: &mut Page, now: &Snapshot) {
    page.gauge("tgi_batch_current_size", now.running as f64);
    page.gauge("tgi_queue_size", now.waiting as f64);
    page.counter("tgi_request_count", now.totals.begun);
    page.counter("tgi_request_success", now.totals.finished());
    page.histogram("tgi_request_input_length", now.totals.finished_prompt_tokens, now.totals.finished());
    page.histogram("tgi_request_generated_tokens", now.totals.finished_tokens, now.totals.finished());
    if now.speculates() {
        page.histogram("tgi_request_skipped_tokens", now.work.accepted_tokens, now.totals.finished());
    }
}

fn llama_cpp(page: &mut Page, now: &Snapshot) {
    let (prefill_s, decode_s) = (now.work.prefill_ns as f64 / 1e9, now.work.decode_ns as f64 / 1e9);
    let computed = now.work.computed_tokens;
    page.counter("llamacpp:prompt_tokens_total", computed);
    page.sample("llamacpp:prompt_seconds_total", "counter", prefill_s);
    page.counter("llamacpp:tokens_predicted_total", now.totals.generated_tokens);
    page.sample("llamacpp:tokens_predicted_seconds_total", "counter", decode_s);
    page.counter("llamacpp:n_decode_total", now.work.steps);
    page.gauge("llamacpp:prompt_tokens_seconds", ratio(computed as f64, prefill_s));
    page.gauge("llamacpp:predicted_tokens_seconds", ratio(now.totals.generated_tokens as f64, decode_s));
    page.gauge("llamacpp:n_busy_slots_per_decode", ratio(now.work.sequences as f64, now.work.steps as f64));
    page.counter("llamacpp:spec_decode_num_drafts_total", now.drafts());
    page.counter("llamacpp:spec_decode_num_draft_tokens_total", now.work.drafted_tokens);
    page.counter("llamacpp:spec_decode_num_accepted_tokens_total", now.work.accepted_tokens);
    page.gauge("llamacpp:requests_processing", now.running as f64);
    page.gauge("llamacpp:requests_deferred", now.waiting as f64);
}

fn trtllm(page: &mut Page, now: &Snapshot) {
    let block = BLOCK_TOKENS as u64;
    page.gauge("trtllm_num_requests_running", now.running as f64);
    page.gauge("trtllm_num_requests_waiting", now.waiting as f64);
    page.gauge("trtllm_kv_cache_utilization", now.kv_use());
    page.gauge("trtllm_kv_cache_max_blocks", now.blocks as f64);
    page.gauge("trtllm_kv_cache_used_blocks", now.used_blocks as f64);
    page.gauge("trtllm_kv_cache_free_blocks", now.blocks.saturating_sub(now.used_blocks) as f64);
    page.gauge("trtllm_kv_cache_tokens_per_block", block as f64);
    page.gauge("trtllm_kv_cache_hit_rate", now.hit_rate());
    page.counter("trtllm_kv_cache_reused_blocks_total", now.work.cache_hits / block);
    page.counter(
        "trtllm_kv_cache_missed_blocks_total",
        now.work.cache_queries.saturating_sub(now.work.cache_hits) / block,
    );
    page.counter("trtllm_prompt_tokens_total", now.work.prompt_tokens);
    page.counter("trtllm_prompt_cached_tokens_total", now.work.cache_hits);
    page.counter("trtllm_generation_tokens_total", now.totals.generated_tokens);
    page.family("trtllm_request_success_total", "counter", &now.finished_by());
    page.counter("trtllm_num_requests_completed_total", now.totals.finished());
    if now.speculates() {
        page.counter("trtllm_spec_decode_num_draft_tokens_total", now.work.drafted_tokens);
        page.counter("trtllm_spec_decode_num_accepted_tokens_total", now.work.accepted_tokens);
        page.gauge("trtllm_spec_decode_acceptance_length", now.accept_length());
    }
}

#[cfg(test)]
#[path = "metrics_tests.rs"]
mod tests;
