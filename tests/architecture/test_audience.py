"""Each module that reads content of other chats filters it with `may_show`, and is listed here.

A new reader of messages, runs, goals or plans fails here until it stands in the table below, with
what keeps it from telling the wrong people (docs/security.md, "Audience").
"""

import ast
import inspect
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from skein.models.chats.origin import Origin
from skein.models.common.base import Stored, Value
from skein.models.runs.run import Run, SentMessage
from skein.models.visibility.ownership import OwnedItem, Readers
from skein.planning.models.goal import Goal
from skein.planning.models.plan import Plan
from skein.workspace.models.document import Document
from tests.support.trees import trees

PACKAGE = Path(__file__).resolve().parents[2] / "shared" / "skein"

# What may hold words of a conversation, or be derived from them.
TELLING = {
    "BorrowedContext",
    "Document",
    "Goal",
    "Memory",
    "Message",
    "Plan",
    "PromptRecord",
    "Run",
    "Step",
    "Thread",
}

# The classes and attributes whose `PREFIX` names where such items lie; that of runs is `LIVE_RUN`.
PREFIXED = TELLING - {"PromptRecord", "Run", "Step"} | {"self.kind"}
SUMMARIES = {"summary", "pinned"}  # where they stand: on memberships and chats

NOT_CHECKED = {"adapters", "bootstrap", "models"}  # folders that decide nothing
FOLDERS_OF_AGENTS = ("agent", "interface", "sections", "tools")

# For agents: these ask `may_show`, themselves or through `Reach.shows`.
SHOWN_TO_AGENTS = {
    "agent/reading/fallback.py": "the current message, where that is all there is",
    "agent/sections/borrowed.py": "the section on borrowed context",
    "workspace/sections/documents.py": "the section on pinned documents",
    "own_tools/sections.py": "the section on calls that were made before",
    "planning/sections.py": "the sections on goals and plans",
    "memory/sections.py": "the sections on memories",
    "workspace/sections/threads.py": "the sections on threads",
    "agent/sections/your_chats.py": "the sections on the agent's chats and live runs",
    "services/chats/own_chats.py": "enter_chat, read_messages and borrow_context",
    "recall/search.py": "RECALLED and recall, each message by its own audience",
    "services/runs/queries.py": "get_my_runs and stop_run; the rest is for operators",
    "workspace/documents.py": "the tools of documents, by their reach",
    "services/items/store.py": "the tools of memories, goals, plans and threads, by their reach",
    "memory/store.py": "the memories that exist already, within the reach of the writer",
    "planning/plans.py": "cancel_plan, by its reach",
    "workspace/thread_changes.py": "the documents of threads, for the readers who are present",
    "workspace/document_names.py": "the threads that list a document; its name alone",
}
# These show nothing to an agent that another chat's people might read.
OTHERS = {
    "media/describing.py": "the message of the file that is described; nobody is shown it",
    "interface/history.py": "the messages of the active chat, and the run's own trigger",
    "agent/reading/cache.py": "what was read before, for the sections, which decide",
    "agent/reading/owned_items.py": "what is read of an agent, for the sections, which decide",
    "agent/reading/reader.py": "the messages of the active chat and its person, for their readers",
    "agent/sections/open_questions.py": "the agent's questions in the active chat",
    "agent/turn_steps.py": "the run's own recorded prompt",
    "trials/trials.py": "the run of a case, to record whose private content operators read",
    "trials/worker.py": "whether a run expires; nothing is shown",
    "trials/worlds.py": "operators' items for a script, and what came of it in its own world",
    "services/runs/current_work.py": "the agents at work, for operators",
    "services/outbox/backlogs.py": "how many runs have which status, for operators",
    "services/runs/tool_warnings.py": "whether a run called a tool, for operators",
    "agent_files/export.py": "what operators have set up, for operators",
    "agent_files/importing.py": "the items that an operator's file names, for operators",
    "agent/training_export.py": "a completed thread, for operators",
    "feed/events.py": "ids and states, for endpoints of the tenant's owner",
    "own_tools/asking.py": "the run's own call, for the person who agreed to it",
    "own_tools/ledger.py": "a recorded call; `calls.py` asks who may see its words",
    "own_tools/operator_approvals.py": "the call that waits, for operators",
    "own_tools/waiting.py": "a recorded call, compared with another; nothing of it is shown",
    "services/choices/answering.py": "the question, for the person who answers it",
    "services/choices/asking.py": "the person's open questions in the same chat, to ask once",
    "services/choices/typed_answers.py": "the question, to repeat it in its chat",
    "services/choices/ending.py": "whether a question is open; no words",
    "services/choices/invitations.py": "the question of an invitation, to record its answer",
    "services/choices/open_choices.py": "for the person who may answer them",
    "services/replies/ask_and_wait.py": "whether a reply is there; its number alone goes on",
    "live/changes.py": "numbers and ids of what has changed",
    "live/answer_frames.py": "whether the worker still has the run; no words",
    "media/uploads.py": "for people, in chats that they are in now",
    "live/pushes.py": "for people, in chats that they are in now",
    "live/notifications.py": "the sender's name, for people in chats that they are in now",
    "services/chats/views.py": "for people, in chats that they are in",
    "services/chats/message_reasons.py": "ids, statuses and reasons, for operators",
    "services/chats/post_message.py": "the message that was posted before, for whoever posted it",
    "services/runs/claim.py": "the run that a worker is to carry on",
    "services/outbox/pause_scanner.py": "which job resumes a run; nothing is passed on",
    "media/copies.py": "whether a message still has a file; the tool checks who may see it",
    "services/delivery/media_links.py": "whether a message still has the file of a link",
    "services/delivery/continuation.py": "the rest of a text, for the phone that got its beginning",
    "services/delivery/sender.py": "the text, for the phone it is meant for",
    "feed/feed.py": "which messages changed; only their numbers are passed on",
    "recall/sweep.py": "which messages are in the index, by number",
    "recall/indexing.py": "words and vectors of messages, in the scope of their chat",
    "recall/own_words.py": "vectors of memories, where all their messages may be told",
    "recall/pruning.py": "whether messages are still there",
    "privacy/erasure_material.py": "what is taken away",
    "privacy/forgetting.py": "the asker's own words, and lines made from them alone, in their chat",
    "privacy/message_deletion.py": "what is taken away",
    "privacy/erasure_messages.py": "what is taken away",
    "privacy/erasure_agent_data.py": "what is taken away",
    "privacy/erasure_memberships.py": "what is taken away",
    "privacy/erasure_restore.py": "what is taken away",
    "privacy/erasure_preview.py": "counts; words of open content only, for operators",
    "privacy/erasure_renames.py": "the lists and threads that name a renamed document",
    "privacy/erasure_rewrites.py": "what is taken away",
    "privacy/erasure_runs.py": "what is taken away",
    "privacy/erasure_run_search.py": "what is taken away",
    "privacy/export.py": "what is the person's own, for operators",
    "sharing/explained.py": "who may see what, without its words, for operators",
    "outreach/reports.py": "states and numbers, for operators",
    "desk/drafts.py": "the session of one chat, from which all its readers were present",
    "desk/live_runs.py": "runs that are stopped",
    "desk/returning.py": "the messages of one chat that its agents are to answer there",
    "planning/firing.py": "the plan whose run starts with its audience",
    "account_linking/owned_items.py": ("what is kept for a person who turns out to be another"),
    "services/chat_state/activity.py": (
        "the times of messages that one person has seen, and no words"
    ),
    "summaries/chat_summary.py": ("the one chat whose summary is made, for those who were there"),
    "memory/reflection.py": ("what fades, asked about by the same people's entries alone"),
    "services/runs/ending_waits.py": "a reply's sender and number, and a run's asker",
    "services/runs/manual_trigger.py": "the run, for the person who asked for it",
    "inbound/sms_answers.py": "the question that a person answers, and which errand it is of",
    "services/runs/lease.py": "the run at work",
    "services/runs/activations.py": "the own steps of the run at work",
    "account_linking/chats.py": "what is staged for a person who turns out to be another",
    "memory/own_words.py": ("what one person wrote alone, for memories that the same rules tell"),
    "memory/consolidation.py": ("the one chat that an agent remembers, for those who were there"),
    "trials/records.py": "for operators: whether the prompt of a case's run is still there",
    "summaries/summary_task.py": ("the one chat on which a note is made, for those who were there"),
}


PATHS = {
    path.relative_to(PACKAGE).as_posix(): path
    for path in sorted(PACKAGE.rglob("*.py"))
    if path.parent != PACKAGE and NOT_CHECKED.isdisjoint(path.relative_to(PACKAGE).parts)
}


def _modules(containing: str, *folders: str) -> dict[str, ast.Module]:
    """The trees of modules that have a match of `containing`, all or those in `folders`."""
    names = {path: name for name, path in PATHS.items() if not folders or _is_in(name, *folders)}
    return {names[path]: tree for path, tree in trees(names, containing)}


def _module(name: str) -> ast.Module:
    return ast.parse(PATHS[name].read_text(encoding="utf-8"))


def _is_in(name: str, *folders: str) -> bool:
    """Whether a module has one of these names, or is in a folder of such a name."""
    return not {part.removesuffix(".py") for part in Path(name).parts}.isdisjoint(folders)


READS = {"from_item", "read", "read_each", "must_read", "each_of", "unpacked"}


def _reads(tree: ast.Module) -> bool:
    """Whether it makes something telling of items, or names where it lies."""
    return any(map(_makes, ast.walk(tree))) or any(map(_names, ast.walk(tree)))


def _makes(node: ast.AST) -> bool:
    match node:
        case ast.Attribute(attr=name) if name in READS:
            return ast.unparse(node.value) in TELLING
        case ast.Call(func=ast.Attribute(attr="new" | "old"), args=[kind]):
            return ast.unparse(kind) in TELLING
        case ast.Attribute(attr="stored"):
            return ast.unparse(node) == "found.stored"
    return False


def _names(node: ast.AST) -> bool:
    match node:
        case ast.Name(id="LIVE_RUN"):
            return True
        case ast.Attribute(attr="PREFIX"):
            return ast.unparse(node.value) in PREFIXED
    return False


def _calls(tree: ast.AST, *names: str) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else None
            if (called or ast.unparse(node.func)) in names:
                yield node


def test_module_that_reads_content_is_listed() -> None:
    made = rf"\b(?:{'|'.join(TELLING)})\s*\.\s*(?:{'|'.join(READS)})\b|\.(?:new|old)\("
    modules = _modules(rf"{made}|found\.stored|LIVE_RUN|\.PREFIX\b")
    reading = {name for name, tree in modules.items() if _reads(tree)}
    assert reading == SHOWN_TO_AGENTS.keys() | OTHERS.keys()
    assert not SHOWN_TO_AGENTS.keys() & OTHERS.keys()


@pytest.mark.parametrize("name", SHOWN_TO_AGENTS)
def test_content_for_agents_passes_may_show(name: str) -> None:
    assert any(_calls(_module(name), "may_show", "shows", "shown"))


def test_owned_items_of_a_section_pass_may_show() -> None:
    [shown] = [
        node
        for node in ast.walk(_module("interface/reading.py"))
        if isinstance(node, ast.FunctionDef) and node.name == "shown"
    ]
    assert any(_calls(shown, "shows"))
    shows = ast.parse(textwrap.dedent(inspect.getsource(Readers.shows)))
    assert any(_calls(shows, "may_show"))
    assert any(_calls(shows, "admit"))


def test_summaries_are_shown_only_by_those_who_ask_may_show() -> None:
    showing = {
        name
        for name, tree in _modules(r"\.(?:summary|pinned)\b", *FOLDERS_OF_AGENTS).items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr in SUMMARIES
        if ast.unparse(node) != "document.pinned"  # whether prompts always show the document
    }
    assert showing == {
        "interface/history.py",
        "agent/sections/other_conversations.py",
    }
    assert all(any(_calls(_module(name), "may_show")) for name in showing)


def test_agent_package_reads_the_table_only_in_listed_modules() -> None:
    """Sections and other tools are given what was let through; they do not look for themselves."""
    reading = {
        name
        for name, tree in _modules(r"table", *FOLDERS_OF_AGENTS).items()
        for call in _calls(tree, "get", "get_many", "query")
        if "table" in ast.unparse(call.func)
    }
    assert reading == {
        "agent/reading/fallback.py",
        "agent/reading/cache.py",  # for the sections, which decide
        "agent/reading/owned_items.py",
        "agent/reading/reader.py",
        "agent/reading/guarded_reads.py",  # for `agent/reading/reader.py`
        "agent/replay.py",  # a recorded prompt, for operators
    }


def test_tool_names_the_readers_of_its_reads() -> None:
    tools = _modules(r"Reach\(|OwnRuns", "interface", "tools")
    reaches = [call for tree in tools.values() for call in _calls(tree, "Reach", "DocumentReach")]
    looks = [
        call
        for tree in tools.values()
        for call in _calls(tree, "newest", "get")
        if "OwnRuns" in ast.unparse(call.func)
    ]
    assert reaches
    assert looks
    for call in (*reaches, *looks):
        [place] = [keyword.value for keyword in call.keywords if keyword.arg == "readers"]
        said = ast.unparse(place)
        assert said.endswith("reading.destination") or said == "readers_of(call)"


def test_only_disclosure_compares_people_of_audiences() -> None:
    """Nobody compares people by hand; `disclosure` alone does, for posts."""
    by_hand = {
        name
        for name, tree in _modules(r"\.people\b").items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr == "people"
    }
    assert by_hand == {
        "agent/reading/reader.py",
        "knowledge/sections.py",  # the readers, all of whom must have a role
        "outreach/outreaches.py",  # the people of a request
        "services/visibility/disclosure.py",
        "trials/worlds.py",  # the people of a script
    }


@pytest.mark.parametrize("thing", [Goal, Plan, OwnedItem, Origin, Document])
def test_derived_item_without_audience_is_invalid(thing: type[Stored | Value]) -> None:
    assert thing.model_fields["audience"].is_required()


def test_sent_message_without_audience_is_visible_to_no_person() -> None:
    assert SentMessage(chat_id="chat_1", seq=1, preview="").audience.people == ()
    assert not SentMessage(chat_id="chat_1", seq=1, preview="").audience.open
    assert "audience" in Run.model_fields
