"""What one step of decoding reads and computes, by the headers of the model.

Counted: each weight that a step must read, once a step; the KV of each stream; two operations (a multiply and
an add) for each weight that a token is multiplied with. Left out, as small beside these: activations, norms'
arithmetic, softmax, sampling. So the bytes are a lower bound, and a rate made of them an upper one.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, cast, get_args

from paceline.weights.kv import attention_operations, read_bytes, written_bytes
from paceline.weights.model import ModelFacts, Tensor
from paceline.weights.parts import Part, is_main_table, is_matrix, part_of
from paceline.weights.tensor_types import quantised

# In what the products of weights and activations are computed.
NumberKind = Literal["int8", "fp4", "fp8", "f16", "bf16", "f32"]


@dataclass(frozen=True, slots=True)
class Work:
    """Bytes and operations of decoding at one length of context. Weights are counted once a step.

    context_tokens: that a stream's cache holds when the step begins. key_type, value_type: of the KV cache.
    kind: in what most of a token's products are computed.

    Bytes: dense_bytes: weights of every step, whatever the tokens (attention, shared experts, norms), without
    the output head. head_bytes: the output head; where the embedding table serves as head, the whole table.
    row_bytes: a token's own row of tables that are only looked up. expert_bytes: all routed experts of all
    layers; `experts_used` of `experts` a layer serve one token (0 and 0: none). kv_read_bytes: what is read
    of one stream's cache at this context; kv_written_bytes: what one token adds. state_bytes: of one stream's
    recurrent layers, read and written again in each step. extra_head_bytes: MTP layers, in no step unless
    they draft.

    Operations, each of one token: dense_operations, expert_operations (its own experts), head_operations (in
    a prompt only the last token has them; in a verification of drafts each), attention_operations (at this
    context), extra_head_operations.
    """

    context_tokens: int
    key_type: str
    value_type: str
    kind: NumberKind
    experts: int
    experts_used: int
    dense_bytes: int
    head_bytes: int
    row_bytes: int
    expert_bytes: int
    kv_read_bytes: int
    kv_written_bytes: int
    state_bytes: int
    extra_head_bytes: int
    dense_operations: int
    expert_operations: int
    head_operations: int
    attention_operations: int
    extra_head_operations: int

    @property
    def token_bytes(self) -> float:
        """What one stream's step with one token moves."""
        return self.step_bytes(1, 1)

    @property
    def token_operations(self) -> int:
        """Operations of one stream's step with one token, the output head included."""
        return self.step_operations(1, 1)

    def experts_touched(self, tokens: int) -> float:
        """Share of the routed experts that `tokens` tokens go through together, as expected.

        1 - (1 - k/E)^n, for n tokens that each choose k of E experts, all alike likely and independently of
        each other: the uniform-routing assumption. Real routers have favourites, and neighbours in a text
        choose alike, so that fewer are touched; the bytes are then an upper bound, and a rate made of them a
        lower one. 1 where the number of experts is not said.
        """
        if not self.experts:
            return 1.0
        return float(1.0 - (1.0 - self.experts_used / self.experts) ** tokens)

    def step_bytes(self, tokens: int = 1, streams: int = 1) -> float:
        """What a step moves in which each of `streams` streams has `tokens` tokens (1 and its drafts).

        A stream's cache is read once for all of its tokens.
        """
        together = tokens * streams
        weights = self.dense_bytes + self.head_bytes + self.experts_touched(together) * self.expert_bytes
        written = together * (self.kv_written_bytes + self.row_bytes)
        return weights + written + streams * (self.kv_read_bytes + 2 * self.state_bytes)

    def step_operations(self, tokens: int = 1, streams: int = 1) -> int:
        """Operations of a step in which each of `streams` streams has `tokens` tokens, all through the
        head."""
        each = self.dense_operations + self.expert_operations + self.head_operations
        return tokens * streams * (each + self.attention_operations)

    def prompt_operations(self, tokens: int) -> int:
        """Operations of reading a prompt of `tokens` tokens; attention as at `context_tokens` for each."""
        each = self.dense_operations + self.expert_operations + self.attention_operations
        return tokens * each + self.head_operations


def token_work(
    facts: ModelFacts, *, context_tokens: int, kv_type: str = "f16", value_type: str | None = None
) -> Work:
    """Bytes and operations of decoding with a model at a context; value_type: where it differs from the
    keys'.

    Raises ValueError for a type of KV cache that is not known, or a negative context.
    """
    if context_tokens < 0:
        raise ValueError(f"a context of {context_tokens} tokens cannot be")
    parts = _by_part(facts)
    values = value_type or kv_type
    tied = [tensor for tensor in parts["table"] if facts.tied_embeddings and is_main_table(tensor)]
    # A file may hold a tied head a second time: only one of the two is read.
    head = parts["head"] or tied
    looked_up = [tensor for tensor in parts["table"] if tensor not in tied]
    return Work(
        context_tokens=context_tokens,
        key_type=kv_type,
        value_type=values,
        kind=_kind(facts, [*parts["dense"], *head], parts["expert"]),
        experts=facts.experts,
        experts_used=facts.experts_used,
        dense_bytes=_bytes(parts["dense"]),
        head_bytes=_bytes(head),
        row_bytes=sum(tensor.bytes // max(tensor.shape[0], 1) for tensor in looked_up),
        expert_bytes=_bytes(parts["expert"]),
        kv_read_bytes=read_bytes(facts, context_tokens, kv_type, values),
        kv_written_bytes=written_bytes(facts, kv_type, values),
        state_bytes=facts.state_bytes,
        extra_head_bytes=_bytes(parts["extra"]) + _one_token(facts, _bytes(parts["extra_expert"])),
        dense_operations=_operations(parts["dense"]),
        expert_operations=_one_token(facts, _operations(parts["expert"])),
        head_operations=_operations(head),
        attention_operations=attention_operations(facts, context_tokens),
        extra_head_operations=_operations(parts["extra"])
        + _one_token(facts, _operations(parts["extra_expert"])),
    )


def _by_part(facts: ModelFacts) -> dict[Part, list[Tensor]]:
    found: dict[Part, list[Tensor]] = {part: [] for part in get_args(Part)}
    for tensor in facts.tensors:
        found[part_of(facts, tensor)].append(tensor)
    return found


def _bytes(tensors: Iterable[Tensor]) -> int:
    return sum(tensor.bytes for tensor in tensors)


def _operations(tensors: Iterable[Tensor]) -> int:
    return sum(2 * tensor.elements for tensor in tensors if is_matrix(tensor))


def _one_token(facts: ModelFacts, of_all_experts: int) -> int:
    """A token's share of what all routed experts take; all where their number is not said."""
    if not facts.experts:
        return of_all_experts
    return of_all_experts * facts.experts_used // facts.experts


def _kind(facts: ModelFacts, every: Iterable[Tensor], experts: Iterable[Tensor]) -> NumberKind:
    """In what most of a token's products are computed; experts count with the share that a token uses."""
    # By the files' own types first, which are few.
    elements: dict[str, float] = defaultdict(float)
    share = facts.experts_used / facts.experts if facts.experts else 1.0
    for tensors, weight in ((every, 1.0), (experts, share)):
        for tensor in tensors:
            if is_matrix(tensor):
                elements[tensor.type] += weight * tensor.elements
    kinds: dict[NumberKind, float] = defaultdict(float)
    for type_, count in elements.items():
        kinds[_kind_of(facts, type_)] += count
    return max(kinds, key=lambda kind: kinds[kind], default="f32")


def _kind_of(facts: ModelFacts, type_: str) -> NumberKind:
    """llama.cpp rounds activations to 8 bits where weights are in blocks; elsewhere 4 bits widen to
    activations'."""
    if facts.format == "gguf" and quantised(type_):
        return "int8"
    if type_.startswith("fp8"):
        return "fp8"
    match type_:
        case "i8":
            return "int8"
        case "f16" | "bf16" | "f32" | "fp4":
            return cast(NumberKind, type_)
    return "f16" if any(tensor.type == "f16" for tensor in facts.tensors) else "bf16"
