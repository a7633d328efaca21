"""A direct chat whose person is on SMS, and what a test of its deliveries needs."""

from datetime import datetime, timedelta

from skein.models.common.base import rfc3339
from skein.models.delivery.delivery import Delivery
from skein.models.delivery.sms import SmsStatus, StatusReport
from skein.models.outbox.jobs import DeliveryJob
from tests.support.builders import LINE, NOON, PHONE, TENANT, World, bot, person
from tests.support.routes import sms_route

ROUTE = sms_route(line=LINE, phone=PHONE)
TIME_OUT = timedelta(seconds=60)


class Texting(World):
    """A direct chat whose person is on SMS; answers are cut only if a test sets the limit."""

    def __post_init__(self) -> None:
        if "sms_answer_segments" not in self.settings.model_fields_set:
            self.settings = self.settings.model_copy(update={"sms_answer_segments": 100})
        super().__post_init__()
        self.agent()
        self.chat(
            person(),
            bot(),
            kind="direct",
            visibility="private",
            route=ROUTE,
        )

    def say(self, text: str = "Hello!") -> DeliveryJob:
        """Let the agent say something; returns the job of its delivery."""
        self.post(text, bot())
        job = self.queues.ready("deliveries")[-1]
        assert isinstance(job, DeliveryJob)
        return job

    def deliver(self, job: DeliveryJob) -> Delivery:
        self.app.deliveries.deliver(job, deadline=self.clock.now() + TIME_OUT)
        return self.delivery(job)

    @staticmethod
    def job_of(delivery: Delivery) -> DeliveryJob:
        return DeliveryJob(tenant=TENANT, chat_id=delivery.chat_id, delivery_id=delivery.id)

    def delivery(self, job: DeliveryJob) -> Delivery:
        item = self.table.get(Delivery.key_of(TENANT, job.chat_id, job.delivery_id))
        assert item is not None
        return Delivery.from_item(item)

    def due_at(self, job: DeliveryJob) -> str | None:
        item = self.table.get(Delivery.key_of(TENANT, job.chat_id, job.delivery_id))
        assert item is not None
        return item["gsi2sk"].split("#")[0] if "gsi2sk" in item else None

    def report(
        self,
        job: DeliveryJob,
        status: SmsStatus,
        *,
        sid: str = "",
        part: int = 0,
        code: int | None = None,
    ) -> None:
        """Let Twilio's callback for the newest text arrive."""
        self.app.deliveries.report(
            StatusReport(
                tenant=TENANT,
                chat_id=job.chat_id,
                delivery_id=job.delivery_id,
                part=part,
                sid=sid or self.sms.taken[-1][1].sid,
                status=status,
                error_code=code,
            )
        )

    def later(self, job: DeliveryJob, **wait: float) -> Delivery:
        """Advance the clock, with a tick at each whole minute as in production."""
        end = self.clock.now() + timedelta(**wait)
        while (minute := next_minute(self.clock.now())) <= end:
            self.clock.advance((minute - self.clock.now()).total_seconds())
            self.tick()
            self.run_ready()
        self.clock.advance((end - self.clock.now()).total_seconds())
        return self.delivery(job)


def next_minute(now: datetime) -> datetime:
    """Return the first whole minute after a time, at which production ticks next."""
    return now.replace(second=0, microsecond=0) + timedelta(minutes=1)


def parts(delivery: Delivery) -> list[tuple[str, int]]:
    return [(part.status, part.tries) for part in delivery.parts]


def after(seconds: float) -> str:
    return rfc3339(NOON + timedelta(seconds=seconds))
