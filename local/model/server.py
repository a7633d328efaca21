"""Server of a small local language model, with an OpenAI-compatible API on loopback.

The model is Gemma 3 270M, quantized to 4 bits (253 MB). It answers within seconds on two cores,
which is enough to show that the stack works. The model can only continue a text, so the server
writes the prompts and checks the answers (`local.model.small_model`).

`/v1/embeddings` returns the static embeddings that Skein ships, so that you can try a provider's
embeddings without a provider.

`python -m local.model.server <file>` writes the server's URL to the file, and serves until SIGTERM.
"""

import json
import os
import signal
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from local.children import Child
from local.end_signal import EndSignal
from local.errors import ModelMissingError
from local.files import write_whole
from local.folders import cache_folder
from local.model.small_model import Continuation, SmallModel, chunks_of
from local.model.small_prompt import STOP
from skein.adapters.static_embeddings import StaticEmbeddings

MODEL_NAME = "gemma-3-270m"
MODEL_FILE = cache_folder() / "model" / "gemma-3-270m-q4_k_m.gguf"  # see tools/install/model.py
LIBRARIES = MODEL_FILE.parent / "lib"  # on a system that lacks them

HOST = "127.0.0.1"
CONTEXT_TOKENS = 2_048  # of one slot; a prompt has at most about 1,200
SLOTS = 2  # texts that are continued in one batch; each keeps the beginning of its last prompt
MAX_WAITING = 40  # further texts in the library's queue; the last one waits for about a minute
THREADS = 1  # on a busy machine, a second thread would busy-wait for the first
ANSWER_TOKENS = 64  # two SMS hold about as many
SEED = 7
REPEAT_PENALTY = 1.03  # a higher value departs from the examples, a lower value repeats them

# An answer of the model takes seconds, and its summaries would be made up.
SETTINGS = {
    "SKEIN_DEFAULT_MODEL": MODEL_NAME,
    "SKEIN_LIGHT_MODEL": MODEL_NAME,
    "SKEIN_AUTO_SUMMARY": "false",
}

Complete = Callable[[dict[str, Any]], dict[str, Any]]
Payload = dict[str, Any] | list[dict[str, Any]]


class LocalModel:
    """Local model server in a child process.

    Args:
        folder: The folder for the server's log and for the file with its URL.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        model_file()
        self._url_file = folder / "url"
        self._url_file.unlink(missing_ok=True)
        self._child = Child(
            "the local model",
            "local.model.server",
            str(self._url_file),
            environment={"LD_LIBRARY_PATH": library_path()},
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
        self._child.stop()


def model_file() -> Path:
    """Return the path of the model's file.

    Raises:
        ModelMissingError: The file is not installed.
    """
    if not MODEL_FILE.exists():
        raise ModelMissingError(
            "the local model is not installed: run `make run` to install it, or set OPENAI_API_KEY"
        )
    return MODEL_FILE


def library_path() -> str:
    """Return the folders in which the loader looks for libraries (`tools/install/openmp.py`)."""
    folders = [os.environ.get("LD_LIBRARY_PATH", ""), str(LIBRARIES)]
    return os.pathsep.join(folder for folder in folders if folder)


def serve(url_file: Path) -> None:
    """Serve the model until SIGTERM.

    The API's URL is written to `url_file` at once, so that the stack can start before the model is
    loaded. Requests wait until it is.
    """
    end = EndSignal([signal.SIGTERM])
    loaded: Future[SmallModel] = Future()
    server = make_server(lambda request: loaded.result().complete(request))
    threading.Thread(target=server.serve_forever, name="server", daemon=True).start()
    write_whole(url_file, f"http://{HOST}:{server.server_port}/v1".encode())
    loaded.set_result(SmallModel(MODEL_NAME, _model()))
    end.wait()
    # Exit at once: the library's own shutdown would wait for open connections.
    os._exit(0)


def _model() -> Callable[[str], Continuation]:
    """Load the model, and return a function that continues a prompt."""
    import xllamacpp  # noqa: PLC0415 - a large binary that only this process needs

    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(model_file())
    parameters.hostnames = [HOST]
    parameters.port = 0
    parameters.n_ctx = CONTEXT_TOKENS * SLOTS
    parameters.n_parallel = SLOTS
    parameters.cpuparams.n_threads = THREADS
    parameters.cpuparams_batch.n_threads = THREADS
    parameters.warmup = False
    parameters.ui = False
    library = xllamacpp.Server(parameters)

    def continued(prompt: str) -> Continuation:
        answer = library.handle_completions(
            {
                "prompt": prompt,
                "n_predict": ANSWER_TOKENS,
                "stop": [STOP],
                "temperature": 0.0,
                "repeat_penalty": REPEAT_PENALTY,
                "seed": SEED,
                "cache_prompt": True,
            }
        )
        answer = json.loads(answer) if isinstance(answer, str | bytes) else answer
        [choice], usage = answer["choices"], answer["usage"]
        return Continuation(
            text=choice["text"],
            whole=choice["finish_reason"] == "stop",
            prompt_tokens=usage["prompt_tokens"],
            tokens=usage["completion_tokens"],
        )

    return continued


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


def make_server(complete: Complete) -> ThreadingHTTPServer:
    """Return a server of chat completions on loopback. The caller starts it."""
    return _Server((HOST, 0), _handler(complete))


def _handler(complete: Complete) -> type[BaseHTTPRequestHandler]:
    """Return a request handler for `/v1/models`, `/v1/chat/completions` and `/v1/embeddings`."""
    embeddings = StaticEmbeddings()
    slots = threading.BoundedSemaphore(SLOTS + MAX_WAITING)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # Otherwise a client that keeps its connection waits 40 ms for the body of an answer.
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            known = self.path == "/v1/models"
            models = {"object": "list", "data": [{"id": MODEL_NAME, "object": "model"}]}
            self._respond(*((HTTPStatus.OK, models) if known else _refusal(HTTPStatus.NOT_FOUND)))

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            if self.path == "/v1/embeddings":
                self._respond(*_embedded(embeddings, body))
            elif self.path != "/v1/chat/completions":
                self._respond(*_refusal(HTTPStatus.NOT_FOUND))
            elif not slots.acquire(blocking=False):
                self._respond(*_refusal(HTTPStatus.SERVICE_UNAVAILABLE))
            else:
                try:
                    self._respond(*_completed(complete, body))
                finally:
                    slots.release()

        def _respond(self, status: HTTPStatus, payload: Payload) -> None:
            kind, data = _encoded(payload)
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *arguments: object) -> None:
            """Log nothing, because the stack logs its own calls."""

    return Handler


def _encoded(payload: Payload) -> tuple[str, bytes]:
    """Return the media type and the body of a response. Chunks become server-sent events."""
    if isinstance(payload, dict):
        return "application/json", json.dumps(payload).encode()
    events = [*map(json.dumps, payload), "[DONE]"]
    return "text/event-stream", "".join(f"data: {event}\n\n" for event in events).encode()


def _completed(complete: Complete, body: bytes) -> tuple[HTTPStatus, Payload]:
    """Answer a request for a chat completion; a malformed request is refused."""
    try:
        request = json.loads(body)
        well_formed = all(isinstance(one, dict) for one in request["messages"])
    except (ValueError, KeyError, TypeError):
        well_formed = False
    if not well_formed:
        return _refusal(HTTPStatus.BAD_REQUEST)
    completion = complete(request)
    return HTTPStatus.OK, chunks_of(completion) if request.get("stream") else completion


def _embedded(embeddings: StaticEmbeddings, body: bytes) -> tuple[HTTPStatus, dict[str, Any]]:
    """Answer a request for embeddings. Refuse a malformed request, and another model or size."""
    try:
        request = json.loads(body)
        given, model = request["input"], request["model"]
        dimensions = request.get("dimensions", embeddings.dimensions)
    except (ValueError, KeyError, TypeError, AttributeError):
        return _refusal(HTTPStatus.BAD_REQUEST)
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, list) or not texts or not all(isinstance(one, str) for one in texts):
        return _refusal(HTTPStatus.BAD_REQUEST)
    if dimensions != embeddings.dimensions:
        return _refusal(HTTPStatus.BAD_REQUEST)
    if model != embeddings.name:
        return _refusal(HTTPStatus.NOT_FOUND)
    data = [
        {"object": "embedding", "index": index, "embedding": list(one.vector)}
        for index, one in enumerate(embeddings.embed(texts))
    ]
    usage = {"prompt_tokens": 0, "total_tokens": 0}
    return HTTPStatus.OK, {"object": "list", "model": model, "data": data, "usage": usage}


def _refusal(status: HTTPStatus) -> tuple[HTTPStatus, dict[str, Any]]:
    return status, {"error": {"message": status.phrase, "type": "local_model", "code": None}}


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
