"""Traces at an OTLP receiver: names of the GenAI conventions, batches, and what is left out."""

import json
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any

import pytest

from skein import tracing
from skein.bootstrap.ports import Ports
from skein.correlation import correlated
from skein.settings import Settings
from tests.fakes.sms import MemorySecrets


class Receiver:
    """A receiver of OTLP on loopback.

    Attributes:
        got: The path, the headers and the body of each request.
        status: The status of the next answers.
    """

    def __init__(self) -> None:
        self.got: list[tuple[str, dict[str, str], Any]] = []
        self.status = 200
        owner = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                headers = {name.lower(): value for name, value in self.headers.items()}
                owner.got.append((self.path, headers, body))
                self.send_response(owner.status)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Print nothing."""

        self.server = HTTPServer(("127.0.0.1", 0), Handler)

    def spans(self) -> dict[str, dict[str, Any]]:
        """Return the attributes of the spans of the newest request, by the span's name."""
        [resource] = self.got[-1][2]["resourceSpans"]
        [scope] = resource["scopeSpans"]
        return {
            span["name"]: {
                each["key"]: next(iter(each["value"].values())) for each in span["attributes"]
            }
            for span in scope["spans"]
        }


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    receiver = Receiver()
    thread = Thread(target=receiver.server.serve_forever, args=(0.02,))
    thread.start()
    yield receiver
    receiver.server.shutdown()
    receiver.server.server_close()
    thread.join()


@pytest.fixture
def _traced(receiver: Receiver) -> Iterator[None]:
    url = f"http://127.0.0.1:{receiver.server.server_port}/"
    secrets = MemorySecrets({"models": {"otlp_authorization": "Basic abc"}})
    tracing.use(Ports(Settings(otlp_endpoint=url, openai_secret="models"), secrets=secrets).tracer)
    yield
    tracing.use(None)


def a_run() -> None:
    with correlated("request-1"), tracing.span("run", agent="agt_1", chat="chat_1", run="run_1"):
        with tracing.span("model", model="converse/eu.amazon.nova-lite-v1:0"):
            tracing.describe(input_tokens=10, cached_tokens=4, cache_written_tokens=0, fault="")
        with tracing.span("tool", tool="look_up", call="call_1"):
            pass
        with tracing.span("recall"):
            pass


@pytest.mark.usefixtures("_traced")
def test_run_is_sent_at_once_by_the_conventions(receiver: Receiver) -> None:
    a_run()
    [(path, headers, body)] = receiver.got
    assert (path, headers["authorization"]) == ("/v1/traces", "Basic abc")
    assert body["resourceSpans"][0]["scopeSpans"][0]["schemaUrl"].endswith("/1.44.0")
    spans = receiver.spans()
    model = spans["chat converse/eu.amazon.nova-lite-v1:0"]
    assert model["gen_ai.operation.name"] == "chat"
    assert model["gen_ai.provider.name"] == "aws.bedrock"
    assert model["gen_ai.usage.input_tokens"] == "10"
    assert model["gen_ai.usage.cache_read.input_tokens"] == "4"
    assert "gen_ai.usage.cache_creation.input_tokens" not in model
    assert spans["invoke_agent agt_1"]["gen_ai.conversation.id"] == "chat_1"
    assert spans["execute_tool look_up"]["gen_ai.tool.call.id"] == "call_1"
    assert spans["retrieval"]["gen_ai.operation.name"] == "retrieval"


@pytest.mark.usefixtures("_traced")
def test_receiver_that_refuses_or_is_gone_fails_no_work(receiver: Receiver) -> None:
    receiver.status = 500
    a_run()
    receiver.server.socket.close()
    a_run()
    assert len(receiver.got) == 1


def test_exporter_is_imported_only_with_an_endpoint() -> None:
    code = (
        "import sys; from skein.bootstrap.ports import Ports; from skein.settings import Settings\n"
        "Ports(Settings()).tracer; Ports(Settings(trace_percent=5)).tracer\n"
        "assert 'skein.adapters.otlp_exporter' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": "shared"}, check=True)
