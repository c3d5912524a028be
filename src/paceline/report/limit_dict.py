"""A limit for programs: `paceline.limit/1` (docs/reference/limit.md)."""

from typing import TYPE_CHECKING, Any

from paceline.report.figures import estimate_dict, json_text, moment_text, rounded

if TYPE_CHECKING:
    from paceline.roofline.limit import Limit
    from paceline.roofline.rates import Rates
    from paceline.roofline.reached import Reached, Share
    from paceline.roofline.roof import Roof, Spent
    from paceline.weights.model import ModelFacts

SCHEMA = "paceline.limit/1"


def limit_dict(limit: "Limit") -> dict[str, Any]:
    """The document. Figures that are not known are null."""
    work, prompt = limit.work, limit.prompt
    return {
        "schema": SCHEMA,
        "model": _model(limit.facts),
        "draft_model": None if limit.draft is None else _model(limit.draft),
        "machine": _machine(limit.rates),
        "token": {
            "context_tokens": work.context_tokens,
            "kv_type": work.key_type,
            "kind": work.kind,
            "bytes": rounded(work.token_bytes),
            "kv_bytes": work.kv_read_bytes,
            "operations": work.token_operations,
            "head_operations": work.head_operations,
        },
        "streams": [_roof(one) for one in limit.streams],
        "ridge_streams": limit.ridge,
        "speculation": [_roof(one) for one in limit.speculation],
        "streams_with_speculation": [_roof(one) for one in limit.speculated],
        "prompt": {
            "tokens": prompt.prompt_tokens,
            "ttft_ms": rounded(prompt.ttft_s * 1e3),
            "prompt_tok_s": rounded(prompt.prompt_tok_s),
            **_spent(prompt.spent),
        },
        "runs": [_run(one) for one in limit.runs],
    }


def limit_json(limit: "Limit") -> str:
    """The document as text, with a line end."""
    return json_text(limit_dict(limit))


def _model(facts: "ModelFacts") -> dict[str, Any]:
    return {
        "name": facts.name,
        "architecture": facts.architecture,
        "format": facts.format,
        "fingerprint": facts.fingerprint,
        "parameters": facts.parameters,
        "weight_bytes": facts.weight_bytes,
        "bits_a_weight": rounded(8.0 * facts.weight_bytes / max(facts.parameters, 1)),
        "layers": facts.layers,
        "vocabulary": facts.vocabulary,
        "experts": facts.experts,
        "experts_used": facts.experts_used,
    }


def _machine(rates: "Rates") -> dict[str, Any]:
    return {
        "device": rates.device,
        "processor": rates.name or None,
        "source": rates.source,
        "measured_at": moment_text(rates.measured_at),
        "threads": rates.threads,
        "bandwidth_bytes_s": rounded(rates.bandwidth_bytes_s),
        "bytes_s_by_kernel": {name: rounded(value) for name, value in rates.by_kernel.items()},
        "operations_s": {name: rounded(value) for name, value in rates.arithmetic_s.items()},
        "spread": {name: [rounded(lo), rounded(best)] for name, (lo, best) in rates.spread.items()},
        "at_least": list(rates.at_least),
        "disturbed": rates.disturbed,
        "cache_bytes": rates.cache_bytes,
        "notes": list(rates.notes),
    }


def _roof(one: "Roof") -> dict[str, Any]:
    return {
        "streams": one.streams,
        "acceptance": one.acceptance,
        "drafted": one.drafted,
        "tokens_a_step": rounded(one.tokens_a_step),
        "stream_tok_s": rounded(one.stream_tok_s),
        "together_tok_s": rounded(one.together_tok_s),
        **_spent(one.spent),
    }


def _spent(spent: "Spent") -> dict[str, Any]:
    arithmetic_ms = None if spent.arithmetic_s is None else spent.arithmetic_s * 1e3
    return {
        "bytes": rounded(spent.bytes),
        "operations": rounded(spent.operations),
        "memory_ms": rounded(spent.memory_s * 1e3),
        "arithmetic_ms": rounded(arithmetic_ms),
        "limited_by": spent.bound if spent.seconds > 0.0 else None,
    }


def _run(one: "Reached") -> dict[str, Any]:
    run = one.observed
    drafts = run.drafts
    return {
        "id": run.run_id,
        "streams": run.streams,
        "context_tokens": run.context_tokens,
        "answers": run.decode_tok_s.n,
        "decode_tok_s": estimate_dict(run.decode_tok_s),
        "ttft_ms": None if run.ttft_ms is None else estimate_dict(run.ttft_ms),
        "least_ttft_ms": None if one.prompt is None else rounded(one.prompt.ttft_s * 1e3),
        "limit_tok_s": rounded(one.plain.stream_tok_s),
        "tokens_a_step": rounded(one.tokens_a_step),
        "tokens_a_step_by": one.tokens_by,
        "drafted": None if drafts is None else drafts.drafted,
        "accepted": None if drafts is None else drafts.accepted,
        "step_ms": rounded(1e3 / one.steps_s),
        "least_step_ms": rounded(one.spent.seconds * 1e3),
        "moved_bytes_s": rounded(one.moved_bytes_s),
        "of_limit": _share(one.of_limit),
        "of_bandwidth": _share(one.of_bandwidth),
        "of_arithmetic": None if one.of_arithmetic is None else _share(one.of_arithmetic),
        "held_back_by": one.holds,
    }


def _share(share: "Share") -> dict[str, Any]:
    return {"value": rounded(share.value), "lo": rounded(share.lo), "hi": rounded(share.hi)}
