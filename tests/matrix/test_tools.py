"""No tool tells or changes anything that is not within the agent's reach where it works."""

import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import pytest

from skein.agent.tools import TOOLS
from skein.interface.tool import tool as tool_of
from skein.interface.tool_context import ToolContext
from skein.models.chats.chat import Chat
from skein.models.common.base import MemberRef
from skein.models.common.storage import Update
from skein.models.directory.user import User
from skein.models.runs.step import ToolResult
from skein.models.visibility.ownership import owned_partition
from skein.recall.models.stored import Posting
from tests.matrix.arguments import CASES, arguments_of, refs_of, spelled, values_of
from tests.matrix.tenant_data import Neighbours, Place
from tests.support.agents import results_of, settle
from tests.support.builders import TENANT
from tests.support.fakes import calls

# Where the agent works: a group of Ben's, Ben's direct chats in the app and by SMS, and a chat that
# Ben has joined later.
JOINED = "chat_qjoined"
HOMES = ("chat_qhome", "chat_qbens", "chat_qsms", JOINED)
WITHIN_REACH = "team"
# What is open cannot be changed in private, since that would carry what is said there to others.
CHANGES_OPEN_THINGS = (
    *("write_document", "append_document", "edit_document", "delete_document"),
    *("update_thread", "end_thread", "end_goal", "cancel_plan", "forget_memory"),
)
ONLY_IN: dict[str, tuple[str, ...]] = {
    "update_profile": ("chat_qbens", "chat_qsms"),
    "stop_run": ("chat_qhome",),  # the run is of an open chat
    "find_time": ("chat_qhome",),  # a group, whose people were there for all that was said
    "resume_run": (),  # no run waits there for days
    # From Ben's own chats it is a proposal. The private group of two may not learn of it.
    "send_message": ("chat_qhome", "chat_qbens", "chat_qsms"),
    # Ben was not present for all that the run was shown in the private group of two.
    "forget": ("chat_qhome", "chat_qbens", "chat_qsms"),
    **dict.fromkeys(CHANGES_OPEN_THINGS, ("chat_qhome",)),
}
# What of each place is beyond the agent's reach from both homes.
BEYOND = {
    "anns": "a private chat of Ann and the agent",
    "pair": "a private chat of Ann, Cara and the agent",
    "joined": "a private chat of Ann and the agent: what is of the time before Ben joined it",
    "designers": "an open chat of another agent's",
    "left": "an open chat that the agent has left",
    "discarded": "a discarded chat of the agent's",
    "stranger": "another tenant's",
    "twin": "another tenant's, whose ids are ours",
}

# Ben may have the agent write to a private chat that he is a member of.
SPEAKING_UP = {
    ("chat_qhome", "send_message", "joined"),
}


def _fits(tool: str, home: str) -> bool:
    """Return whether a tool does its work in a chat, on what is within reach."""
    return home in ONLY_IN.get(tool, (home,))


SAMPLE = "sample"
PARTS = 5  # of the tools, of which each is missing in a run of its own

every_tool = pytest.mark.parametrize("tool", list(CASES))
# `make test` tries each tool in one of the homes, and `make test-slow` in all of them.
every_home = pytest.mark.parametrize(
    "home", [SAMPLE, *(pytest.param(home, marks=pytest.mark.slow) for home in HOMES)], indirect=True
)


@pytest.fixture
def world() -> Neighbours:
    return Neighbours()


@pytest.fixture
def home(request: pytest.FixtureRequest) -> str:
    """Where the agent works; a sample depends on the test and on the seed of the run."""
    if request.param != SAMPLE:
        return str(request.param)
    seed = request.config.getoption("randomly_seed", default=0)
    return random.Random(f"{seed} {request.node.nodeid}").choice(HOMES)


def _place(world: Neighbours, name: str) -> Place:
    others = dict(zip(("stranger", "twin"), world.others, strict=True))
    return others[name].places[WITHIN_REACH] if name in others else world.ours.places[name]


def _called(world: Neighbours, home: str, tool: str, *asked: dict[str, Any]) -> list[ToolResult]:
    """Let Ben ask the agent to call a tool, once or more; what came of it."""
    return _called_all(world, home, [(tool, given) for given in asked])


def _called_all(
    world: Neighbours, home: str, asked: Sequence[tuple[str, dict[str, Any]]]
) -> list[ToolResult]:
    """Let Ben ask the agent to call tools, all at once."""
    world.model.script.extend(
        [calls(*((CASES.get(tool, tool), given) for tool, given in asked)), calls("end_run")]
    )
    ben = world.ours.people["ben"]
    world.post("@Coach, do it", ben, chat_id=home, route=world.ours.by_sms.get(home))
    settle(world)
    newest = max(world.runs(home), key=lambda run: run.id)
    return results_of(world, newest)[: len(asked)]


def _words_beyond(world: Neighbours) -> dict[str, str]:
    """The words of all places that are beyond reach; a discarded chat's are known to who was in."""
    words = {name: word for name, word in world.ours.words.items() if name != WITHIN_REACH}
    for other in world.others:
        words |= {f"{other.tenant}'s {name}": word for name, word in other.words.items()}
    return words


def _numbers_beyond(world: Neighbours) -> dict[str, str]:
    """The numbers that Ben may not be told: Ann's phone, and all of other tenants."""
    numbers = {"Ann's phone": world.ours.phones["Ann's phone"]}
    for other in world.others:
        numbers |= {f"{other.tenant}'s {name}": phone for name, phone in other.phones.items()}
    return numbers


def _told(world: Neighbours, home: str, *asked: dict[str, Any]) -> list[str]:
    """The places beyond reach of which prompts or results tell, but for what the model said.

    What was said in the chat itself, whoever joins can read.
    """
    requests = [
        message.content
        for request in world.model.requests
        for message in request.messages
        if message.role != "assistant"
    ]
    text = "\n".join(requests)
    for value in (value for given in asked for value in given.values()):
        text = text.replace(value[0] if isinstance(value, list) else str(value), "")
    words = _words_beyond(world) | _numbers_beyond(world)
    return [n for n, word in words.items() if word in text and (home, n) != (JOINED, "joined")]


def _changed(world: Neighbours, *but: str) -> list[str]:
    """What was changed outside of some partitions; what models spend is counted for the tenant."""
    counted = ("#USAGE#", "#LIMIT#")
    return [
        f"{key.pk} {key.sk}"
        for key, _ in world.changed()
        if key.pk not in but and not any(part in key.pk for part in counted)
    ]


def _partition(chat_id: str) -> str:
    return Chat.key_of(TENANT, chat_id).pk


def _own_partitions(world: Neighbours, home: str) -> list[str]:
    """Where a tool may write: the chats within reach, the agent's own things, Ben's profile."""
    agent, ben = world.ours.agents["coach"].id, world.ours.people["ben"].id
    chats = [_partition(home), _partition(world.ours.places[WITHIN_REACH].ids["chat_id"])]
    bens = dict.fromkeys(("chat_qbens", "chat_qsms"), f"user:{ben}")
    private = {**bens, JOINED: f"chat:{JOINED}"}
    scopes = {None, private.get(home)}
    kept = [owned_partition(TENANT, agent, scope) for scope in scopes]
    # Workers index the messages of all the agent's chats for recall.
    indexed = {None, *private.values()}
    words = [Posting.partition_of(TENANT, agent, scope) for scope in indexed]
    return [*chats, *kept, *words, User.key_of(TENANT, ben).pk]


# ---------------------------------------------------------------------- within reach


@every_tool
@every_home
def test_tool_within_reach_succeeds(world: Neighbours, tool: str, home: str) -> None:
    """Otherwise the tests below would prove nothing; and it reads and writes nothing else."""
    given = arguments_of(tool, world.ours.places[WITHIN_REACH].ids)
    [result] = _called(world, home, tool, given)
    assert (result.status == "done") == _fits(tool, home), (
        f"{tool} in {home}: {result.content!r}; if that is right, name in ONLY_IN the chats where "
        f"the tool can do its work"
    )
    assert _told(world, home) == []
    if tool not in {"ask_someone", "find_time"}:  # which ask Ann in her own chat
        assert _changed(world, *_own_partitions(world, home)) == []


def _stored_names(world: Neighbours) -> set[str]:
    """Return the texts that name a tenant's things: ids, numbers, and texts with words."""
    words = [*world.ours.words.values(), "citronq", "pomeloq"]

    def texts(value: Any) -> Iterator[str]:
        if isinstance(value, dict):
            for each in value.values():
                yield from texts(each)
        elif isinstance(value, list | tuple):
            for each in value:
                yield from texts(each)
        elif isinstance(value, str):
            yield value

    stored = {
        text
        for home in (world.ours.items, world.table.all_items().values())
        for item in home
        if item.get("tenant") == TENANT
        for text in texts(dict(item))
    }
    ids = re.compile(r"(agt|usr|chat|run|msg|svc|thr)_\w+|\+\d{8,}")
    return {
        text
        for text in stored
        if ids.fullmatch(text) or (any(word in text for word in words) and len(text) < 200)
    }


def _kinds_changed(world: Neighbours) -> Counter[str]:
    return Counter(key.sk.split("#")[0] for key, _ in world.changed())


@cache
def _kinds_changed_anyway(home: str) -> Counter[str]:
    """What a run changes in a chat without a tool."""
    world = Neighbours()
    _called(world, home, "no_such_tool", {})
    return _kinds_changed(world)


def _work_of(home: str, tool: str, given: dict[str, Any]) -> list[str]:
    """Return what a tool did in a chat: the kinds of items it changed, or the items it names."""
    world = Neighbours()
    [result] = _called(world, home, tool, given)
    if result.status != "done":
        return []
    if changed := [*(_kinds_changed(world) - _kinds_changed_anyway(home))]:
        return changed
    known = "\n".join([*map(str, given.values()), home])
    return [name for name in _stored_names(world) if name in result.content and name not in known]


@every_tool
def test_tool_changes_or_shows_something_in_some_chat(tool: str) -> None:
    """A tool that only says that it can do nothing would pass all other tests here."""
    if tool in {"end_run", "forget", "resume_run"}:
        return  # each run ends, Ben said nothing to forget, and no run waits
    if tool == "search_knowledge":
        return  # a prompt that shows a source has words of a tool, which limits all other tools
    if not values_of(tool) and TOOLS[tool].effect == "read":
        return  # there is one way to call it, and it may show what is no item
    given = arguments_of(tool, Neighbours().ours.places[WITHIN_REACH].ids)
    assert any(_work_of(home, tool, given) for home in HOMES), (
        f"{tool} changes no item and shows none in any of {HOMES}: add what it needs to the "
        f"tenants in tests/matrix/tenant_data.py, or say in OWN of tests/matrix/arguments.py how "
        f"to call it"
    )


def test_tool_that_does_nothing_has_done_no_work(monkeypatch: pytest.MonkeyPatch) -> None:
    def get_nothing(call: ToolContext) -> str:
        """Say that there is nothing."""
        return f"{call.target(None)} has no line"

    monkeypatch.setitem(TOOLS, "stop_run", tool_of(effect="save")(get_nothing))
    assert [_work_of(home, "stop_run", {}) for home in HOMES] == [[], [], [], []]


@pytest.mark.parametrize("home", HOMES, indirect=True)
def test_search_for_everything_finds_items_within_reach_only(world: Neighbours, home: str) -> None:
    words = [*_words_beyond(world).values(), world.ours.words[WITHIN_REACH]]
    given = {"query": " ".join(words), "limit": 50}
    [found] = _called(world, home, "search_memories", given)
    assert world.ours.words[WITHIN_REACH] in found.content
    assert not [word for word in _words_beyond(world).values() if word in found.content]
    assert _told(world, home) == []


# ---------------------------------------------------------------------- beyond it


def _named(world: Neighbours, home: str, tool: str, argument: str) -> list[tuple[str, str]]:
    """What an argument can name beyond reach: each kind of thing in each place that has one."""
    ref, here = refs_of(tool)[argument], _place(world, WITHIN_REACH).ids
    found = []
    for kind in (ref.kind, *ref.also):
        for name in BEYOND:
            there = _place(world, name).ids
            if there.get(kind) == home:
                continue  # the chat itself, with what belongs to it
            if kind in there and there[kind] != here.get(kind):  # some of the twin's ids are ours
                found.append((name, there[kind]))
    return found


@every_home
@pytest.mark.parametrize(
    ("tool", "argument"), [(tool, argument) for tool in CASES for argument in refs_of(tool)]
)
def test_tool_neither_reveals_nor_changes_items_beyond_reach(
    world: Neighbours, home: str, tool: str, argument: str
) -> None:
    """Everything else that the call names is within reach."""
    within = arguments_of(tool, world.ours.places[WITHIN_REACH].ids)
    named = _named(world, home, tool, argument)
    assert named
    asked = [within | {argument: spelled(tool, argument, each)} for _, each in named]
    results = _called(world, home, tool, *asked)
    still_recalled = {"left"} if tool == "recall" else set()  # it was there when that was said
    assert set(_told(world, home, *asked)) <= still_recalled
    allowed = {_partition(home)}
    for (place, each), result in zip(named, results, strict=True):
        if place in still_recalled:
            continue
        if (home, tool, place) in SPEAKING_UP:
            assert (result.status, result.content[:8]) == ("done", "sent to ")
            allowed.add(_partition(each))
        elif result.content.startswith("not posted: the person is asked"):
            allowed.update(_own_partitions(world, home))
        elif refs_of(tool)[argument].harmless:
            fits = _fits(tool, home) or tool == "write_document"
            assert (result.status == "done") == fits, (place, result.content)
            allowed.update(_own_partitions(world, home))
        else:
            assert result.status != "done", (place, result.content)
    assert _changed(world, *allowed) == []


# ---------------------------------------------------------------------- not allowed, not there


@pytest.mark.parametrize("part", range(PARTS))
def test_tools_that_the_agent_was_not_given_do_nothing(world: Neighbours, part: int) -> None:
    """The agent has all others."""
    tools = list(CASES)[part::PARTS]
    agent = world.app.agents.get(TENANT, world.ours.agents["coach"].id)
    missing = {CASES[tool] for tool in tools}
    world.table.write(
        Update(agent.key, set={"enabled_tools": [name for name in TOOLS if name not in missing]})
    )
    world.begin()
    within = world.ours.places[WITHIN_REACH].ids
    asked = [(tool, arguments_of(tool, within)) for tool in tools]
    results = _called_all(world, "chat_qbens", asked)
    assert [(result.status, result.content) for result in results] == [
        ("correctable", f"error: there is no tool {CASES[tool]!r}") for tool in tools
    ]
    assert _changed(world, _partition("chat_qbens")) == []


@pytest.mark.parametrize("gone", ["left", "discarded"])
def test_run_of_ended_chat_calls_no_tool(world: Neighbours, gone: str) -> None:
    """The agent was asked, and left or the chat is discarded before its run began.

    The model is not asked, so it does not matter which tool it would call.
    """
    home, ben = "chat_qhome", world.ours.people["ben"]
    world.post("@Coach, do it", ben, chat_id=home)
    coach = MemberRef(kind="agent", id=world.ours.agents["coach"].id)
    if gone == "left":
        world.app.chat_admin.remove_member(TENANT, home, ben.ref, coach)
    else:
        world.app.chat_admin.discard(TENANT, home, ben.ref)
    world.begin()
    settle(world)
    assert world.model.requests == []
    assert _changed(world, _partition(home)) == []
