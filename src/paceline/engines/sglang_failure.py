"""Why SGLang did not come up, in the words of release 0.5.23."""

from paceline.engines.python_failure import Known

MEMORY_HINT = (
    "fewer requests at once (max-running-requests), smaller CUDA graphs (cuda-graph-max-bs-decode), a "
    "smaller share for weights and KV (mem-fraction-static), more GPUs (tp-size), or a smaller quantisation"
)
KNOWN: tuple[Known, ...] = (
    (
        r"Not enough memory\. Please try to increase --mem-fraction-static"
        r"(?:\. Current value: mem_fraction_static=(?P<share>[\d.]+))?",
        "the weights leave no memory for the KV cache",
        "more GPUs (tp-size), a larger mem-fraction-static, or a smaller quantisation of the model",
        True,
    ),
    (
        r"The memory capacity is unbalanced",
        "the GPUs have unlike room: something else uses some of them",
        "stop what uses them (nvidia-smi shows what)",
        False,
    ),
    (
        r"Model architectures (?P<names>\[[^\]]*\]|\S+) are not supported",
        "it does not serve the architecture {names}",
        "a newer release may; or the model's own page names the engine that serves it",
        True,
    ),
    (
        r"Unknown speculative algorithm name: (?P<name>\S+)",
        "it knows no way of drafting that is called {name}",
        "speculative-algorithm is NEXTN, NGRAM, EAGLE, EAGLE3, STANDALONE or DFLASH",
        True,
    ),
    (
        r"port \d+ is in use|is not available in \d+ seconds",
        "a port that it needs is taken by another program",
        "give another --port; it takes ports beside it too",
        True,
    ),
    (
        r"scheduler died during initialization \(exit code: -9\)",
        "a scheduler was killed, as the kernel does when the machine's memory runs out",
        "see dmesg; weights are read through the machine's memory: free some, or load fewer at once",
        False,
    ),
)
