"""Create codes that prove phone numbers, and send them by SMS.

Only the hash of a code is stored. If a worker crashes before it records that the SMS was sent, the
next try sends a new code. So the code in the newest SMS is always valid.
"""

import logging
from dataclasses import dataclass

from skein.channels.sms import SMS
from skein.errors import Ambiguous, ConditionFailed, SmsRejected
from skein.models.common.address import phone_address
from skein.models.common.base import rfc3339
from skein.models.common.reason import Reason
from skein.models.common.storage import Is, Item, Update
from skein.models.config.overrides import TenantSettings
from skein.models.delivery.sms import OutgoingSms
from skein.models.directory.line import Line
from skein.models.directory.number_code import CODE_DIGITS, NumberCode
from skein.models.outbox.jobs import NumberCodeJob
from skein.models.quotas.usage import Payer
from skein.ports import Clock, Ids, Metrics, Sms, Table
from skein.prompts import render
from skein.services.config.pauses import is_paused, keys_of_pauses
from skein.services.config.resolution import effective_settings
from skein.services.quotas.usage import UsageCounters
from skein.settings import Settings

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberCodeSender:
    """The sender of codes that prove phone numbers."""

    table: Table
    clock: Clock
    ids: Ids
    sms: Sms
    metrics: Metrics
    usage: UsageCounters
    settings: Settings

    def send(self, job: NumberCodeJob) -> None:
        """Send the code of a job, unless it was already sent, or was replaced, or has expired.

        If texts are paused, the code is not sent, and the person must request another code later.

        Raises:
            Transient: The provider or the table failed; the queue repeats the job.
        """
        key = NumberCode.key_of(job.tenant, job.user_id, phone_address(job.phone))
        pauses = keys_of_pauses(job.tenant, job.code_id)
        found = self.table.get_many([key, *pauses])
        if is_paused("texts", job.tenant, job.code_id, found):
            logger.info("code not sent", extra={"reason": Reason.PAUSED})
            return
        known = self._waiting(NumberCode.read(found, key), job)
        if known is None or not self._may_send(known):
            return
        code = self.ids.digits(CODE_DIGITS)
        if not self._store(known, {"code_hash": known.hash_of(code)}):
            return
        body = render("notice_number_code", {"code": code})
        if self._post(known, body):
            self._store(known, {"sent_at": rfc3339(self.clock.now())})

    def _waiting(self, known: NumberCode | None, job: NumberCodeJob) -> NumberCode | None:
        """Return the code if it belongs to this job and must still be sent; otherwise None."""
        if known is None or known.id != job.code_id or known.sent_at is not None:
            return None
        return known if self.clock.now() < known.valid_until else None

    def _may_send(self, known: NumberCode) -> bool:
        """Return whether the line still belongs to the tenant and may send SMS to the number."""
        line_key, tenant_key = Line.key_of(known.line), TenantSettings.key_of(known.tenant)
        found = self.table.get_many([line_key, tenant_key])
        line = Line.read(found, line_key)
        if line is None or line.tenant != known.tenant or SMS.name not in line.channels:
            return False
        tenant = TenantSettings.from_optional(found.get(tenant_key))
        settings = effective_settings(None, line, tenant, self.settings, chat=None)
        phone, countries = known.address.address, settings.answered_countries
        if SMS.may_answer(phone, known.line.address, countries):
            return True
        logger.info("code not sent", extra={"reason": Reason.NUMBER_NOT_ANSWERED})
        return False

    def _store(self, known: NumberCode, changes: Item) -> bool:
        """Store changes of a code; return False if the code was replaced or used up."""
        try:
            self.table.write(Update(known.key, set=changes, condition=Is("id", known.id)))
        except ConditionFailed:
            return False
        return True

    def _post(self, known: NumberCode, body: str) -> bool:
        """Send the SMS with the code.

        Returns:
            False if the provider rejected the SMS. True if the provider accepted it, or if the
            outcome is unknown.
        """
        sms = OutgoingSms(line=known.line.address, phone=known.address.address, body=body)
        try:
            self.sms.send(sms)
        except SmsRejected as error:
            logger.warning(
                "code rejected by Twilio: %s", error, extra={"reason": Reason.PROVIDER_REFUSED}
            )
            return False
        except Ambiguous:
            logger.warning(
                "outcome of a code to Twilio unknown", extra={"reason": Reason.OUTCOME_UNKNOWN}
            )
            return True
        segments = SMS.units(body)
        self.metrics.count("SegmentsSent", segments)
        payer = Payer(None, known.user_id)
        self.usage.add_texts(
            known.tenant, payer, SMS.name, texts=1, units=segments, spread_by=known.id
        )
        return True
