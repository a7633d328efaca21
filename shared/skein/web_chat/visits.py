"""Visits: open and renew them, end them, and erase their visitors."""

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from skein.errors import ConditionFailed, Forbidden, NotFound, Unauthenticated
from skein.identity.admission import ENDED
from skein.identity.models.credential import Credential
from skein.identity.models.visit import TOKEN_LIFETIME, Visit, VisitClaims, VisitStatus
from skein.identity.visit_tokens import FORGED, VisitTokens
from skein.models.common.base import VISITOR
from skein.models.common.storage import Delete, Exists, Update, at_version
from skein.models.config.overrides import TenantOnlySettings, TenantSettings
from skein.models.directory.user import User
from skein.models.outbox.due import due_pointer
from skein.models.outbox.jobs import VisitJob
from skein.ports import Clock, Ids, Table
from skein.privacy.erasure_requests import Erasures
from skein.services.common.optimistic import optimistic, revise
from skein.settings import Settings
from skein.web_chat.limits import VisitLimits
from skein.web_chat.models.widget import Widget
from skein.web_chat.widgets import Widgets

if TYPE_CHECKING:
    from skein.web_chat.api import NewVisit

REPEATED_WITHIN = timedelta(seconds=60)
BY_TIME = "visitor_days"
"""Who requests the erasure of a visitor that was not seen for long enough."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Visits:
    """The service of visits. It stores nothing for a visitor who has not written."""

    table: Table
    clock: Clock
    ids: Ids
    widgets: Widgets
    tokens: VisitTokens
    erasures: Erasures
    limits: VisitLimits
    settings: Settings

    def open(
        self, widget_id: str, new: "NewVisit", *, origin: str | None, address: str
    ) -> VisitClaims:
        """Open a visit for a web page, or renew a visit in which the visitor has written.

        Returns the claims of the page's next token.

        A renewal can be used once. If it is used again soon, and before the new renewal is used,
        the answer is the same. If it is used again later, the visit ends, because somebody else may
        have a copy of the renewal.

        Args:
            address: The IP address of the visitor.

        Raises:
            NotFound: The widget does not exist or is turned off.
            Forbidden: The widget is not for pages of this origin, or it requires consent.
            Unauthenticated: The visit to renew has ended, or the renewal is not valid.
            RateLimited: The visitor's network or the widget has opened too many visits.
        """
        widget = self.widgets.on_page(widget_id, origin)
        if new.renewal is not None:
            claims = self._claims(widget, new.renewal)
            visit = optimistic(self.clock, lambda: self._renewed(widget, claims, new.consent))
            if visit is not None:
                return visit.claims()
        _check_consent(widget, new.consent)
        self.limits.admit_visit(widget, address)
        ends_at = (self.clock.now() + TOKEN_LIFETIME).replace(microsecond=0)
        # A visitor's id names the widget, so that the visitors of a widget share its limits.
        visitor_id = f"{VISITOR}{widget.pool}_{self.ids.ulid()}"
        chat_id = f"chat_{self.ids.ulid()}"
        return VisitClaims(widget.tenant, widget.id, visitor_id, chat_id, 1, new.consent, ends_at)

    def status(self, claims: VisitClaims) -> VisitStatus:
        """Return whether the visitor has written, and whether the visitor's data is erased."""
        visit_key = Visit.key_of(claims.tenant, claims.visitor_id)
        user_key = User.key_of(claims.tenant, claims.visitor_id)
        found = self.table.get_many([visit_key, user_key])
        if visit_key not in found:
            return "new"
        user = User.read(found, user_key)
        if user is None:
            return "erased"
        return "erasing" if user.erasure_id is not None else "open"

    def end(self, claims: VisitClaims) -> None:
        """End a visit, so that all its tokens and renewals stop working. Its chat stays."""
        key = Visit.key_of(claims.tenant, claims.visitor_id)
        try:
            self.table.write(Update(key, set={"ended": True}, condition=Exists()))
        except ConditionFailed:
            return  # nothing was written, so there is nothing to end

    def erase(self, claims: VisitClaims) -> VisitStatus:
        """Erase a visitor and all that the visitor wrote (idempotent). This ends the visit."""
        self._erase(claims.tenant, claims.visitor_id, by=claims.visitor_id)
        status = self.status(claims)
        return "erased" if status == "new" else status

    def forget(self, job: VisitJob) -> None:
        """Erase a visitor who has not been seen for `visitor_days` (idempotent).

        Raises:
            Transient: The table can't be reached; the job is retried.
        """
        visit = Visit.read(self.table, Visit.key_of(job.tenant, job.visitor_id))
        if visit is None or visit.renewed_at + self._kept(job.tenant) > self.clock.now():
            return
        self._erase(job.tenant, job.visitor_id, by=BY_TIME)
        try:
            self.table.write(Delete(visit.key, at_version(visit.version)))
        except ConditionFailed:
            return  # renewed just now; the erasure has ended the visit all the same

    def _erase(self, tenant: str, visitor_id: str, *, by: str) -> None:
        try:
            self.erasures.request(tenant, visitor_id, by=by)
        except NotFound:
            return  # erased already, or never there

    def _kept(self, tenant: str) -> timedelta:
        own = TenantSettings.from_optional(self.table.get(TenantSettings.key_of(tenant)))
        return timedelta(days=TenantOnlySettings.model_validate(own).visitor_days)

    def _claims(self, widget: Widget, renewal: str) -> VisitClaims:
        """Return the claims of a renewal.

        Raises:
            Unauthenticated: The text is not a renewal of this widget.
        """
        credential = Credential.parse(renewal)
        if credential is None or credential.kind != "renewal":
            raise Unauthenticated(FORGED)
        claims = self.tokens.read(credential)
        if (claims.tenant, claims.widget_id) != (widget.tenant, widget.id):
            raise Unauthenticated(FORGED)
        return claims

    def _renewed(self, widget: Widget, claims: VisitClaims, consent: int) -> Visit | None:
        """Renew a visit once; return None if its visitor has not written.

        Raises:
            Unauthenticated: The visit has ended, or ends now because the renewal was used before.
        """
        visit_key = Visit.key_of(claims.tenant, claims.visitor_id)
        user_key = User.key_of(claims.tenant, claims.visitor_id)
        found, now = self.table.get_many([visit_key, user_key]), self.clock.now()
        visit, user = Visit.read(found, visit_key), User.read(found, user_key)
        if visit is None:
            return None
        if visit.ended or user is None or user.erasure_id is not None:
            raise Unauthenticated(ENDED)
        if claims.number + 1 == visit.version and now - visit.renewed_at <= REPEATED_WITHIN:
            return visit
        if claims.number != visit.version:
            self.end(claims)
            raise Unauthenticated(ENDED)
        agreed = max(consent, visit.consent)
        _check_consent(widget, agreed)
        due = due_pointer("visit", visit.key, now + self._kept(visit.tenant))
        revised, write = revise(visit, {"renewed_at": now, "consent": agreed}, also=due)
        self.table.write(write)
        return revised


def _check_consent(widget: Widget, consent: int) -> None:
    """Check that the visitor has agreed to the current text, if the widget requires it.

    Raises:
        Forbidden: The visitor has not agreed; the details have the version of the text.
    """
    required = widget.consent is not None and widget.consent.required
    if required and consent < widget.consent_version:
        details = {"consent_version": widget.consent_version}
        raise Forbidden("the visitor must agree to the consent text first", details=details)
