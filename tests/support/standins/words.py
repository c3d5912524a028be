"""What engines say before they end, by fault: in their own words, which are longer than our lines."""

# ruff: noqa: E501

VLLM_DEATHS = {
    "out-of-memory": "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.32 GiB. GPU 0 has a total capacity of 23.64 GiB of which 1.10 GiB is free. Including non-PyTorch memory, this process has 22.5 GiB memory in use.",
    "no-cache-blocks": "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine (this flag also controls CPU memory reservation on the CPU backend, despite its name). See https://docs.vllm.ai/en/latest/configuration/conserving_memory/ for more details.",
    "long-context": "ValueError: To serve at least one request with the model's max seq len (131072), (16.0 GiB KV cache is needed, which is larger than the available KV cache memory (4.12 GiB). Based on the available memory, the estimated maximum model length is 33744. Try increasing `gpu_memory_utilization` (which also controls CPU memory on the CPU backend) or decreasing `max_model_len` when initializing the engine.",
    "gpu-busy": "ValueError: Free memory on device cuda:0 (3.20/23.64 GiB) on startup is less than desired GPU memory utilization (0.92, 21.75 GiB). Decrease GPU memory utilization or reduce GPU memory used by other processes.",
}

VLLM_REFUSALS = {
    "no-gpu": "RuntimeError: Failed to infer device type, please set the environment variable `VLLM_LOGGING_LEVEL=DEBUG` to turn on verbose logging to help debug the issue.",
    "architecture": "pydantic_core._pydantic_core.ValidationError: 1 validation error for ModelConfig\n  Value error, The checkpoint you are trying to load has model type `nosuch` but Transformers does not recognize this architecture. This could be because of an issue with the checkpoint, or because your version of Transformers is out of date.",
    "unsupported": "pydantic_core._pydantic_core.ValidationError: 1 validation error for ModelConfig\n  Value error, Model architectures ['NoSuchForCausalLM'] are not supported for now. Supported architectures: dict_keys([])",
    "gated": "OSError: You are trying to access a gated repo.\nMake sure to have access to it at https://huggingface.co/owner/model.\n401 Client Error.",
    "offline": "huggingface_hub.errors.LocalEntryNotFoundError: Cannot find an appropriate cached snapshot folder for the specified revision on the local disk and outgoing traffic has been disabled.",
}

SGLANG_DEATHS = {
    "out-of-memory": "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 896.00 MiB. GPU 0 has a total capacity of 23.64 GiB of which 512.00 MiB is free.",
    "no-cache": "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static. Current value: mem_fraction_static=0.857",
    "unbalanced": "RuntimeError: The memory capacity is unbalanced. Some GPUs may be occupied by other processes. pre_model_load_memory=11.2, local_gpu_memory=23.1, local_gpu_memory * 0.9=20.8",
    "unsupported": "ValueError: Model architectures ['NoSuchForCausalLM'] are not supported for now. Supported architectures: dict_keys([])",
}

SGLANG_REFUSALS = {
    "no-gpu": "RuntimeError: No accelerator (CUDA, XPU, HPU, NPU, MUSA, MPS) or platform plugin is available.",
    "architecture": "ValueError: The checkpoint you are trying to load has model type `nosuch` but Transformers does not recognize this architecture.",
    "missing": "OSError: nosuch is not a local folder and is not a valid model identifier listed on 'https://huggingface.co/models'",
}
