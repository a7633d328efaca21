"""What a cold start of each function loads: what the function uses, and nothing else.

No clock is read here: which modules a fresh container holds is the same on every machine.
"""

import ast
from functools import cache
from pathlib import Path

import pytest

from bench.starts.first_events import scene
from bench.starts.imports import ColdStart, cold_start, modules
from skein.channels.registry import CHANNELS

ROOT = Path(__file__).resolve().parents[2]

APIS = {"admin_api", "api_docs", "mobile_api"}
WEBHOOKS = {"sms_webhook", "sms_status", "service_webhook"}
WITHOUT_AWS = {"console"}
WITHOUT_RANDOM = {"console"}  # it only serves files
LIVE = {"live_connect", "live_disconnect", "live_frames", "push_worker"}
WAITED_FOR = {"run_worker", "sms_delivery"}  # and what they call has a large library

# Who may load what is heavy or none of their business, and who surely does.
LOADED_BY = {
    "lunr": {"run_worker"},
    "markdown_it": set[str](),
    "openai": {"run_worker"},
    "opentelemetry": set[str](),  # tracing is off
    "tiktoken": {"run_worker"},
    "twilio.rest": {"sms_delivery"},
    "requests": {"sms_delivery"},
    "gsm0338": {"api_docs", "sms_delivery", "sms_status", "sms_webhook"},
    "phonenumbers": APIS
    | {"background_worker", "run_worker", "sms_delivery", "sms_webhook", "tick", "upkeep_worker"},
    "aws_lambda_powertools.event_handler": APIS,
    "aws_lambda_powertools.utilities.data_classes": APIS,
    "skein.models.api.base": APIS | LIVE | {"background_worker"},  # erasures close connections
    "skein.agent.turn": {"run_worker"},
    "skein.agent.sections.builder": {"api_docs", "run_worker"},  # the document needs all routes
    "skein.agent.tools": {"api_docs", "run_worker"},
    "skein.memory.consolidation": {"background_worker"},
    "skein.privacy.erasure_worker": {"background_worker"},
    "skein.inbound.sms": {"sms_webhook"},
    "skein.memory.reflection": {"background_worker"},
    "skein.summaries.agent_summary": {"upkeep_worker"},
}

# How many modules of Skein's own they may hold: some more than they do, so that a new one that all
# of them load is noticed, and one that is needed is not.
MOST = {
    "admin_api": 181,
    "api_docs": 480,
    "authorizer": 77,
    "console": 57,
    "background_finder": 76,
    "background_worker": 280,
    "feed": 101,
    "live_connect": 90,
    "live_disconnect": 90,
    "live_frames": 90,
    "mobile_api": 152,
    "push_worker": 97,
    "run_worker": 363,
    "service_webhook": 90,
    "sms_delivery": 118,
    "sms_status": 110,
    "sms_webhook": 154,
    "tick": 140,
    "upkeep_worker": 163,
}

SHARED = Path(__file__).resolve().parents[2] / "shared"


@pytest.fixture(scope="module")
def scene_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("cold") / "scene"
    scene().write(path)
    return path


@cache
def started(function: str, scene_path: Path) -> ColdStart:
    """Start a function and let it handle an event, once for all tests in this process."""
    return cold_start(function, scene_path)


def own(names: frozenset[str]) -> set[str]:
    """Return the modules that are Skein's, without channels; a package itself holds nothing.

    The table in memory, which the event of the test needs, does not count.
    """
    channels = {type(each).__module__ for each in CHANNELS.values()}
    ours = {name for name in names - channels if name.split(".")[0] == "skein"}
    ours = {name for name in ours if not name.startswith("skein.adapters.sqlite_table.")}
    return {name for name in ours if not (SHARED / Path(*name.split("."))).is_dir()}


@pytest.mark.check
@pytest.mark.parametrize("function", modules())
def test_a_cold_start_loads_what_the_function_uses(function: str, scene_path: Path) -> None:
    start = started(function, scene_path)
    loaded = {name for name in LOADED_BY if name in start.in_all}
    assert loaded == {name for name, users in LOADED_BY.items() if function in users}
    assert len(own(start.in_all)) <= MOST[function]
    # Containers from one snapshot open their own connections and draw their own random numbers.
    assert start.sockets == 0
    assert start.seeds is (function not in WITHOUT_RANDOM)
    if function not in APIS | WITHOUT_AWS:
        check_that_the_event_loads_nothing(function, start)


def check_that_the_event_loads_nothing(function: str, start: ColdStart) -> None:
    """What each event needs is there before the first: Lambda starts containers ahead of need.

    Adapters of what only some events call come with the first that does. So do their libraries,
    unless somebody waits for what the function does.
    """
    late = own(start.in_all - start.at_import)
    assert not {name for name in late if not name.startswith("skein.adapters.")}, "load it ahead"
    libraries = {"openai", "tiktoken", "twilio.rest.api"} if function in WAITED_FOR else set()
    for library in {"botocore.session", *libraries & start.in_all}:
        assert library in start.at_import


def test_every_function_has_its_bound() -> None:
    assert set(MOST) == set(modules())
    assert max(MOST[webhook] for webhook in WEBHOOKS) < MOST["run_worker"] / 2


def test_modules_that_every_function_imports_load_no_service_or_adapter() -> None:
    """Their imports of services and adapters are at their first use, or for the type checker."""
    folders = {folder.name for folder in (SHARED / "skein").iterdir() if folder.is_dir()}
    loaded = {f"skein.{name}" for name in {"ports", *folders} - {"bootstrap", "models"}}
    for name in ("__init__", "lazy", "ports", "wiring"):
        path = ROOT / "shared" / "skein" / "bootstrap" / f"{name}.py"
        at_top = ast.parse(path.read_text()).body
        names = [node.module or "" for node in at_top if isinstance(node, ast.ImportFrom)]
        assert not [name for name in names if ".".join(name.split(".")[:2]) in loaded], path.name


@pytest.mark.check
def test_run_worker_import_loads_recall_modules_but_not_their_libraries(
    scene_path: Path,
) -> None:
    """The embeddings, their tokenizer and the stemmer come with the first recall."""
    start = started("run_worker", scene_path)
    files = [SHARED / Path(*name.split(".")) for name in own(start.at_import) if "recall" in name]
    sizes = [path.with_suffix(".py").stat().st_size for path in files]
    assert len(sizes) <= 20
    assert sum(sizes) <= 120_000
    assert not {"tokenizers", "lunr", "skein.adapters.static_embeddings"} & start.at_import
