"""Why an engine that is a Python package did not come up or ended, from its own last words."""

import re
from collections.abc import Iterable

from paceline.engines.by_signal import by_signal
from paceline.engines.engine import Failure

# Pattern, message, hint, lasting. The first that is found tells; its groups fill the message and the hint.
Known = tuple[str, str, str, bool]

_SERVED = re.compile(r'"POST /v1/|Application startup complete|ready to roll')
_LAST_ERROR = re.compile(r"(?:^|[\s)\]])((?:\w+\.)*[A-Z]\w*(?:Error|Exception|Exit)): (\S.*)$", re.MULTILINE)
# SGLang kills itself where one of its processes fails.
_ENDS_ITSELF = re.compile(r"Received sigquit from a child process")
_TOKEN = "a gated model needs its licence accepted, and HF_TOKEN in the environment (never in a command)"
_DRIVER = "it needs a GPU that its build was made for; {cpu}"
_CPU = "on processors, llama.cpp serves GGUF files: --engine llama.cpp"


def read_failure(
    log_tail: str, exit_code: int | None, known: Iterable[Known], out_of_memory_hint: str
) -> Failure | None:
    """The reason in a log's end, the engine's own words first; None where there is none that is known."""
    for pattern, message, hint, lasting in (*known, *_COMMON):
        found = re.search(pattern, log_tail, re.IGNORECASE)
        if found is not None:
            told = {name: text.strip()[:200] for name, text in found.groupdict("").items()}
            return Failure(message.format(**told), hint.format(**told), lasting)
    memory = re.search(
        r"out of memory\.? *(?:Tried to allocate (?P<size>[\d.]+ ?\w+))?", log_tail, re.IGNORECASE
    )
    if memory is not None and re.search(r"CUDA|HIP|GPU", log_tail):
        wanted = f" (it asked for {memory['size']} more)" if memory["size"] else ""
        # While it loads the same happens again; later it took an unlucky load.
        lasting = _SERVED.search(log_tail) is None
        return Failure(f"the GPU's memory ran out{wanted}", out_of_memory_hint, lasting)
    told_of = _by_last_error(log_tail)
    if told_of is not None and _ENDS_ITSELF.search(log_tail):
        return told_of
    ended = by_signal(exit_code, memory_hint=out_of_memory_hint, build_hint="take a build for this processor")
    return ended or told_of


def _by_last_error(log_tail: str) -> Failure | None:
    """The last exception that it tells of, but for those that only point at another."""
    errors = [
        (kind, text)
        for kind, text in _LAST_ERROR.findall(log_tail)
        if "root cause" not in text and "See stack trace" not in text
    ]
    if not errors:
        return None
    kind, text = errors[-1]
    return Failure(
        f"it ended with {kind.rpartition('.')[2]}: {text.strip()[:200]}", "its log tells more", lasting=False
    )


_COMMON: tuple[Known, ...] = (
    (
        r"error: unrecognized arguments: (?P<words>.+)",
        "it has no such option: {words}",
        "see its --help; options change from release to release",
        True,
    ),
    (
        r"error: argument (?P<option>[^\s:]+): (?P<why>.+)",
        "its option {option} does not take that: {why}",
        "see its --help",
        True,
    ),
    (
        r"error: the following arguments are required: (?P<words>.+)",
        "it needs more options: {words}",
        "give them with --set",
        True,
    ),
    (
        r"(?:Errno 98\]|address already in use)",
        "its port is taken by another program",
        "give another --port, or 0 for a free one (ss -ltnp shows who has it)",
        True,
    ),
    (
        r"Errno 99\]|Cannot assign requested address",
        "it cannot listen there: the address is not this machine's",
        "give --host 127.0.0.1, or 0.0.0.0 for all",
        True,
    ),
    (
        r"libcuda\.so\.1|Found no NVIDIA driver|No CUDA GPUs are available|Failed to infer device type"
        r"|No accelerator \(CUDA[^)]*\) or platform plugin is available|NVML Shared Library Not Found",
        "it finds no GPU and no driver of one",
        _DRIVER.format(cpu=_CPU),
        True,
    ),
    (
        r"NVIDIA driver on your system is too old|CUDA driver version is insufficient",
        "the GPU's driver is older than what the engine was built for",
        "install a newer driver, or a release of the engine for your CUDA",
        True,
    ),
    (
        r"no kernel image is available for execution",
        "this build of the engine has no code for this GPU",
        "take a build for the GPU's compute capability",
        True,
    ),
    (
        r"model type `(?P<kind>[^`]+)` but Transformers does not recognize",
        "it does not know the architecture {kind}",
        "a newer release may; or the model's own page names the engine that serves it",
        True,
    ),
    (
        r"gated repo|401 Client Error|403 Client Error|Access to model .* is restricted",
        "the hub does not give it the model: it is gated or private",
        _TOKEN,
        True,
    ),
    (
        r"Repo id must be in the form|Repository ?Not ?Found|is not a valid model identifier"
        r"|HFValidationError",
        "there is no such model: neither a folder here nor a name on the hub",
        "give the folder with config.json and the *.safetensors files, or owner/model as on the hub",
        True,
    ),
    (
        r"outgoing traffic has been disabled|LocalEntryNotFoundError|couldn't connect to '?https://huggingface"
        r"|Max retries exceeded with url|offline mode is enabled",
        "the model is not on this machine, and the hub cannot be reached",
        "fetch it where there is a network, and give the folder; HF_HUB_OFFLINE=1 forbids asking the hub",
        False,
    ),
    (
        r"SafetensorError|HeaderTooLarge|MetadataIncompleteBuffer|InvalidHeaderDeserialization"
        r"|incomplete metadata",
        "a file of the model's weights is cut or broken",
        "fetch it again, and compare its size or checksum",
        True,
    ),
    (
        r"No space left on device|Errno 28\]",
        "the disk is full",
        "make room; HF_HOME says where fetched models lie",
        True,
    ),
    (
        r"ModuleNotFoundError: No module named '(?P<module>[^']+)'",
        "its installation is not whole: the Python package {module} is missing",
        "install the engine again, in an environment of its own",
        True,
    ),
    (
        r"ImportError: (?P<library>[^\s:]+\.so[^\s:]*): cannot open shared object file",
        "its installation is not whole: the shared library {library} is not found",
        "install what it was built with, or take another build",
        True,
    ),
)
