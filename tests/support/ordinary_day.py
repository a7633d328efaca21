"""An ordinary day: an SMS, a group and a plan."""

from collections.abc import Iterator

from skein.models.common.storage import Query
from skein.models.delivery.sms import InboundSms
from skein.models.runs.run import Run
from skein.models.visibility.ownership import Owner
from tests.support.builders import LINE, PHONE, TENANT, World, bot, person


def story() -> Iterator[str]:
    """Play an SMS, a group and a plan; yield the last words of each chat."""
    world, husam, ann, coach = World(), person(), person("usr_ann", "Ann"), bot()
    world.agent()
    world.line()
    sms = InboundSms(
        account_sid="AC1", message_sid="SM1", sender=PHONE, recipient=LINE, body="Hello"
    )
    texted = world.app.sms_receiver.receive(sms)
    assert texted is not None
    world.drain()
    yield world.texts(texted.message.chat_id)[-1]

    world.chat(husam, ann, coach, kind="group", chat_id="chat_team")
    world.post("Coach, hello", husam, chat_id="chat_team")
    world.drain()
    yield world.texts("chat_team")[-1]

    owner = Owner(tenant=TENANT, agent_id=coach.id, by_operator=True)
    world.app.plans.set(owner, "Daily Report", "Post the numbers", run_after="1 hour")
    world.clock.advance(2 * 3_600)
    world.tick()
    world.drain()
    page = world.table.query(Query.under(f"{TENANT}#AGENT#{coach.id}", "RUN#"))
    runs = [Run.from_item(item) for item in page.items if "#STEP#" not in item["sk"]]
    yield from (f"{run.trigger.type} {run.status}" for run in runs)
