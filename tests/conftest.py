"""What holds for every test: no AWS account, no key, and a container of its own."""

import functools
import gc
import logging
import math
import os
import sys
from collections.abc import Generator, Iterator
from pathlib import Path

import botocore.loaders
import botocore.session
import httpcore2
import pytest
from hypothesis import HealthCheck, settings

from bench.load.machine import folder_in_memory
from tests.support.examples import examples

# No example has a deadline: how long one takes says more about the machine than about the code.
settings.register_profile(
    "skein",
    deadline=None,
    max_examples=examples(100),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("skein")

pytest_plugins = ["tests.support.aws_shapes", "tests.support.engine"]

# All tests share what takes most of the time of making a client: the descriptions of AWS services,
# and the certificates of authorities.
botocore.session.create_loader = functools.cache(botocore.loaders.create_loader)
httpcore2.default_ssl_context = functools.cache(httpcore2.default_ssl_context)

# Tests of the local stack would wait for the disk in a third of their time.
if in_memory := folder_in_memory():
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(in_memory))

# The handler of the logs keeps the output of the first test that logs. Once that is closed, Python
# would print a traceback for each line.
logging.raiseExceptions = False

HERE = Path(__file__).parent
CONSOLE = HERE / "console"
# `make test` leaves to the check: local stacks, except for one, and the tests of `make bench`.
IN_CHECK = (HERE / "e2e", HERE / "unit" / "bench")
IN_MAKE_TEST = HERE / "e2e" / "test_smoke.py"
FAKE_AWS = {
    "AWS_ACCESS_KEY_ID": "testing",
    "AWS_SECRET_ACCESS_KEY": "testing",
    "AWS_DEFAULT_REGION": "us-east-1",
    "POWERTOOLS_LOG_LEVEL": "WARNING",
    "POWERTOOLS_METRICS_NAMESPACE": "Skein",
    "POWERTOOLS_SERVICE_NAME": "skein",
}


def pytest_configure(config: pytest.Config) -> None:
    """Accept what Python 3.13 warns about: databases that a test leaves to garbage collection."""
    if sys.version_info >= (3, 13):
        ignored = "ignore::pytest.PytestUnraisableExceptionWarning"
        config.addinivalue_line("filterwarnings", ignored)


def pytest_sessionfinish() -> None:
    """Leave out what pytest's last search for garbage would visit: everything that is left."""
    gc.freeze()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Read no tests of the console if all are left out: their imports take a second."""
    deselected = "not browser" in str(config.option.markexpr)
    return True if deselected and collection_path == CONSOLE else None


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Generator[None, object, object]:
    """Mark the tests of the folders that are left to the check, before `-m` selects.

    Tests that may take longest begin first, so that no worker has one to play at the end, alone.
    """
    for item in items:
        if item.path != IN_MAKE_TEST and any(item.path.is_relative_to(each) for each in IN_CHECK):
            item.add_marker(pytest.mark.check)
    result = yield
    items.sort(key=_seconds, reverse=True)
    return result


def _seconds(item: pytest.Item) -> float:
    """Return the time limit that a test sets itself."""
    limit = item.get_closest_marker("timeout")
    return 0.0 if limit is None else limit.args[0] or math.inf


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Look for garbage only after the collection, seldom, and never in what the collection made.

    The modules and the thousands of tests stay until the end. Each search would visit all of them.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(20_000, 10, 10)  # a turn makes thousands of objects, and few stay
        gc.enable()


@pytest.fixture(autouse=True)
def _isolated(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name, value in FAKE_AWS.items():
        monkeypatch.setenv(name, value)
    for name in ("AWS_PROFILE", "OPENAI_API_KEY", "OPENAI_BASE_URL", "SKEIN_DATA_DIR"):
        monkeypatch.delenv(name, raising=False)
    if "skein.models.directory.number_code" in sys.modules:  # its hashes are slow on purpose
        monkeypatch.setattr("skein.models.directory.number_code.HASH_COST", 2)
    yield
    bootstrap = sys.modules.get("skein.bootstrap")
    if bootstrap is not None:
        bootstrap.use(None)
