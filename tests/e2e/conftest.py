"""Local stacks: one in a process of its own for most tests, and others for what needs more."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from local.config import Config
from local.python_agent import PythonAgent
from local.stack import Stack
from tests.e2e.client import Client
from tests.e2e.process import running_stack, stop_forking
from tests.support.scripted_openai import ScriptedOpenAI
from tests.support.signing_key import put_signing_key
from tests.support.template import deployed_template

StartStack = Callable[..., Client]
HERE = Path(__file__).parent
FEW = 4  # tests that each start a stack in this process sooner than a process starts


@pytest.fixture(scope="session", autouse=True)
def _forking() -> Iterator[None]:
    yield
    stop_forking()


@pytest.fixture(scope="session")
def _model() -> Iterator[ScriptedOpenAI]:
    with ScriptedOpenAI() as server:
        yield server


@pytest.fixture
def model(_model: ScriptedOpenAI) -> Iterator[ScriptedOpenAI]:
    """The model of every stack; a test has to script each call, and to have them all made."""
    _model.reset()
    yield _model
    assert not _model.unscripted
    assert not _model.remaining


@pytest.fixture(scope="session")
def _shared_url(_model: ScriptedOpenAI, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("shared")
    with running_stack(folder / "data", {"OPENAI_BASE_URL": _model.base_url}) as url:
        yield url


@pytest.fixture
def client(request: pytest.FixtureRequest, model: ScriptedOpenAI) -> Client:
    """The stack that tests share; each has a phone and a tenant of its own.

    If only a few tests of the run share the stack, each has one of its own in this process.
    """
    sharing = sum(_shares(item) for item in request.session.items)
    if sharing <= FEW and "start" not in request.fixturenames:
        start: StartStack = request.getfixturevalue("start")
        return start()
    return Client(request.getfixturevalue("_shared_url"))


def _shares(item: pytest.Item) -> bool:
    """Whether a test asks for the stack that tests share."""
    here = item.path.parent == HERE
    return here and isinstance(item, pytest.Function) and "client" in item.fixturenames


@pytest.fixture
def stop() -> Iterator[ExitStack]:
    """Stops what `start` has started: when the test says so, at the latest at its end."""
    with ExitStack() as started:
        yield started


@pytest.fixture
def start(stop: ExitStack, model: ScriptedOpenAI, tmp_path: Path) -> StartStack:
    """Starts a stack on the test's own data; keyword arguments are Skein's settings.

    `agent` is the agent of a file, in place of the demo's.
    """

    def started(*, agent: PythonAgent | None = None, **settings: object) -> Client:
        data_dir = tmp_path / "data"
        put_signing_key(data_dir)
        config = Config(
            port=0,
            data_dir=data_dir,
            openai_base_url=model.base_url,
            settings={f"SKEIN_{name.upper()}": str(value) for name, value in settings.items()},
        )
        stack = Stack(config, agent=agent, template=deployed_template())
        return Client(stop.enter_context(stack).url)

    return started
