"""Why vLLM did not come up, in the words of release 0.33.0."""

from paceline.engines.python_failure import Known

MEMORY_HINT = (
    "a shorter context (max-model-len), fewer requests at once (max-num-seqs), a smaller share of the memory "
    "(gpu-memory-utilization), more GPUs (tensor-parallel-size), or a smaller quantisation of the model"
)
KNOWN: tuple[Known, ...] = (
    (
        r"Free memory on device \S+ \((?P<free>[\d.]+)/(?P<all>[\d.]+) GiB\) on startup is less than desired",
        "something else uses the GPU: {free} of {all} GiB are free, and it was to take more",
        "stop what uses it (nvidia-smi shows what), or lower gpu-memory-utilization",
        False,
    ),
    (
        r"No available memory for the cache blocks",
        "the weights leave no memory for the KV cache",
        MEMORY_HINT,
        True,
    ),
    (
        r"max seq len \((?P<asked>\d+)\).{0,300}?estimated maximum model length is (?P<most>\d+)",
        "a request of the whole context ({asked} tokens) does not fit beside the weights",
        "set max-model-len={most}, or give it more memory: " + MEMORY_HINT,
        True,
    ),
    (
        r"To serve at least one request with the model's max seq len \((?P<asked>\d+)\)",
        "a request of the whole context ({asked} tokens) does not fit beside the weights",
        MEMORY_HINT,
        True,
    ),
    (
        r"Model architectures? (?P<names>\[[^\]]*\]|\S+) (?:are|is) not supported",
        "it does not serve the architecture {names}",
        "a newer release may; or the model's own page names the engine that serves it",
        True,
    ),
    (
        r"Cannot find model module\. '(?P<name>[^']+)'",
        "it does not serve the architecture {name}",
        "a newer release may; or the model's own page names the engine that serves it",
        True,
    ),
    (
        r"Invalid repository ID or local directory specified",
        "the folder holds no model: it has no config.json",
        "give the folder that holds config.json and the *.safetensors files",
        True,
    ),
    (
        r"Arctic Inference is required for suffix decoding",
        "drafting by suffixes needs the package arctic-inference beside vLLM",
        "install it there, or set speculative-config.method=ngram",
        True,
    ),
    (
        r"num_speculative_tokens:(?P<count>\d+) must be divisible by n_predict=(?P<heads>\d+)",
        "{count} guesses cannot be made by {heads} heads",
        "set speculative-config.num_speculative_tokens to a multiple of {heads}",
        True,
    ),
    (
        r"Total number of attention heads \((?P<heads>\d+)\) must be divisible by tensor parallel size"
        r" \((?P<size>\d+)\)",
        "{heads} attention heads cannot be split over {size} GPUs",
        "set tensor-parallel-size to a number that divides {heads}",
        True,
    ),
    # The server tells of it, and ends in peace with exit code 0.
    (
        r"EngineDeadError: EngineCore encountered an issue",
        "its engine process (EngineCore) ended while it served",
        "its log may tell why, above; where it was killed, see dmesg: the machine's memory may be short",
        False,
    ),
)
