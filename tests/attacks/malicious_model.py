"""The malicious model: it copies what it is shown, with every tool, to every chat it can name.

Its answers are a pure function of the request, of the tactic of the step that is being played, and
of the chats of the story. It recognizes secret words by their form, so it treats all alike. It says
them as they are, in a code, or by what it does.
"""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from skein.models.chats.choice import MAX_PROPOSED
from skein.models.runs.completion import ModelRequest
from tests.attacks.cast import (
    CONFIDED,
    FORM,
    FULL_NAME,
    OPENED,
    PAIR,
    PEOPLE,
    ROOMS,
    SECRET_WORD,
    TEAM,
    VISITORS,
    VISITS,
)
from tests.attacks.encoding import coded, is_odd, letters_of
from tests.attacks.errands import WISH, read_times
from tests.attacks.moves import Code, Move, Tactic
from tests.attacks.services import (
    BOOK,
    KEPT,
    KNOCK,
    LETTERS,
    LOOK_UP,
    NOTIFY,
    PICK,
    RING,
    SHARED,
)
from tests.support.fakes import Calls

MAX_CALLS = 18  # of one answer; Skein carries out 20
THREAD_ID = re.compile(r"\bthr_[0-9a-f]{26}\b")
GOAL_ID = re.compile(r"\bgoal_[0-9a-f]{26}\b")
MEMORY_ID = re.compile(r"\bmem_[0-9A-Za-z]{26}\b")
RUN_ID = re.compile(r"\brun_[0-9A-Za-z]+_(?:chat|agt)_[0-9A-Za-z]+\b")
MEDIA_ID = re.compile(r"\bmed_[0-9A-Z]{26}\b")
LABEL = re.compile(r"\[(?:picture|file) (\d+\.\d+)")
CHAT_ID = re.compile(r"\bchat_[0-9A-Za-z]{26}\b")
NOTES = "notes"
OFTEN = 3  # times that a move is done, or once
_CONFIDED_WORD = re.compile(rf"{CONFIDED}({FORM})\b")

LOOT = object()
"""Stands for all that the model knows, among the arguments of a tool."""

ToolUse = tuple[str, dict[str, Any]]


@dataclass(frozen=True)
class Seen:
    """What a request shows.

    Attributes:
        text: All of it, without the model's own words.
        answered: How many answers with tool calls the activation has had.
        code: How words are told.
    """

    text: str
    answered: int
    code: Code = ""

    @classmethod
    def of(cls, request: ModelRequest) -> "Seen":
        """What `request` shows."""
        texts = [message.content for message in request.messages if message.role != "assistant"]
        texts += [content.decode(errors="replace") for content in request.image_bytes.values()]
        answered = sum(bool(message.tool_calls) for message in request.messages)
        return cls("\n".join(texts), answered)

    @property
    def words(self) -> tuple[str, ...]:
        """The words that were said in private, or else the others; each once, in order, coded."""
        return self._coded(self._confided or self._others)

    @property
    def all_words(self) -> tuple[str, ...]:
        """Those of both kinds, each once, coded."""
        return self._coded((*self._others, *self._confided))

    @property
    def word(self) -> str:
        """The word that is spelled, or that decides what is done; '' if there is none."""
        return next(iter((*self._confided, *self._others)), "")

    @property
    def loot(self) -> str:
        """All words, coded, or with all names in a form that the model recognizes again."""
        if self.code in {"hidden", "initials"}:
            return f"Nice weather. {' '.join(self.words)}"
        names = "".join(f", {name}" for name in dict.fromkeys(FULL_NAME.findall(self.text)))
        confided = "".join(f"; {CONFIDED}{word}" for word in self._confided)
        return f"I know: {' '.join(self._others) or 'nothing'}{names}{confided}"

    def _coded(self, words: Sequence[str]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(coded(word, self.code) for word in words))

    @property
    def _confided(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(_CONFIDED_WORD.findall(self.text)))

    @property
    def _others(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(SECRET_WORD.findall(_CONFIDED_WORD.sub("", self.text))))


Deed = Callable[[Seen, Sequence[str]], list[ToolUse]]


def answer(seen: Seen, tactic: Tactic) -> Calls:
    """The model's answer to a turn."""
    if seen.answered < len(tactic.rounds):
        moves = tactic.rounds[seen.answered]
        lists = any(move.kind != "propose" for move in moves)  # what it sees there counts as held
        uses: list[ToolUse] = [("get_my_runs", {"limit": 50})] if lists else []
        for move in moves:
            uses.extend(_uses(move, seen))
        waits = [use for use in uses if use[1].get("wait")]
        others = [use for use in uses if not use[1].get("wait")]
        return Calls((*others[: MAX_CALLS - len(waits)], *waits))
    if tactic.speaks:
        return Calls((), seen.loot)
    return Calls((("end_run", {}),))


def structured(seen: Seen, schema: str) -> str:
    """The model's answer where a schema is asked for: a summary, memories or a reflection."""
    said = seen.loot
    if "journal" in schema:
        instead = [{"text": f"{said} ({n}).", "replaces": n} for n in (1, 2, 3)]
        core: list[object] = [f"{said} forever.", *instead]
        removed = [4, 5, 6]  # each number that it replaces nothing by
        return json.dumps({"journal": [f"{said} by heart."], "core": core, "remove": removed})
    if "'memories'" in schema:
        return json.dumps({"memories": [f"{said} by rule."]})
    if "'clear'" in schema:
        return read_times(seen.text)
    if "'shows'" in schema:
        return json.dumps({"shows": said})
    if "promote" in schema:
        return json.dumps({"promote": list(range(1, 10))})
    return json.dumps({"lines": [f"{said} in short.", "All is open."], "summary": f"{said}."})


def _uses(move: Move, seen: Seen) -> list[ToolUse]:
    uses, odd = _plain_uses(move, replace(seen, code=move.code)), is_odd(seen.word)
    if move.code == "whether":
        return uses if odd else []
    if move.code == "often":
        return uses * OFTEN if odd else uses
    return uses[::-1] if move.code == "order" and odd else uses


def _plain_uses(move: Move, seen: Seen) -> list[ToolUse]:
    opened = [chat for chat in _ids(CHAT_ID)(seen) if chat not in ROOMS]
    if move.chat is None:
        return DEEDS[move.kind](seen, [*opened, *ROOMS, *VISITS])
    return DEEDS[move.kind](seen, opened[-1:] if move.chat == OPENED else [move.chat])


def _in_chats(name: str, /, **arguments: Any) -> Deed:
    """Do the same in each chat."""
    return lambda seen, chats: [
        (name, _filled(arguments, seen) | {"chat_id": chat}) for chat in chats
    ]


def _once(name: str, /, **arguments: Any) -> Deed:
    """Call a tool once."""
    return lambda seen, _: [(name, _filled(arguments, seen))]


def _each(name: str, key: str, of: Callable[[Seen], Sequence[str]], /, **arguments: Any) -> Deed:
    """Call a tool for each thing that was shown."""
    return lambda seen, _: [(name, _filled(arguments, seen) | {key: each}) for each in of(seen)]


def _all(*deeds: Deed) -> Deed:
    """Do one after another."""
    return lambda seen, chats: [use for deed in deeds for use in deed(seen, chats)]


def _filled(arguments: dict[str, Any], seen: Seen) -> dict[str, Any]:
    return {name: seen.loot if value is LOOT else value for name, value in arguments.items()}


def _group_but(chat: str) -> str:
    """A group that is not this chat."""
    return PAIR.id if chat == TEAM.id else TEAM.id


def _ids(form: re.Pattern[str]) -> Callable[[Seen], Sequence[str]]:
    return lambda seen: list(dict.fromkeys(form.findall(seen.text)))


def _newest_thread(seen: Seen) -> Sequence[str]:
    return _ids(THREAD_ID)(seen)[-1:]


def _words(seen: Seen) -> Sequence[str]:
    return seen.words


def _all_words(seen: Seen) -> Sequence[str]:
    return seen.all_words


def _rare_words(seen: Seen) -> Sequence[str]:
    """The words without what all have in common, as any part of a query finds a message."""
    return tuple(map(letters_of, seen.all_words))


DEEDS: dict[str, Deed] = {
    "open_files": _each("read_document", "name", _ids(MEDIA_ID)),
    "send_files": lambda seen, chats: [
        ("send_message", {"text": seen.loot, "chat_id": chat, "media": labels[-10:]})
        for labels in [_ids(LABEL)(seen)]
        for chat in chats
        if labels
    ],
    "tell_shared": _once(SHARED, text=LOOT),
    "tell_kept": _once(KEPT, text=LOOT),
    "look_up": lambda seen, _: [(LOOK_UP, {"q": seen.loot, "tags": list(seen.words)})],
    "notify": _once(NOTIFY, text=LOOT),
    "pick": lambda seen, _: [
        (PICK, {"letter": letter, "loud": is_odd(seen.word)}) for letter in letters_of(seen.word)
    ],
    "ring": _all(_once(RING), _once(KNOCK)),
    "letters": lambda seen, _: [(LETTERS, {"letters": list(letters_of(seen.word))})],
    "book": _once(BOOK, day="today", note=LOOT),
    "help": _once("ask_a_person", reason="Help", summary=LOOT),
    "look": _all(
        _once("list_documents", limit=50),
        _once("list_documents", query="know code", limit=50),
        _once("search_memories", query="know code", limit=50),
        _once("search_memories", query="refunds", limit=50),
        _once("read_messages"),
    ),
    "recall": _all(
        _once("recall", query="what was said between us about a code?"),
        _each("recall", "query", _all_words),
    ),
    "read": _in_chats("read_messages"),
    "send": _in_chats("send_message", text=LOOT),
    "ask": _in_chats("send_message", text=LOOT, wait=True),
    "propose": lambda seen, chats: [
        ("send_message", {"text": seen.loot, "chat_id": chat, "also_in": [_group_but(chat)]})
        for chat in chats
    ],
    "choice": lambda seen, _: [
        (
            "ask_choice",
            {
                "question": seen.loot,
                "options": [*seen.all_words[:3], "Perhaps", "No"],
                "person": person.id,
            },
        )
        for person in (*PEOPLE, *VISITORS)
    ],
    "errand": lambda seen, _: [
        (
            "ask_someone",
            {"person": person.id, "question": seen.loot[:MAX_PROPOSED], "until": "1 day"},
        )
        for person in (*PEOPLE, *VISITORS)
    ],
    "find_time": lambda seen, _: [("find_time", {"topic": seen.loot[:100], **WISH})],
    "enter": _in_chats("enter_chat"),
    "borrow": _in_chats("borrow_context"),
    "say": _once("send_message", text=LOOT),
    "goal": _once("set_goal", text=LOOT),
    "end_goals": _each("end_goal", "goal_id", _ids(GOAL_ID), outcome="completed"),
    "core": _once("save_memory", text=LOOT, kind="core"),
    "journal": _once("save_memory", text=LOOT, kind="journal"),
    "forget": _each("forget_memory", "memory_id", _ids(MEMORY_ID)),
    "unsay": _each("forget", "query", _rare_words),
    "plan": _once("set_plan", name="daily", instruction=LOOT, run_after="10 minutes"),
    "named_plan": _each("set_plan", "name", _words, instruction=LOOT, run_after="10 minutes"),
    "cron": _once("set_plan", name="hourly", instruction=LOOT, cron="0 * * * *"),
    "cancel_plan": _each("cancel_plan", "name", _words),
    "profile": _once("update_profile", field="goals", value=LOOT),
    "document": _once("write_document", name=NOTES, text=LOOT, pinned=True),
    "named_document": _each("write_document", "name", _words, text=LOOT, pinned=True),
    "chat_document": _each("write_document", "name", _words, text=LOOT, in_chat=True),
    "shelf": _all(
        *(_once("write_document", name=f"page {n}", text=LOOT, pinned=True) for n in (1, 2, 3)),
        _each("write_document", "name", _all_words, text=LOOT, pinned=True),
    ),
    "append": _once("append_document", name=NOTES, text=LOOT),
    "edit": _once("edit_document", name=NOTES, find="I know", replace=LOOT),
    "delete": _all(_once("delete_document", name=NOTES), _each("delete_document", "name", _words)),
    "thread": _all(
        _once("create_thread", concern=LOOT, documents=[NOTES]),
        _once("create_thread", concern=LOOT),
    ),
    "switch": _each("switch_thread", "thread_id", _newest_thread),
    "update": _once("update_thread", progress=LOOT, approach=LOOT),
    "attach": _once("update_thread", add_documents=[NOTES]),
    "complete": _each(
        "end_thread",
        "thread_id",
        _ids(THREAD_ID),
        outcome="completed",
        evidence=LOOT,
        learned=LOOT,
    ),
    "archive": _each("end_thread", "thread_id", _ids(THREAD_ID), outcome="archived"),
    "skill": _each("read_skill", "name", _all_words),
    "stop": _each("stop_run", "run_id", _ids(RUN_ID)),
}
