"""Admission of visitors: checks on each call whether the visit, widget and page are still valid."""

from dataclasses import dataclass

from skein.errors import Forbidden, NotFound, Unauthenticated
from skein.identity.admission import ENDED, EXPIRED
from skein.identity.models.visit import TOKEN_LIFETIME, Visit, VisitClaims
from skein.models.directory.user import User
from skein.ports import Clock, Table
from skein.services.directory.sign_outs import SignOuts
from skein.web_chat.models.widget import Widget
from skein.web_chat.widgets import FOREIGN_PAGE

ABOUT_VISIT = "/v1/visit"


@dataclass(frozen=True, slots=True, kw_only=True)
class VisitAdmission:
    """The service that checks whether a visit has ended since its token was signed."""

    table: Table
    clock: Clock
    sign_outs: SignOuts

    def check(self, claims: VisitClaims, *, call: str, origin: str | None) -> None:
        """Check a call that is made with the token of a visit.

        Args:
            call: The method and the path, such as `GET /v1/visit`.
            origin: The origin of the web page that makes the call.

        Raises:
            Unauthenticated: The token has expired, the visit has ended, its visitor is erased or
                signed out, or its widget is deleted or turned off.
            Forbidden: The widget is not for pages of this origin.
            NotFound: The call needs a chat, and the visitor has not written yet.
        """
        visit_key = Visit.key_of(claims.tenant, claims.visitor_id)
        user_key = User.key_of(claims.tenant, claims.visitor_id)
        widget_key = Widget.key_of(claims.widget_id)
        found = self.table.get_many([visit_key, user_key, widget_key])
        if claims.ends_at <= self.clock.now():
            raise Unauthenticated(EXPIRED)
        widget = Widget.read(found, widget_key)
        if widget is None or widget.tenant != claims.tenant or not widget.enabled:
            raise Unauthenticated(ENDED)
        if origin not in widget.origins:
            raise Forbidden(FOREIGN_PAGE)
        method, _, path = call.partition(" ")
        visit, user = Visit.read(found, visit_key), User.read(found, user_key)
        if visit is None:
            if not path.startswith(ABOUT_VISIT) and not path.endswith("/messages"):
                raise NotFound("chat not found")
            return
        if path == ABOUT_VISIT and method in {"GET", "DELETE"}:
            return
        if visit.ended or user is None or user.erasure_id is not None:
            raise Unauthenticated(ENDED)
        self.sign_outs.check_user(user, issued_at=claims.ends_at - TOKEN_LIFETIME)
