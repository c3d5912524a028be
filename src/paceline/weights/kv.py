"""The KV cache of one stream, layer by layer: its bytes, and the operations of attending to it."""

from paceline.weights.model import ModelFacts
from paceline.weights.tensor_types import cache_bytes


def cells(facts: ModelFacts, layer: int, tokens: int) -> int:
    """Tokens of a context that a layer's cache keeps: all, or the window's at most."""
    if facts.sliding_window is not None and facts.sliding[layer]:
        return min(tokens, facts.sliding_window)
    return tokens


def head_dims(facts: ModelFacts, layer: int) -> tuple[int, int]:
    """Numbers of keys and of values that a KV head of a layer keeps a token."""
    if facts.sliding_dims is not None and facts.sliding[layer]:
        return facts.sliding_dims
    return facts.key_dim, facts.value_dim


def cell_bytes(facts: ModelFacts, layer: int, key_type: str, value_type: str) -> int:
    """What one token takes in the cache that a layer reads, its own or an earlier one's.

    With latent attention (MLA) values are read out of the keys' latent, and take nothing. Raises ValueError
    for a type that is not known.
    """
    keys, values = head_dims(facts, layer)
    heads = facts.kv_heads[layer]
    stored_values = 0 if facts.latent_dim else heads * values
    return cache_bytes(key_type, heads * keys) + cache_bytes(value_type, stored_values) + _index_bytes(facts)


def kv_bytes(facts: ModelFacts, tokens: int, key_type: str, value_type: str) -> int:
    """What one stream's cache takes at a context of so many tokens, as if every layer had its own.

    Raises ValueError for a type that is not known.
    """
    return sum(
        cells(facts, layer, tokens) * cell_bytes(facts, layer, key_type, value_type)
        for layer in range(facts.layers)
    )


def read_bytes(facts: ModelFacts, tokens: int, key_type: str, value_type: str) -> int:
    """What a step reads of one stream's cache at a context of so many tokens.

    All of it, but with sparse attention the indexer's keys of all tokens, and the tokens that it picks.
    Raises ValueError for a type that is not known.
    """
    index = _index_bytes(facts)
    return sum(
        cells(facts, layer, tokens) * index
        + _attended(facts, layer, tokens) * (cell_bytes(facts, layer, key_type, value_type) - index)
        for layer in range(facts.layers)
    )


def written_bytes(facts: ModelFacts, key_type: str, value_type: str) -> int:
    """What one token adds to its stream's cache.

    Raises ValueError for a type that is not known.
    """
    own = range(max(facts.layers - facts.shared_kv_layers, 0))
    return sum(cell_bytes(facts, layer, key_type, value_type) for layer in own)


def attention_operations(facts: ModelFacts, tokens: int) -> int:
    """Operations of one token's attention to a context: a multiply and an add for each number of each key and
    value.

    With latent attention a head works on the latent itself (keys and values absorbed into the query's and the
    output's matrices, DeepSeek-V2, 2.1.2). An indexer looks at all tokens, with its own heads.
    """
    _, heads, dim = facts.indexer or (0, 0, 0)
    return sum(
        2 * facts.heads * _attended(facts, layer, tokens) * sum(head_dims(facts, layer))
        + 2 * heads * dim * cells(facts, layer, tokens)
        for layer in range(facts.layers)
        if facts.kv_heads[layer]
    )


def _attended(facts: ModelFacts, layer: int, tokens: int) -> int:
    """Tokens that a layer attends to."""
    kept = cells(facts, layer, tokens)
    return min(kept, facts.indexer[0]) if facts.indexer else kept


def _index_bytes(facts: ModelFacts) -> int:
    """An indexer's key of one token and layer: one byte a number, as engines keep it in fp8."""
    return facts.indexer[2] if facts.indexer else 0
