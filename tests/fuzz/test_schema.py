"""The API does what its OpenAPI document says, whatever it is asked (schemathesis)."""

import os
import random
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from werkzeug.serving import WSGIRequestHandler, make_server

import admin_api
import mobile_api
import tests.fuzz.hooks  # noqa: F401 - it registers itself
from routes.document.openapi import LINK
from tests.fuzz.stack import Stack
from tests.support.builders import TENANT

ROOT = Path(__file__).resolve().parents[2]
CONFIG = Path(__file__).with_name("schemathesis.toml")
# The document lists the same calls (tests/handlers/test_api_docs.py), but takes longer to make.
CALLS = sorted(
    (str(route.openapi_path), str(route.method).lower())
    for api in (mobile_api.api, admin_api.api)
    for route in api.routes
    if str(route.openapi_path) != LINK
)
# Of a chain of calls: things here are deleted softly (a deleted agent's runs and memories can still
# be looked at), and 404 may be about another thing than the one that was made.
NOT_OF_CHAINS = "unsupported_method,use_after_free,ensure_resource_availability"

SHARE = 3  # routes of which `make test` asks one
ROUNDS = 5  # a chain may end soon


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Stack:
    return Stack(tmp_path_factory.mktemp("keys"))


@pytest.fixture(scope="module")
def schema(stack: Stack) -> Any:
    config = schemathesis.Config.from_path(CONFIG)
    return schemathesis.openapi.from_wsgi("/openapi.json", stack, config=config)


@pytest.mark.parametrize(
    ("path", "method"),
    [
        pytest.param(*call, id=" ".join(call[::-1]), marks=[pytest.mark.check] * (n % SHARE > 0))
        for n, call in enumerate(CALLS)
    ],
)
def test_request_agrees_with_the_document(
    schema: Any, stack: Stack, path: str, method: str, request: pytest.FixtureRequest
) -> None:
    """A valid or an invalid request, which the test's name and the seed of the run decide."""
    operation = schema[path][method]
    modes = [schemathesis.GenerationMode.POSITIVE]
    if operation.body or operation.path_parameters:
        modes.append(schemathesis.GenerationMode.NEGATIVE)
    seed = request.config.getoption("randomly_seed", default=0)
    mode = random.Random(f"{seed} {request.node.nodeid}").choice(modes)
    token = {"Authorization": f"Bearer {stack.token()}"}

    @given(case=operation.as_strategy(generation_mode=mode))
    @settings(
        max_examples=1,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
        database=None,
    )
    def tried(case: Any) -> None:
        case.call_and_validate(headers=token)

    tried()


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_thousands_of_requests_agree_with_the_document(stack: Stack) -> None:
    """Each in a world of its own: boundaries of every parameter, then random ones."""
    served = stack.served
    _run(stack, "--phases", "examples,coverage,fuzzing", "--max-examples", "60")
    assert stack.served - served > 5_000


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_chains_of_requests_agree_with_the_document(tmp_path: Path) -> None:
    """In one world: what one call has made, the next ones read, change and delete."""
    stack = Stack(tmp_path, keeps=True)
    before = _neighbours_items(stack)
    how = ("--phases", "stateful", "--max-examples", "200", "--exclude-checks", NOT_OF_CHAINS)
    for _ in range(ROUNDS):
        _run(stack, *how, SKEIN_FUZZ_LINKED="1")
    assert stack.served > 500
    assert _neighbours_items(stack) == before


def _neighbours_items(stack: Stack) -> dict[Any, Any]:
    """All that other tenants have."""
    items = {key: stack.world.table.get(key) or {} for key in stack.world.table.all_keys()}
    return {
        key: item
        for key, item in items.items()
        if item.get("tenant") != TENANT and not key.pk.startswith(f"{TENANT}#")
    }


def _run(stack: Stack, *arguments: str, **environment: str) -> None:
    """Let schemathesis call the stack over loopback; all of its checks must pass."""
    with _served(stack) as url:
        command = [sys.executable, "-m", "schemathesis.cli", "--config-file", str(CONFIG)]
        token = ("--header", f"Authorization: Bearer {stack.token()}")
        done = subprocess.run(
            [*command, "run", f"{url}/openapi.json", *token, "--no-color", *arguments],
            cwd=ROOT,
            env=os.environ
            | {"PYTHONPATH": "shared:functions:.", "SCHEMATHESIS_HOOKS": "tests.fuzz.hooks"}
            | environment,
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr[-2_000:]


class _Quiet(WSGIRequestHandler):
    protocol_version = "HTTP/1.1"

    def log(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def _served(stack: Stack) -> Iterator[str]:
    server = make_server("127.0.0.1", 0, stack, request_handler=_Quiet)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
