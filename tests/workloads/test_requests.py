"""The requests of a run: bodies of both protocols, the plan, and the same request however it is reached."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from paceline.errors import ConfigError
from paceline.protocols import Dialect, Protocol
from paceline.workloads.plan import PLAN_SCHEMA
from paceline.workloads.requests import RequestSource
from paceline.workloads.spec import WorkloadSpec
from tests.support.tokenizers import save, trained


def source(protocol: Protocol = "openai-chat", start: int = 0, **spec: Any) -> RequestSource:
    words = {"prompt_tokens": 20, "output_tokens": 8, "tokenizer": "words", "seed": 1}
    return RequestSource(WorkloadSpec.parse(words | spec), "m", protocol, start=start)


def bodies(batch: pa.RecordBatch) -> list[dict[str, Any]]:
    return [json.loads(body or b"") for body in batch.column("body").to_pylist()]


def prompts(batch: pa.RecordBatch) -> list[str]:
    return [body["messages"][-1]["content"] for body in bodies(batch)]


def test_a_streaming_chat_request() -> None:
    batch, _ = source(system='Be "kind" é.', temperature=0.5, extra={"ignore_eos": True}).take(1)
    assert batch.schema.names == ["body"]
    assert batch.schema.types == [pa.binary()]
    (body,) = bodies(batch)
    prompt = body["messages"][1]["content"]
    assert len(prompt.split()) == 20
    assert body == {
        "model": "m",
        "messages": [{"role": "system", "content": 'Be "kind" é.'}, {"role": "user", "content": prompt}],
        "max_tokens": 8,
        "ignore_eos": True,
        "temperature": 0.5,
        "stream": True,
        "stream_options": {"include_usage": True},
    }


def test_a_whole_completions_request() -> None:
    (body,) = bodies(source("openai-completions", streaming=False).take(1)[0])
    assert body == {"model": "m", "prompt": body["prompt"], "max_tokens": 8, "stream": False}
    assert len(body["prompt"].split()) == 20


def test_bodies_follow_what_the_server_can_do() -> None:
    spec = WorkloadSpec.parse({"prompt_tokens": 3, "tokenizer": "words"})
    old = RequestSource(
        spec, "m", dialect=Dialect(stream_options=False, max_tokens_field="max_completion_tokens")
    )
    (body,) = bodies(old.take(1)[0])
    assert "stream_options" not in body
    assert "max_tokens" not in body
    assert body["max_completion_tokens"] == 128
    (body,) = bodies(source(stream_usage=False).take(1)[0])
    assert "stream_options" not in body


@pytest.mark.parametrize(
    ("output", "ceiling", "asked"),
    [("8", None, 8), ("8", 5, 5), ("8", 50, 8), (None, 50, 50), (None, None, None)],
)
def test_the_limit_on_an_answer(output: str | None, ceiling: int | None, asked: int | None) -> None:
    batch, plan = source(output_tokens=output, max_tokens=ceiling).take(2)
    assert [body.get("max_tokens") for body in bodies(batch)] == [asked, asked]
    assert plan.column("output_tokens_asked").to_pylist() == [asked, asked]


def test_the_plan_says_what_each_body_asks() -> None:
    batch, plan = source(
        prompt_tokens="uniform:5:50", output_tokens="uniform:1:9", shared_prefix_tokens=7
    ).take(200)
    assert plan.schema == PLAN_SCHEMA
    rows = plan.to_pylist()
    assert [row["request_index"] for row in rows] == list(range(200))
    for row, body in zip(rows, bodies(batch), strict=True):
        prompt = body["messages"][0]["content"]
        assert row["prompt_tokens_asked"] == len(prompt.split())
        assert row["output_tokens_asked"] == body["max_tokens"]
        assert row["prompt_sha256"] == hashlib.sha256(prompt.encode()).hexdigest()
    assert len({row["prompt_tokens_asked"] for row in rows}) > 40
    assert len({row["prompt_sha256"] for row in rows}) == 200


def test_request_k_is_the_same_however_it_is_reached() -> None:
    lengths: dict[str, Any] = {"prompt_tokens": "normal:40:9", "output_tokens": "normal:20:5"}
    whole_batch, whole_plan = source(**lengths).take(50)
    pieces = source(**lengths)
    taken = [pieces.take(n) for n in (1, 0, 30, 19)]
    resumed_batch, resumed_plan = source(start=31, **lengths).take(19)
    assert [b for batch, _ in taken for b in batch.column("body").to_pylist()] == whole_batch.column(
        "body"
    ).to_pylist()
    assert pa.concat_tables([plan for _, plan in taken]).equals(whole_plan)
    assert resumed_batch.equals(whole_batch.slice(31))
    assert resumed_plan.equals(whole_plan.slice(31))
    assert pieces.next_index == 50


def test_another_seed_is_another_run() -> None:
    assert not set(prompts(source(seed=1).take(50)[0])) & set(prompts(source(seed=2).take(50)[0]))


def test_a_salt_changes_the_first_four_words_and_nothing_else() -> None:
    plain, salted = (prompts(source(prefix_salt=salt).take(50)[0]) for salt in (0, 9))
    for one, other in zip(plain, salted, strict=True):
        assert one.split()[:4] != other.split()[:4]
        assert one.split()[4:] == other.split()[4:]


def test_prefixes_are_unique_and_the_shared_text_is_shared() -> None:
    own = prompts(source(prompt_tokens=4).take(2000)[0])
    assert len(set(own)) == 2000
    shared = prompts(source(prompt_tokens=4, shared_prefix_tokens=30).take(200)[0])
    assert len({" ".join(prompt.split()[:30]) for prompt in shared}) == 1
    assert len({" ".join(prompt.split()[30:]) for prompt in shared}) == 200


def test_a_cached_share_of_each_prompt_is_the_same_text() -> None:
    batch, plan = source(prompt_tokens="choice:100,40", cached_share=0.6).take(60)
    texts = [prompt.split() for prompt in prompts(batch)]
    assert [len(words) for words in texts] == plan.column("prompt_tokens_asked").to_pylist()
    assert len({" ".join(words[:20]) for words in texts}) == 1
    assert len({" ".join(words[:60]) for words in texts if len(words) == 100}) == 1
    assert len({" ".join(words[60:64]) for words in texts if len(words) == 100}) > 20
    assert all(
        len(words) == 1
        for words in map(str.split, prompts(source(prompt_tokens=1, cached_share=0.9).take(3)[0]))
    )


def test_exact_lengths_are_asked_where_the_server_can_be_told() -> None:
    spec = WorkloadSpec.parse({"tokenizer": "words", "exact_output": True, "output_tokens": 9})
    for told, field in (("ignore_eos", True), ("min_tokens", 9), (None, None)):
        (body,) = bodies(RequestSource(spec, "m", dialect=Dialect(exact_output=told)).take(1)[0])  # type: ignore[arg-type]
        assert body.get(told or "ignore_eos") == field


def test_lengths_are_exact_with_a_tokenizer_and_marked_without(tmp_path: Path) -> None:
    file = save("byte_bpe", tmp_path / "tokenizer.json")
    exact = source(tokenizer=str(file), prompt_tokens="uniform:6:90", shared_prefix_tokens=11)
    batch, plan = exact.take(40)
    assert not exact.approximate
    assert not exact.encodes_each
    counted = [len(trained("byte_bpe").encode(prompt).ids) for prompt in prompts(batch)]
    assert counted == plan.column("prompt_tokens_asked").to_pylist()
    assert source(tokenizer=None).approximate


def test_a_system_prompt_needs_the_chat_protocol() -> None:
    for protocol in ("openai-completions", "openai-embeddings"):
        with pytest.raises(ConfigError) as caught:
            source(protocol, system="x")
        assert "openai-chat" in (caught.value.hint or "")
    with pytest.raises(ConfigError, match="unknown"):
        source("soap")  # type: ignore[arg-type]
