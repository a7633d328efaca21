"""Everything that an outsider can observe, as texts that two runs of a story must share."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from skein.models.common.address import phone_address
from skein.models.common.storage import Query
from skein.models.directory.address_index import AddressOwner
from skein.models.visibility.ownership import owned_partition
from skein.workspace.models.thread import Thread
from tests.attacks.cast import AGENTS, COACH, SECRETS, named, titled
from tests.attacks.files import files_in, words_in
from tests.attacks.knowledge import EVERYBODY
from tests.attacks.stage import Stage, device_of
from tests.support.api_client import WHY, Answer, Client, operator
from tests.support.builders import TENANT
from tests.support.recalling import recalled

TIME = re.compile(
    r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z|\b\d\d:\d\d(?::\d\d)?\b|(?<=expires=)[\d.]+"
)
SIZE = re.compile(r'"(?:total_|planned_)?tokens": \d+')
RANDOM_ID = re.compile(r"(?<![0-9A-Za-z])(?:[0-9A-Z]{26}|[0-9a-f]{26})(?![0-9A-Za-z])")

RECALLS = f"what was said between us about {' and '.join(SECRETS)}, please?"
RECALL_TOKENS = 4_000

View = tuple[str, str]
"""What somebody looked at, and what they saw."""


def alike(text: str) -> str:
    """The text without times and sizes, and with random ids numbered in order of appearance."""
    numbers: dict[str, str] = {}

    def numbered(found: re.Match[str]) -> str:
        return numbers.setdefault(found[0], f"id{len(numbers) + 1}")

    return RANDOM_ID.sub(numbered, SIZE.sub("<size>", TIME.sub("<time>", text)))


def seen_by(stage: Stage, person: str) -> list[View]:
    """All that a person can see: API answers, texts, frames of the live channel, their export."""
    client = Client(stage, sub=person, claims={"name": named(person)})
    views = [("who they are", _body(client.get("/v1/me")))]
    own = client.get("/v1/chats")
    views.append(("their list of chats", _body(own)))
    listed = {chat["id"] for chat in own.body["items"]}  # as the call for one chat shows them
    for chat_id in stage.knowledge.chat_ids():
        status = 200
        if chat_id not in listed:
            chat = client.get(f"/v1/chats/{chat_id}")
            status = chat.status
            views.append((titled(chat_id), _body(chat)))
        if status == 200:
            messages = client.get(f"/v1/chats/{chat_id}/messages", limit=100)
            views.append((f"the messages in {titled(chat_id)}", _body(messages)))
            members = client.get(f"/v1/chats/{chat_id}/members")
            views.append((f"the read marks in {titled(chat_id)}", _body(members)))
    found = client.get("/v1/me/messages", q=RECALLS, limit=50)
    views.append(("what they find among their messages", _body(found)))
    views.append(("the errands that they have ordered", _body(client.get("/v1/me/errands"))))
    texts = [sms.text for sms, _ in stage.sms.taken if _owner(stage, sms.phone) == person]
    views.append(("the texts on their phone", "\n".join(texts)))
    views.append(("the frames of their connections", "\n".join(_frames(stage, person))))
    rings = stage.push.texts(f"fcm/{device_of(person)[:8]}")
    views.append(("the notifications on their device", "\n".join(rings)))
    views.append(("the files that they can load", "\n".join(_loaded(stage, client))))
    exported = operator(stage).get(f"/v1/users/{person}/export")
    views.append(("the export of their data", _body(exported)))
    return views


def seen_by_everybody(stage: Stage) -> list[View]:
    """What open chats and open threads show, and what agents would be shown in open places.

    An operator without the role privacy counts as everybody, and so does a service that shows
    everybody what it got.
    """
    views: list[View] = [("what the shared service got", "\n".join(stage.services.heard))]
    admin = operator(stage)
    for outreach_id in stage.outreaches:
        report = admin.get(f"/v1/outreach/{outreach_id}").body
        views.append(("the report of an outreach", json.dumps(report["people"])))
    for chat_id in stage.knowledge.chat_ids():
        if stage.knowledge.readers(chat_id) == EVERYBODY:
            said = [
                f"{message.sender.name}: {words_in(stage, message)}"
                for message in stage.messages(chat_id)
            ]
            views.append((f"the messages in {titled(chat_id)}", "\n".join(said)))
            views += _prompts_for(stage, admin, chat_id)
    for agent in AGENTS:
        asked = {"query": RECALLS, "agent_id": agent.id}
        found = admin.call("POST", "/v1/sources/search", asked)
        views.append((f"what {agent.name} finds in sources, with the scores", _body(found)))
        prompt = admin.get(f"/v1/agents/{agent.id}/context")
        views.append((f"a prompt of {agent.name} for no chat", _body(prompt)))
        views.append((f"what {agent.name} recalls in no chat", _recalled(stage, agent.id, None)))
        views += _exported_threads(stage, admin, agent.id)
        views += _supported(replace(admin, scope="support"), agent.id)
    for trial_id in stage.trials:
        views += _tried(replace(admin, scope="support"), trial_id)
    return views


def prompts_for(stage: Stage, people: Sequence[str]) -> list[View]:
    """What agents would be shown in the private chats of people who may not be told it by rule."""
    admin = operator(stage)
    return [
        view
        for chat_id in stage.knowledge.chat_ids()
        if not set(people).isdisjoint(stage.knowledge.readers(chat_id))
        for view in _prompts_for(stage, admin, chat_id)
    ]


def _prompts_for(stage: Stage, admin: Client, chat_id: str) -> Iterator[View]:
    for member in stage.stored_chat(chat_id).roster:
        if member.kind == "agent" and not stage.knowledge.may_be_told(chat_id, member.id):
            prompt = admin.get(f"/v1/agents/{member.id}/context", chat_id=chat_id, reason=WHY)
            yield f"a prompt of {named(member.id)} for {titled(chat_id)}", _body(prompt)
            recalled = _recalled(stage, member.id, chat_id)
            yield f"what {named(member.id)} recalls in {titled(chat_id)}", recalled


def _recalled(stage: Stage, agent_id: str, chat_id: str | None) -> str:
    """What an agent recalls of the words of both secrets, with the scores."""
    found = recalled(stage, RECALLS, chat_id, agent_id=agent_id, tokens=RECALL_TOKENS)
    return "\n".join(
        f"{entry.chat.id} {entry.message.seq} {entry.score:.9f} {entry.text}"
        for entry in found.entries
    )


def _exported_threads(stage: Stage, admin: Client, agent_id: str) -> Iterator[View]:
    open_partition = owned_partition(TENANT, agent_id, None)
    threads = stage.table.query(Query.under(open_partition, Thread.PREFIX.ended)).items
    for n, thread in enumerate(map(Thread.from_item, threads), 1):
        if thread.audience.open and thread.status == "completed":
            exported = admin.get(f"/v1/agents/{agent_id}/threads/{thread.id}/export")
            yield f"the training export of thread {n} of {named(agent_id)}", _body(exported)


def _supported(support: Client, agent_id: str) -> Iterator[View]:
    """What an operator without the role privacy sees of an agent.

    Of private runs, that is when they worked, how they ended, and why, which is not compared.
    """
    for kind in ("memories", "goals", "plans", "threads", "documents", "reflections"):
        listed = _body(support.get(f"/v1/agents/{agent_id}/{kind}", limit=100))
        yield f"the {kind} of {named(agent_id)} that an operator sees", listed
    runs = support.get(f"/v1/agents/{agent_id}/runs", limit=100).body["items"]
    shown = [json.dumps(run["preview"]) for run in runs if not run["withheld"]]
    yield f"the runs of {named(agent_id)} that an operator sees", "\n".join(shown)


def _tried(support: Client, trial_id: str) -> Iterator[View]:
    """What an operator without the role privacy sees of a trial of Coach, its cases and its plays.

    Of the case of a private run, that is also how its plays ended, which is not compared.
    """
    agent = f"/v1/agents/{COACH.id}"
    trial = support.get(f"{agent}/trials/{trial_id}")
    for case in trial.body["cases"]:
        kept = support.get(f"{agent}/cases/{case['id']}")
        plays = support.get(f"{agent}/trials/{trial_id}/results", case_id=case["id"])
        if case["private"]:
            for name in ("verdict", "blocks", "passed", "plays"):
                del case[name]
        yield "a case", _body(kept)
        yield "the plays of a case", _body(plays)
    yield "a trial", _body(trial)


def _loaded(stage: Stage, client: Client) -> Iterator[str]:
    """What a person gets who asks for each file of the story by its id, also of other chats."""
    for chat_id in stage.knowledge.chat_ids():
        for file in files_in(stage, chat_id):
            for asked in stage.knowledge.chat_ids():
                link = client.get(f"/v1/chats/{asked}/media/{file.id}")
                if link.status == 200:
                    _, _, content = stage.files.download(link.body["url"])
                    yield f"{titled(asked)}: {content.decode(errors='replace')}"


def _frames(stage: Stage, person: str) -> list[str]:
    """The frames that a person was sent, each once, by chat, type and number.

    Frames may come twice or in another order, since timing is not compared. Frames of runs, of
    read marks and of streamed answers hold no random ids, so their own text gives their order.
    """

    def place(text: str) -> tuple[str, str, int, str]:
        frame = json.loads(text)
        seq = frame.get("message", {}).get("seq", 0)
        last = text if frame["type"] in {"run", "read", "delta", "retract"} else ""
        return frame.get("chat_id", ""), frame["type"], seq, last

    return sorted(dict.fromkeys(stage.frames(person)), key=place)


def _owner(stage: Stage, phone: str) -> str | None:
    item = stage.table.get(AddressOwner.key_of(TENANT, phone_address(phone)))
    return AddressOwner.from_item(item).user_id if item is not None else None


def _body(answer: Answer) -> str:
    body: Any = answer.body if answer.body is not None else answer.raw.get("body")
    return f"{answer.status} {json.dumps(body, ensure_ascii=False)}"
