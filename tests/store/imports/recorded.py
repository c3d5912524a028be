"""Files that the tools themselves wrote (`benches/conformance.py --record`), and one in vllm's form.

The engine had 20 ms to the first token, 3 ms between tokens, answers of 8 tokens of which 2 are reasoning,
and turned a quarter of the requests away with status 429. There is no file of vllm bench serve itself: what
is here is written by hand in the form that its source gives.
"""

from pathlib import Path
from typing import Any

DATA = Path(__file__).resolve().parents[2] / "data" / "imports"
GUIDELLM = DATA / "guidellm-0.8.1.json"
GUIDELLM_RATES = DATA / "guidellm-0.8.1-rates.json"
AIPERF = DATA / "aiperf-0.13.0.jsonl"


def vllm_result(*, detailed: bool = True, **fields: Any) -> dict[str, Any]:
    """Three requests, the last of which failed."""
    document: dict[str, Any] = {
        "date": "20261130-101500",
        "endpoint_type": "openai-chat",
        "backend": "openai-chat",
        "label": "openai-chat",
        "model_id": "truth",
        "tokenizer_id": "truth",
        "num_prompts": 3,
        "request_rate": "inf",
        "burstiness": 1.0,
        "max_concurrency": 2,
        "duration": 1.0,
        "completed": 2,
        "failed": 1,
        "total_input_tokens": 30,
        "total_output_tokens": 7,
        "request_throughput": 2.0,
        "output_throughput": 7.0,
        "mean_ttft_ms": 150.0,
        "median_ttft_ms": 150.0,
        "std_ttft_ms": 50.0,
        "p99_ttft_ms": 199.0,
        "mean_tpot_ms": 15.0,
        "median_tpot_ms": 15.0,
        "p99_tpot_ms": 19.9,
        "mean_itl_ms": 16.0,
        "median_itl_ms": 20.0,
        "p99_itl_ms": 20.0,
    }
    if detailed:
        document |= {
            "input_lens": [10, 10, 10],
            "output_lens": [3, 4, 0],
            "start_times": [5000.0, 5000.25, 5000.5],
            "ttfts": [0.1, 0.2, 0.0],
            "itls": [[0.01, 0.01], [0.02, 0.02, 0.02], []],
            "queue_times": [0.0, 0.05, 0.1],
            "generated_texts": ["a b c", "d e f g", ""],
            "errors": ["", "", "Too Many Requests"],
        }
    return document | fields
