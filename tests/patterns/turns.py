"""Stories of turns and of SMS, in which the agent or the person does something unusual."""

from datetime import timedelta
from typing import Any

from skein.errors import ModelFiltered, ModelRejected, Unavailable
from skein.inbound.sms import SmsReceiver
from skein.models.api.directory import NewUser
from skein.models.common.base import NamedMember
from skein.models.delivery.sms import InboundSms
from skein.models.runs.completion import ModelRequest
from skein.services.choices.answering import Answering
from skein.settings import Settings
from tests.patterns.meter import Meter, Patterns
from tests.patterns.worlds import threaded
from tests.support.agents import (
    AHMAD,
    ASK,
    ASKED_AGAIN,
    COACH,
    END,
    HUSAM,
    job_of,
    stage,
    the_run,
    waiting_here,
)
from tests.support.builders import LINE, PHONE, TENANT, World, person
from tests.support.choices import given
from tests.support.fakes import Killed, Said, calls, faulty, says
from tests.support.own_tools import BOOK, own_tool
from tests.support.sms_choices import Phone

patterns = Patterns()

SHORT = Settings(sms_answer_segments=2)
GOAL = calls(("set_goal", {"text": "Win", **ASKED_AGAIN}))
MANY = " ".join(f"Sentence {n} of the answer ends here." for n in range(12))


def _say(world: World, text: str, who: NamedMember = HUSAM) -> None:
    """Post a message, and let the burst that it may begin end."""
    world.post(text, who)
    world.clock.advance(5)


def _turn(meter: Meter, *script: Any, **fields: Any) -> World:
    """Let an agent with all tools answer a message of a group."""
    world = stage(*script, **fields)
    world.chat(HUSAM, AHMAD, COACH)
    _say(world, "Hi")
    with meter(world):
        world.run_ready()
    return world


def _spoken(meter: Meter, *script: Any) -> World:
    """Let an agent answer a person's message in text."""
    world = threaded()
    world.model.script.extend(script)
    world.agent()
    world.chat(HUSAM, COACH, kind="direct", visibility="private")
    _say(world, "Hi")
    with meter(world):
        world.run_ready()
    return world


@patterns.named("a turn that saves, and then ends by its tool")
def _ends(meter: Meter) -> None:
    _turn(meter, GOAL, says("Done", **ASKED_AGAIN), END)


@patterns.named("a turn that ends after its calls")
def _saves(meter: Meter) -> None:
    _turn(meter, says("Hello"))


@patterns.named("a turn that asks and waits")
def _asks(meter: Meter) -> None:
    _turn(meter, ASK)


@patterns.named("a turn that goes on after a reply")
def _replied(meter: Meter) -> None:
    world = waiting_here(says("Thanks"), END)
    _say(world, "Yes", AHMAD)
    with meter(world):
        world.run_ready()


@patterns.named("a turn whose reply came before its question")
def _early_reply(meter: Meter) -> None:
    def replied(_: ModelRequest) -> Said:
        world.post("Yes, do", AHMAD)
        return ASK

    world = stage(replied, says("Thanks"), END)
    world.chat(HUSAM, AHMAD, COACH)
    _say(world, "Publish")
    with meter(world):
        world.run_ready()


@patterns.named("a turn whose model is down")
def _down(meter: Meter) -> None:
    _spoken(meter, Unavailable("down"))


@patterns.named("a turn whose model refuses the request")
def _rejected(meter: Meter) -> None:
    _spoken(meter, ModelRejected("no"))


@patterns.named("a turn whose request is filtered")
def _filtered(meter: Meter) -> None:
    _spoken(meter, ModelFiltered("no"))


@patterns.named("a turn that meets a bug")
def _bug(meter: Meter) -> None:
    _spoken(meter, RuntimeError("bug"))


@patterns.named("a turn with two empty answers")
def _empty(meter: Meter) -> None:
    _spoken(meter, faulty("empty"), faulty("empty"))


@patterns.named("a turn that says nothing on purpose")
def _silent(meter: Meter) -> None:
    _spoken(meter, "[silence]")


@patterns.named("a turn that takes all its steps")
def _all_steps(meter: Meter) -> None:
    _turn(meter, *[GOAL] * 20)


@patterns.named("a turn during which someone joins a private chat")
def _joined(meter: Meter) -> None:
    def joins(_: ModelRequest) -> Said:
        world.add(person("usr_bob", "Bob"))
        return "Hello!"

    world = stage(joins, "Hello both!", reply_mode="text")
    world.known(HUSAM, person("usr_bob", "Bob"))
    world.chat(HUSAM, COACH, visibility="private")
    _say(world, "Hi")
    with meter(world):
        world.run_ready()


@patterns.named("a turn that another worker carries on")
def _taken_over(meter: Meter) -> None:
    def killed(_: ModelRequest) -> Said:
        raise Killed

    world = stage(GOAL, killed, says("Hello"), END)
    world.chat(HUSAM, AHMAD, COACH)
    _say(world, "Hi")
    try:
        world.run_ready()
    except Killed:
        world.clock.advance(timedelta(minutes=5).total_seconds())
        world.tick()
    with meter(world):
        world.run_ready()


@patterns.named("a turn without time for the model")
def _no_time(meter: Meter) -> None:
    world = stage()
    world.chat(HUSAM, COACH)
    _say(world, "Hi")
    job = job_of(the_run(world))
    with meter(world):
        world.app.turns.take(job, deadline=world.clock.now() + timedelta(seconds=20))


@patterns.named("a turn of an agent that has left")
def _left(meter: Meter) -> None:
    world = stage()
    world.chat(HUSAM, COACH)
    _say(world, "Hi")
    world.app.chat_admin.remove_member(TENANT, "chat_1", HUSAM.ref, COACH.ref)
    with meter(world):
        world.run_ready()


@patterns.named("a turn that carries out a call that a person approved")
def _agreed(meter: Meter) -> None:
    world = threaded()
    world.model.script.extend([calls(("book_table", {"day": "Tuesday"})), "Shall I?", "Booked!"])
    world.agent(enabled_tools=("book_table",))
    own_tool(world, BOOK, approval="person")
    world.chat(HUSAM, COACH, kind="direct", visibility="private")
    _say(world, "Book a table")
    world.drain()
    asked = world.messages()[1]
    world.app.get(Answering).answer(given(asked.seq))
    with meter(world):
        world.drain()
    assert world.messages()[-1].text == "Booked!"


# ---------------------------------------------------------------------- SMS


def _sms(body: str, *, sid: str = "SM99", **fields: Any) -> InboundSms:
    given = {"account_sid": "AC1", "message_sid": sid, "sender": PHONE, "recipient": LINE}
    return InboundSms.model_validate(given | {"body": body} | fields)


def _receive(meter: Meter, world: World, body: str) -> None:
    with meter(world):
        world.app.get(SmsReceiver).receive(_sms(body))


@patterns.named("receive STOP")
def _stop(meter: Meter) -> None:
    _receive(meter, Phone().world, "STOP")


@patterns.named("receive a wish to stop in other words")
def _wish(meter: Meter) -> None:
    _receive(meter, Phone().world, "stop texting me")


@patterns.named("receive START after STOP")
def _start(meter: Meter) -> None:
    phone = Phone()
    phone.text("STOP")
    _receive(meter, phone.world, "START")


@patterns.named("receive the code of an answer")
def _code(meter: Meter) -> None:
    phone = Phone()
    _receive(meter, phone.world, phone.ask()["Yes"])


@patterns.named("receive the code of an answer again")
def _code_again(meter: Meter) -> None:
    phone = Phone()
    code = phone.ask()["Yes"]
    phone.world.app.get(SmsReceiver).receive(_sms(code))
    _receive(meter, phone.world, code)


@patterns.named("receive a wrong code")
def _wrong_code(meter: Meter) -> None:
    phone = Phone()
    known = set(phone.ask().values())
    _receive(meter, phone.world, next(code for code in ("111111", "222222") if code not in known))


@patterns.named("receive a typed yes, which may have crossed the question")
def _typed(meter: Meter) -> None:
    phone = Phone()
    phone.ask()
    _receive(meter, phone.world, "Yes")


@patterns.named("receive MORE after a long answer")
def _more(meter: Meter) -> None:
    world = threaded(settings=SHORT)
    world.model.default = MANY
    world.agent()
    world.line()
    world.app.get(SmsReceiver).receive(_sms("Hi", sid="SM1"))
    world.drain()
    _receive(meter, world, "MORE")


@patterns.named("receive an SMS after the chat was discarded")
def _discarded(meter: Meter) -> None:
    phone = Phone()
    person_ref = person(phone.user_id).ref
    phone.world.app.chat_admin.discard(TENANT, phone.chat_id, person_ref)
    _receive(meter, phone.world, "Hi")


@patterns.named("receive an SMS from a number that was silent")
def _silent_number(meter: Meter) -> None:
    world = threaded(settings=Settings(ask_after_silent_days=30))
    world.agent()
    world.line()
    world.app.users.create(TENANT, NewUser(id="usr_ann", name="Ann", phones=(PHONE,)))
    world.app.get(SmsReceiver).receive(_sms("Hi", sid="SM1"))
    world.drain()
    world.clock.advance(timedelta(days=34).total_seconds())
    _receive(meter, world, "Hello")
