"""The story of the recorded day: what four people, an agent and an operator do in three days.

The people's words and the model's answers are written here. Everything else, such as prompts,
memories, reasons and the audit log, is made by the code that also runs in a deployment.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from urllib.parse import quote

from local.day.actors import LINE, OPERATOR_NAME, REASON, Actors
from local.day.scripted_model import Call, ScriptedModel
from skein.models.directory.agent import DEFAULT_TOOLS

DAYS = 3
SYSTEM_PROMPT = (
    "You are Iris, who answers the messages of the Lindenhof clinic. "
    "Reply in one or two short sentences. Give no medical advice."
)
TOOLS = (*DEFAULT_TOOLS, "free_times")
HOURS = "The clinic is open from Monday to Friday, 8 to 18."
LATE_MINUTES = 10_080  # a chat waits at the end, and the user may advance the clock by days
JUST_NOW = timedelta(minutes=20)  # so that the pages of today show something, too
MEMORIES = {
    "heart": {
        "journal": ["Nora asked for a check-up."],
        "core": [
            "Nora can come on Wednesdays after 16:00 only.",
            "Nora's heart races at night, and Tom is not to know.",
        ],
    },
    "16:30": {"journal": ["Wednesday at 16:30 was free for Nora's check-up."], "core": []},
    "X-rays": {"journal": ["Leo brings his old X-rays."], "core": []},
    "moved away": {"journal": [], "core": ["Ada has moved away."]},
}


class Person(NamedTuple):
    """A person of the story."""

    name: str
    phone: str


NORA, TOM = Person("Nora", "+15005550141"), Person("Tom", "+15005550142")
LEO, ADA = Person("Leo", "+15005550143"), Person("Ada", "+15005550144")


@dataclass(frozen=True)
class Step:
    """A step of the tour through the recorded day.

    Attributes:
        title: What the step shows.
        text: What to look at.
        path: The page, as a path in the console's URL.
        subject: The private chat, run or person that the page shows; None if the page shows nothing
            private.
    """

    title: str
    text: str
    path: str
    subject: str | None = None


class Story:
    """The story, which actors play with a scripted model.

    Args:
        midnight: The beginning of the first day, in UTC.
    """

    def __init__(self, actors: Actors, model: ScriptedModel, midnight: datetime) -> None:
        self._actors = actors
        self._model = model
        self._midnight = midnight
        self._ids: dict[str, str] = {}
        self._agent = ""

    def play(self, end: datetime) -> list[Step]:
        """Play all days until `end`; return the tour."""
        self._open_the_clinic()
        self._first_day()
        seen = self._second_day() | self._third_day()
        self._actors.wait_until(end - JUST_NOW)
        self._ask_for_a_person("Can a person send me my report?", "Leo wants his report.")
        self._actors.wait_until(end)
        if self._model.left:
            raise LookupError(f"{self._model.left} answers of the story were not asked for")
        return self._tour(seen)

    # ------------------------------------------------------------------ the days

    def _open_the_clinic(self) -> None:
        iris = {
            "name": "Iris",
            "description": "Answers for the clinic",
            "system_prompt": SYSTEM_PROMPT,
            "listed": True,
        }
        call = self._actors.operator
        self._agent = call("POST", "/v1/agents", iris)["id"]
        function = {"function": "free_times"}
        tool = {"name": "free_times", "effect": "read", "privacy": "keeps_by_person"}
        call("POST", "/v1/tools", tool | {"python": function})
        call("PATCH", f"/v1/agents/{self._agent}", {"enabled_tools": TOOLS})
        call("POST", "/v1/sources", {"name": "Opening hours", "text": HOURS})
        call("PATCH", "/v1/settings", {"desk_late_minutes": LATE_MINUTES})
        call("POST", "/v1/lines", {"phone": LINE, "agent_id": self._agent})

    def _first_day(self) -> None:
        self._at(0, 9)
        self._text(
            NORA,
            "Hello, I am Nora and need a check-up. I can only come on Wednesdays after 4. "
            "My heart races at night, but don't tell my husband Tom.",
            "Thank you, Nora. That stays between us. I will look for a Wednesday after 4.",
        )
        self._at(0, 11)
        self._text(
            LEO,
            "Leo here. I come tomorrow at 10. Can you remind me at 8 to bring my old X-rays?",
            Call(
                "set_plan",
                {
                    "name": "X-rays",
                    "instruction": "Remind Leo to bring his old X-rays at 10.",
                    "run_after": "21 hours",
                },
            ),
            "I will write to you tomorrow at 8, Leo.",
        )
        self._at(0, 15)
        self._text(
            ADA,
            "This is Ada. I have moved away and need no more messages from you.",
            "All the best in your new home, Ada! Reply STOP, and we never write again.",
        )
        self._text(ADA, "STOP")

    def _second_day(self) -> dict[str, str]:
        self._model.say("Good morning, Leo! Please bring your old X-rays at 10.")
        self._at(1, 10)
        plan = self._newest_run()
        tom = self._actors.operator("POST", "/v1/users", {"name": TOM.name})["id"]
        self._ids[TOM.name] = tom
        chat = self._open(NORA, kind="direct", visibility="private")
        answers = (
            Call("free_times", {"day": "wednesday"}),
            "On Wednesday, 16:30 is free, which is after 4. Shall we keep it for you?",
        )
        self._say(NORA, chat, "When could I come for my check-up?", *answers)
        memory = self._newest_run()
        self._at(1, 12)
        invited = [{"kind": "user", "id": tom}]
        group = self._open(NORA, *invited, kind="group", visibility="private", title="Nora and Tom")
        accept = f"/v1/chats/{group}/invitation"
        self._actors.person(tom, TOM.name, "POST", accept, {"accept": True})
        self._say(
            TOM,
            group,
            "Iris, why does Nora need a check-up?",
            Call("send_message", {"text": "Please ask Nora about that, Tom."}),
        )
        secret = self._newest_run()
        self._at(1, 14)
        self._ask_for_a_person("My bill is wrong: I paid twice.", "Leo says that he paid twice.")
        self._step_in(LEO, "You did pay twice, Leo. The 40 euros come back by Friday.")
        self._at(1, 16)
        self._text(LEO, "When do I get the money?", "By Friday, as Mia wrote.")
        return {"plan": plan, "memory": memory, "secret": secret}

    def _third_day(self) -> dict[str, str]:
        self._at(2, 9)
        self._text(ADA, "Are you there? I left my umbrella at the clinic.")
        chat = self._chat_of(ADA)
        silent = f"{chat['chat_id']}/{chat['last_seq']}"
        self._text(LEO, "When are you open on Fridays?", "On Fridays, from 8 to 18. [K1]")
        self._at(2, 10)
        answer = "Wednesday at 16:30 was free for you. Shall we keep it?"
        self._text(NORA, "Which time was it on Wednesday?", answer)
        return {"silent": silent, "day": (self._midnight.date() + timedelta(days=1)).isoformat()}

    def _tour(self, seen: dict[str, str]) -> list[Step]:
        def run(name: str, title: str, text: str) -> Step:
            return Step(title, text, f"why/run/{seen[name]}", seen[name])

        return [
            run(
                "memory",
                "A memory crosses channels",
                "Nora told Iris by SMS when she can come. A day later, she asks in the app, and "
                "Iris still knows: open CORE MEMORIES to see the memory. The steps below show how "
                "Iris calls a tool.",
            ),
            run(
                "secret",
                "A secret is kept from a group",
                "Tom asks in a group why Nora needs a check-up. Nora told Iris the reason by SMS, "
                "privately. Because Tom can read this group, the reason is left out of the prompt, "
                "so the model can't reveal it. KNOWLEDGE contains only what everyone may know.",
            ),
            run(
                "plan",
                "A plan runs on time",
                "Leo asked for a reminder. Iris created a plan with a tool, and the plan started "
                "this run the next morning.",
            ),
            Step(
                "An SMS that is not answered",
                "Ada texted STOP and later asked about her umbrella. This page explains why she "
                "got no answer.",
                f"why/{seen['silent']}",
            ),
            Step(
                "A team member steps in",
                "Leo asked to talk to a person. Mia from the team answered and handed the chat "
                "back. Now Leo is waiting again: open his chat to take it over.",
                "desk",
            ),
            Step(
                "Who accessed what",
                "The audit log records every operator call and its reason. The page Usage shows "
                "the tokens of the three days.",
                f"audit/{seen['day']}",
            ),
        ]

    # ------------------------------------------------------------------ what people do

    def _at(self, day: int, hour: int) -> None:
        self._actors.wait_until(self._midnight + timedelta(days=day, hours=hour))

    def _text(self, person: Person, text: str, *answers: str | Call) -> None:
        """Send an SMS. After a person's first SMS, the operator gives the person a name."""
        self._model.say(*answers)
        self._actors.sms(person.phone, text)
        if person.name not in self._ids:
            [user] = self._actors.operator("GET", "/v1/users", phone=person.phone)["items"]
            self._ids[person.name] = user["id"]
            path = f"/v1/users/{quote(user['id'])}"
            self._actors.operator("PATCH", path, {"name": person.name}, reason=REASON)

    def _open(self, person: Person, *members: dict[str, str], **fields: str) -> str:
        with_agent = [*members, {"kind": "agent", "id": self._agent}]
        body = {"members": with_agent, **fields}
        opened = self._actors.person(self._ids[person.name], person.name, "POST", "/v1/chats", body)
        return str(opened["id"])

    def _say(self, person: Person, chat: str, text: str, *answers: str | Call) -> None:
        self._model.say(*answers)
        self._actors.say(self._ids[person.name], person.name, chat, text)

    def _ask_for_a_person(self, text: str, summary: str) -> None:
        reason = {"reason": "He asks for a person", "summary": summary}
        self._text(LEO, text, Call("ask_a_person", reason))

    def _step_in(self, person: Person, text: str) -> None:
        """Take a chat over as the operator, answer in it, and hand it back with a briefing."""
        desk = f"/v1/chats/{self._chat_of(person)['chat_id']}/desk"
        call: Callable[..., Any] = self._actors.operator
        call("PUT", desk, {"holder": "me", "name": OPERATOR_NAME}, reason=REASON)
        call("POST", f"{desk}/messages", {"text": text, "client_id": "day-team"})
        self._actors.local("POST", "drain")
        call("DELETE", desk, {"briefing": "Leo gets 40 euros back by Friday."})
        self._actors.local("POST", "drain")

    def _chat_of(self, person: Person) -> Any:
        return self._actors.operator("GET", f"/v1/users/{self._ids[person.name]}/chats")["items"][0]

    def _newest_run(self) -> str:
        """Return the id of the newest run that the agent has had today."""
        path = f"/v1/agents/{self._agent}/runs"
        return str(self._actors.operator("GET", path, limit="1")["items"][0]["id"])
