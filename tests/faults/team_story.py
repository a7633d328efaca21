"""The stories of an agent that acts through its tools, and what must be true once they are over."""

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from functools import cache
from typing import Any

import service_webhook
from skein.agent.tools import TOOLS
from skein.inbound.webhook_signature import secret_of, sign
from skein.models.common.storage import Put, Query
from skein.models.directory.webhook_service import WebhookService
from skein.models.runs.completion import ModelRequest
from skein.models.runs.run import Run
from skein.models.runs.step import Step
from skein.models.runs.trigger import Resume
from skein.models.visibility.ownership import Owner
from skein.services.chat_state.person_choices import read_choices
from tests.faults.deployment import Deployment, Phone
from tests.faults.sweeps import Sweep
from tests.support.api_client import recorded
from tests.support.builders import NOON, SERVICES_KEY, TENANT, bot, live, person
from tests.support.fakes import Calls, Said, ScriptedModel, calls

HUSAM = person()
ANN = person("usr_ann", "Ann")
COACH = bot()
OPEN = Owner(tenant=TENANT, agent_id=COACH.id)
WEBHOOK = recorded("service_webhook")
NONCE = "6f2d9c0a1b7e4c35a8d1f0e9b6c3a7d2"

Do = tuple[str, dict[str, Any]]
Scenes = Mapping[str, Sequence[Sequence[Do]]]
RESUMED = {
    "reply": " replied with msg:",  # of TRIGGER
    "timeout": "The wait ended with a timeout",  # of TRIGGER
    "choice": 'answered "Yes" in msg:',  # of the question's entry
}


def send(text: str, **others: Any) -> Do:
    return "send_message", {"text": text, **others}


ON_IT = send("On it", **{"continue": True})  # the model is asked again
GOAL: Do = ("set_goal", {"text": "Publish"})
LEARN: Do = ("save_memory", {"text": "Husam reads every number", "kind": "core"})
PLAN: Do = ("set_plan", {"name": "Look back", "instruction": "Look", "run_after": "3 days"})


def plot(scenes: Scenes) -> ScriptedModel:
    """A model that follows a plot, and sees from what it is shown which scene comes next.

    It never gives the same answer twice: whatever it says ends with the number of the answer.
    """
    model = ScriptedModel()

    def next_scene(request: ModelRequest) -> Calls:
        prompt = request.messages[0].content
        parts = [name for name, words in RESUMED.items() if words in prompt]
        scenes_before = sum(message.role == "assistant" for message in request.messages)
        scene = scenes[parts[0] if parts else "start"][scenes_before]
        return calls(*(_numbered(do, len(model.requests)) for do in scene))

    model.default = next_scene
    return model


def _numbered(do: Do, number: int) -> Do:
    name, arguments = do
    if "text" not in arguments:
        return do
    return name, {**arguments, "text": f"{arguments['text']} #{number}"}


class Team(Deployment):
    """A deployment with two groups that share an agent.

    Attributes:
        expected: What must have been said in the end, by chat.
    """

    def __init__(self, scenes: Scenes, expected: Mapping[str, Sequence[str]]) -> None:
        super().__init__(model=plot(scenes))
        self.expected = expected
        self.agent(
            reply_mode="tools",
            history_format="timeline",
            enabled_tools=tuple(TOOLS),
            max_concurrent_runs=1,
        )
        self.chat(HUSAM, COACH)
        self.chat(HUSAM, ANN, COACH, chat_id="chat_2", title="Sales")
        self.clock.advance(60)

    @property
    def waits(self) -> bool:
        """Whether a run waits in one of the chats."""
        return any(self.membership(COACH, chat_id).wait for chat_id in self.expected)

    def meanwhile(self) -> None:
        self.live(until=lambda: self.waits or self.at_rest)

    def play(self) -> None:
        """Let the story take its course."""
        raise NotImplementedError

    def stored_steps(self, run: Run) -> list[Step]:
        page = self.table.query(
            Query(run.key.pk, first=f"{run.key.sk}#STEP#", last=f"{run.key.sk}#STEP#~")
        )
        return [Step.from_item(item) for item in page.items]

    def check(self, *, lost_answers: int = 0) -> None:
        """Everything that was to happen has happened once, and everything is in order.

        Args:
            lost_answers: How many answers of the model may have been lost before they were
                recorded.
        """
        sent = []
        for chat_id, expected in self.expected.items():
            messages = self.messages(chat_id)
            assert [message.text.partition(" #")[0] for message in messages] == expected
            assert [message.seq for message in messages] == list(range(1, len(messages) + 1))
            sent += [(m.chat_id, m.seq) for m in messages if m.sender.ref == COACH.ref]
            membership = self.membership(COACH, chat_id)
            assert (membership.running_run, membership.queued_run, membership.wait) == (
                None,
                None,
                None,
            )
            assert membership.resuming == ()
        run = self.the_run()
        assert (run.status, run.error) == ("done", None)
        assert sorted((s.chat_id, s.seq) for s in run.sent) == sorted(sent)
        steps = self.stored_steps(run)
        assert [step.n for step in steps] == list(range(1, run.steps_taken + 1))
        assert run.usage.output_tokens == 5 * len(steps)
        assert len(self.model.requests) <= len(steps) + lost_answers
        assert self.table.query(Query.under(f"{TENANT}#AGENT#agt_a", "LIVE#")).items == ()
        assert self.at_rest

    def the_run(self) -> Run:
        """The only run there has been."""
        [run] = self.all_runs()
        return run


class Questions(Team):
    """Somebody asks for something; the agent does much, asks back, and goes on when it can."""

    def __init__(
        self, scenes: Scenes, expected: Mapping[str, Sequence[str]], reply: tuple[str, str] | None
    ) -> None:
        super().__init__(scenes, expected)
        self.reply = reply

    def play(self) -> None:
        Phone(self).say("Pull the numbers")
        if self.reply is not None:
            self.live(until=lambda: self.waits)
            text, chat_id = self.reply
            Phone(self, sub="usr_ann" if chat_id == "chat_2" else "usr_husam").say(text, chat_id)
        self.live()

    def check(self, *, lost_answers: int = 0) -> None:
        super().check(lost_answers=lost_answers)
        assert [goal.text[:7] for goal in live(self.app.goals, OPEN.reach)] == ["Publish"]
        assert [plan.name for plan in live(self.app.plans, OPEN.reach)] == ["Look back"]
        memories = self.app.memories.live(OPEN.reach)
        assert [memory.text.partition(" #")[0] for memory in memories] == [LEARN[1]["text"]]
        run = self.the_run()
        assert (run.activation, run.waits) == (2, 1)
        self.check_resumed(run)

    def check_resumed(self, run: Run) -> None:
        """The wait has ended as it should, and the newest prompt has been seen."""
        chat_id = self.reply[1] if self.reply else "chat_1"
        messages = self.messages(chat_id)
        [asked] = [message.seq for message in messages if message.expects_reply]
        answered = [m.seq for m in messages if self.reply and m.text == self.reply[0]]
        assert run.resumed == Resume(
            status="reply" if answered else "timeout",
            chat_id=chat_id,
            asked_seq=asked,
            seq=answered[0] if answered else None,
        )
        assert self.membership(COACH, chat_id).seen_seq == (answered[0] if answered else asked)


class Interrupted(Questions):
    """The answer comes while the agent thinks about how to ask, and has a run of its own."""

    def __init__(self, scenes: Scenes, expected: Mapping[str, Sequence[str]]) -> None:
        super().__init__(scenes, expected, None)
        thought = self.model.default
        assert callable(thought)

        def interrupted(request: ModelRequest) -> Said:
            if any(message.role == "assistant" for message in request.messages):
                self.post("Yes", HUSAM, client_id="early")
            return thought(request)

        self.model.default = interrupted

    def the_run(self) -> Run:
        """The run that worked; the other one was to answer what it has answered."""
        run, other = self.all_runs()
        assert (other.status, other.error) == ("canceled", f"joined {run.id}")
        return run

    def check_resumed(self, run: Run) -> None:
        answered, asked = [m.seq for m in self.messages() if m.text == "Yes" or m.expects_reply]
        assert (answered, asked) == (3, 4)
        assert run.resumed == Resume(
            status="reply", chat_id="chat_1", asked_seq=asked, seq=answered
        )
        assert self.membership(COACH).seen_seq == asked


class Choosing(Team):
    """The agent asks a person with options, and the answer starts its next run."""

    def play(self) -> None:
        Phone(self).say("Pull the numbers")
        self.live()
        answer = {"choice": {"seq": 2, "option": "1"}, "client_id": "Yes"}
        Phone(self).post("/v1/chats/chat_1/messages", answer)
        self.live()

    def the_run(self) -> Run:
        """The run that asked; its check also needs the messages of the other."""
        first, second = self.all_runs()
        assert (second.status, second.trigger.seq) == ("done", 3)
        return first

    def check(self, *, lost_answers: int = 0) -> None:
        texts = [message.text.partition(" #")[0] for message in self.messages()]
        assert texts == self.expected["chat_1"]
        asked, second = self.the_run(), self.all_runs()[1]
        assert [sent.seq for sent in asked.sent] == [2]
        assert [sent.seq for sent in second.sent] == [4]
        choice = self.messages()[1].choice
        assert choice is not None
        assert choice.answer is not None
        assert (choice.answer.option, choice.answer.seq) == ("1", 3)
        assert read_choices(self.table, TENANT, HUSAM.id, self.clock.now()).open == ()
        steps = len(self.stored_steps(asked)) + len(self.stored_steps(second))
        assert len(self.model.requests) <= steps + lost_answers
        assert self.at_rest


START = "Pull the numbers"


def asks_with_options() -> Team:
    """The agent asks a person with options, and acts on the answer in a run of its own."""
    question = {"question": "May I publish?", "options": ["Yes", "No"]}
    return Choosing(
        {"start": [[("ask_choice", question)], []], "choice": [[send("Published")], []]},
        {"chat_1": [START, "May I publish?\nYes / No", "Yes", "Published"]},
    )


def asks_here() -> Team:
    """The agent does four things, asks in the chat that woke it, and has the last word there."""
    return Questions(
        {
            "start": [
                [
                    ON_IT,
                    send("Figures, please", chat_id="chat_2"),
                    GOAL,
                    PLAN,
                    LEARN,
                ],
                [send("May I publish?", wait=True)],
            ],
            "reply": [[send("Published")], []],
        },
        {
            "chat_1": [START, "On it", "May I publish?", "Yes", "Published"],
            "chat_2": ["Figures, please"],
        },
        ("Yes", "chat_1"),
    )


def asks_in_one_breath() -> Team:
    """The same in one step, in which the question stands first and is carried out last."""
    return Questions(
        {
            "start": [
                [
                    send("May I publish?", wait=True),
                    send("On it"),
                    send("Figures, please", chat_id="chat_2"),
                    GOAL,
                    PLAN,
                    LEARN,
                ]
            ],
            "reply": [[send("Published"), ("end_run", {})]],
        },
        {
            "chat_1": [START, "On it", "May I publish?", "Yes", "Published"],
            "chat_2": ["Figures, please"],
        },
        ("Yes", "chat_1"),
    )


def asks_elsewhere() -> Team:
    """The agent asks in another chat than the one that woke it, and goes on there."""
    return Questions(
        {
            "start": [
                [GOAL, ON_IT, PLAN, LEARN],
                [send("Which figures?", chat_id="chat_2", wait=True)],
            ],
            "reply": [[send("Thanks"), send("Here they are", chat_id="chat_1")], []],
        },
        {
            "chat_1": [START, "On it", "Here they are"],
            "chat_2": ["Which figures?", "Those of Q4", "Thanks"],
        },
        ("Those of Q4", "chat_2"),
    )


def hears_nothing() -> Team:
    """Nobody answers the agent's question, so that it goes on without."""
    return Questions(
        {
            "start": [
                [
                    ON_IT,
                    send("Figures, please", chat_id="chat_2"),
                    GOAL,
                    PLAN,
                    LEARN,
                ],
                [send("May I publish?", wait=True)],
            ],
            "timeout": [[send("Never mind")], []],
        },
        {
            "chat_1": [START, "On it", "May I publish?", "Never mind"],
            "chat_2": ["Figures, please"],
        },
        None,
    )


def hears_the_answer_early() -> Team:
    """Somebody writes, while the agent thinks, what it is about to ask."""
    return Interrupted(
        {
            "start": [
                [
                    ON_IT,
                    send("Figures, please", chat_id="chat_2"),
                    GOAL,
                    PLAN,
                    LEARN,
                ],
                [send("May I publish?", wait=True)],
            ],
            "reply": [[send("Published")], []],
        },
        {
            "chat_1": [START, "On it", "Yes", "May I publish?", "Published"],
            "chat_2": ["Figures, please"],
        },
    )


class Planned(Team):
    """A plan comes due, and its run tells a chat."""

    def play(self) -> None:
        self.app.plans.set(OPEN, "Daily Report", "Post the numbers", run_after="1 minute")
        self.live()

    def check(self, *, lost_answers: int = 0) -> None:
        super().check(lost_answers=lost_answers)
        assert live(self.app.plans, OPEN.reach) == ()


class Served(Team):
    """A service has something to report, and the run that it starts tells a chat."""

    def play(self) -> None:
        event = deepcopy(WEBHOOK)
        sent_at = str(int(self.clock.now().timestamp()))
        source = WebhookService(
            tenant=TENANT,
            id=event["pathParameters"]["service_id"],
            name="jira",
            agent_ids=(COACH.id,),
            nonce=NONCE,
            created_at=NOON,
        )
        self.table.write(Put(source.key, source.to_item()))
        event["body"], event["isBase64Encoded"] = '{"issue":1}', False
        secret = secret_of(NONCE, key=SERVICES_KEY)
        signature = sign(secret, sent_at, event["body"].encode())
        event["headers"]["x-skein-signature"] = f"t={sent_at},v1={signature}"
        self.webhook(service_webhook, event)
        self.live()


REPORT: Scenes = {
    "start": [[send("The numbers", chat_id="chat_2"), send("Done", chat_id="chat_1")], []]
}
REPORTED = {"chat_1": ["Done"], "chat_2": ["The numbers"]}


def has_a_plan() -> Team:
    return Planned(REPORT, REPORTED)


def hears_from_a_service() -> Team:
    return Served(REPORT, REPORTED)


Story = Callable[[], Team]
STORIES: tuple[Story, ...] = (
    asks_here,
    asks_in_one_breath,
    asks_elsewhere,
    asks_with_options,
    hears_nothing,
    hears_the_answer_early,
    has_a_plan,
    hears_from_a_service,
)


@cache
def sweep(story: Story) -> Sweep[Team]:
    """Return the sweep of a story; all tests of the story share its recorded calls."""
    return Sweep(
        story,
        play=lambda world: world.play(),
        check=lambda world: world.check(lost_answers=world.deaths),
    )
