use std::collections::HashMap;

use super::*;

fn snapshot(drafted_tokens: u64) -> Snapshot {
    Snapshot {
        model: "a \"b\"".to_owned(),
        running: 3,
        waiting: 2,
        used_blocks: 25,
        blocks: 100,
        totals: Totals {
            begun: 9,
            ended_stop: 4,
            ended_length: 1,
            aborted: 1,
            generated_tokens: 300,
            finished_tokens: 250,
            finished_prompt_tokens: 500,
        },
        work: Work {
            prompt_tokens: 800,
            computed_tokens: 600,
            prefill_ns: 2_000_000_000,
            cache_queries: 1_000,
            cache_hits: 320,
            steps: 100,
            decode_ns: 3_000_000_000,
            sequences: 200,
            drafted_tokens,
            accepted_tokens: drafted_tokens / 2,
        },
    }
}

/// Samples by name and labels. Each family has its type before it, and every value is a number.
fn samples(page: &str) -> HashMap<String, f64> {
    let mut known = String::new();
    let mut samples = HashMap::new();
    for line in page.lines() {
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            known = rest.split(' ').next().unwrap().to_owned();
        } else {
            let (name, value) = line.rsplit_once(' ').unwrap();
            assert!(name.starts_with(&known), "{line}");
            assert!(samples.insert(name.to_owned(), value.parse().unwrap()).is_none(), "{name} twice");
        }
    }
    samples
}

/// A flavour, its labels, and what it has to say of [`snapshot`].
type Expected = (Flavour, &'static str, &'static [(&'static str, f64)]);

const EXPECTED: [Expected; 5] = [
    (
        Flavour::Vllm,
        r#"{engine="0",model_name="a \"b\""}"#,
        &[
            ("vllm:num_requests_running", 3.0),
            ("vllm:num_requests_waiting", 2.0),
            ("vllm:kv_cache_usage_perc", 0.25),
            ("vllm:prefix_cache_queries_total", 1_000.0),
            ("vllm:prefix_cache_hits_total", 320.0),
            ("vllm:prompt_tokens_total", 800.0),
            ("vllm:generation_tokens_total", 300.0),
            ("vllm:spec_decode_num_drafts_total", 200.0),
            ("vllm:spec_decode_num_accepted_tokens_total", 300.0),
        ],
    ),
    (
        Flavour::Sglang,
        r#"{engine_type="unified",model_name="a \"b\""}"#,
        &[
            ("sglang:num_running_reqs", 3.0),
            ("sglang:num_queue_reqs", 2.0),
            ("sglang:token_usage", 0.25),
            ("sglang:num_used_tokens", 400.0),
            ("sglang:cache_hit_rate", 0.32),
            ("sglang:spec_accept_length", 2.5),
            ("sglang:spec_accept_rate", 0.5),
        ],
    ),
    (
        Flavour::Tgi,
        "",
        &[
            ("tgi_batch_current_size", 3.0),
            ("tgi_queue_size", 2.0),
            ("tgi_request_count", 9.0),
            ("tgi_request_success", 5.0),
            ("tgi_request_generated_tokens_sum", 250.0),
            ("tgi_request_input_length_count", 5.0),
        ],
    ),
    (
        Flavour::LlamaCpp,
        "",
        &[
            ("llamacpp:requests_processing", 3.0),
            ("llamacpp:requests_deferred", 2.0),
            ("llamacpp:prompt_tokens_total", 600.0),
            ("llamacpp:prompt_tokens_seconds", 300.0),
            ("llamacpp:predicted_tokens_seconds", 100.0),
            ("llamacpp:n_busy_slots_per_decode", 2.0),
        ],
    ),
    (
        Flavour::Trtllm,
        r#"{engine_type="trtllm",model_name="a \"b\""}"#,
        &[
            ("trtllm_num_requests_running", 3.0),
            ("trtllm_num_requests_waiting", 2.0),
            ("trtllm_kv_cache_utilization", 0.25),
            ("trtllm_kv_cache_free_blocks", 75.0),
            ("trtllm_kv_cache_reused_blocks_total", 20.0),
            ("trtllm_spec_decode_acceptance_length", 2.5),
        ],
    ),
];

#[test]
fn each_engine_has_its_own_names_for_the_same_figures() {
    for (flavour, labels, expected) in EXPECTED {
        let samples = samples(&render(flavour, &snapshot(600)));
        for (name, value) in expected {
            assert_eq!(samples.get(&format!("{name}{labels}")), Some(value), "{name}");
        }
    }
}

#[test]
fn reasons_are_labels_beside_those_of_the_model() {
    let samples = samples(&render(Flavour::Vllm, &snapshot(0)));
    let with = |reason: &str| {
        samples[&format!(
            r#"vllm:request_success_total{{engine="0",model_name="a \"b\"",finished_reason="{reason}"}}"#
        )]
    };
    assert_eq!((with("stop"), with("length")), (4.0, 1.0));
}

#[test]
fn an_engine_that_does_not_speculate_says_nothing_of_it() {
    for flavour in [Flavour::Vllm, Flavour::Sglang, Flavour::Tgi, Flavour::Trtllm] {
        assert!(!render(flavour, &snapshot(0)).contains("spec_"));
    }
    let llama_cpp = samples(&render(Flavour::LlamaCpp, &snapshot(0)));
    assert_eq!(llama_cpp["llamacpp:spec_decode_num_drafts_total"], 0.0, "it says so in figures");
}

#[test]
fn nothing_yet_is_zero_and_never_nan() {
    for flavour in [Flavour::Vllm, Flavour::Sglang, Flavour::Tgi, Flavour::LlamaCpp, Flavour::Trtllm] {
        for (name, value) in samples(&render(flavour, &Snapshot::default())) {
            assert!(value == 0.0 || name.contains("tokens_per_block"), "{name} {value}");
        }
    }
}
