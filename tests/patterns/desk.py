"""The desk: put chats there, tell people, list, take over, answer, and hand back."""

from skein.desk.api import CannedAnswerChange, NewCannedAnswer
from skein.desk.canned_answers import CannedAnswers
from skein.desk.messages import TeamMessages
from skein.desk.queue import DeskQueue
from skein.desk.returning import Returns
from skein.desk.taking import Taking
from skein.desk.waiting import WaitingStays
from skein.models.chats.desk import Holder
from skein.models.outbox.jobs import DeskJob
from skein.services.chat_state.desk_stays import DeskRequest
from skein.services.chats.desk_requests import DeskRequests
from tests.patterns.meter import Meter, Patterns
from tests.patterns.worlds import direct
from tests.support.builders import TENANT, World

patterns = Patterns()

MIA = Holder(id="op_mia", name="Mia")


def ask(world: World) -> None:
    request = DeskRequest(reason_code="operator")
    world.app.get(DeskRequests).ask(TENANT, "chat_1", request, cause="1")


def take(world: World) -> None:
    world.app.get(Taking).take(TENANT, "chat_1", MIA)


def waiting() -> World:
    world = direct()
    ask(world)
    return world


def held() -> World:
    world = waiting()
    world.drain()
    take(world)
    return world


@patterns.named("put a chat on the desk")
def _ask(meter: Meter) -> None:
    world = direct()
    with meter(world):
        ask(world)


@patterns.named("tell the people of a chat on the desk")
def _tell(meter: Meter) -> None:
    world = waiting()
    [job] = world.queues.take(DeskJob)
    with meter(world):
        world.app.get(WaitingStays).look(job)
    assert len(world.texts()) == 1


@patterns.named("list the chats on the desk")
def _list(meter: Meter) -> None:
    world = waiting()
    with meter(world):
        assert len(world.app.get(DeskQueue).list(TENANT)) == 1


@patterns.named("take a chat over")
def _take(meter: Meter) -> None:
    world = waiting()
    world.drain()
    with meter(world):
        take(world)


@patterns.named("post a message of the team")
def _post(meter: Meter) -> None:
    world = held()
    with meter(world):
        world.app.get(TeamMessages).post(TENANT, "chat_1", MIA.id, "Hello", "1")


@patterns.named("hand a chat back")
def _return(meter: Meter) -> None:
    world = held()
    with meter(world):
        world.app.get(Returns).hand_back(TENANT, "chat_1", MIA.id, "All is done.")


def canned() -> World:
    world = direct()
    world.app.get(CannedAnswers).create(TENANT, NewCannedAnswer(name="hours", text="From 9."))
    return world


@patterns.named("create a canned answer")
def _create_answer(meter: Meter) -> None:
    world = direct()
    with meter(world):
        world.app.get(CannedAnswers).create(TENANT, NewCannedAnswer(name="hours", text="From 9."))


@patterns.named("list canned answers")
def _list_answers(meter: Meter) -> None:
    world = canned()
    with meter(world):
        assert len(world.app.get(CannedAnswers).list(TENANT).items) == 1


@patterns.named("change or delete a canned answer")
def _change_answer(meter: Meter) -> None:
    world = canned()
    with meter(world):
        world.app.get(CannedAnswers).change(TENANT, "hours", CannedAnswerChange(text="From 8."))
