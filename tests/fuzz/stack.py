"""The whole HTTP API in memory, as a WSGI app: the template's routes, tokens and real handlers."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from wsgiref.types import StartResponse, WSGIEnvironment

from werkzeug.wrappers import Request as HttpRequest
from werkzeug.wrappers import Response as HttpResponse

from local.events import Request, Response
from local.functions import Functions
from local.web.authorizer import Authorizer
from local.web.gateway import Gateway
from local.web.token_signer import TokenSigner
from skein import bootstrap
from tests.fakes.system import FixedClock
from tests.matrix.tenant_data import Neighbours
from tests.support.builders import NOON
from tests.support.template import deployed_template


@dataclass
class Stack:
    """Answers HTTP requests with the functions of the template.

    Attributes:
        world: What the functions work in. A request after one that has written gets a new one,
            unless it is kept.
        keeps: Whether what one request has done is there for the next.
        served: How many requests were answered.
    """

    folder: Path
    keeps: bool = False
    world: Neighbours = field(init=False)
    served: int = 0

    def __post_init__(self) -> None:
        template = deployed_template()
        callers, seconds = template.authorizer
        functions = [each for each in template.functions if each.routes]
        invoker, clock = Functions([*functions, callers]), FixedClock(NOON)
        self._signer = TokenSigner(
            self.folder / "key.pem",
            issuer="https://issuer.example.com",
            audience="skein",
            now=NOON.timestamp,
        )
        self._gateway = Gateway(
            functions,
            functions=invoker,
            authorizer=Authorizer(callers, invoker, clock, cache_seconds=seconds),
            clock=clock,
        )
        self._renew()

    def _renew(self) -> None:
        self.world = Neighbours(overrides={"identity_provider": self._signer})
        self._unchanged = self.world.table.changes

    def token(self, scope: str = "chat admin") -> str:
        """A token of Ann's."""
        ann = self.world.ours.people["ann"].id
        return self._signer.token(sub=ann, tenant=self.world.ours.tenant, scope=scope)

    def answer(self, request: Request) -> Response:
        """What the gateway answers."""
        if not self.keeps and self.world.table.changes != self._unchanged:
            self._renew()
        self.served += 1
        bootstrap.use(self.world.app)
        return self._gateway.answer(request)

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """WSGI."""
        http = HttpRequest(environ)
        path, _, query = str(environ.get("REQUEST_URI") or http.full_path).partition("?")
        answer = self.answer(
            Request(
                method=http.method,
                path=path,
                query=query,
                headers={name.lower(): value for name, value in http.headers.items()},
                body=http.get_data(),
            )
        )
        response = HttpResponse(answer.body, answer.status, list(answer.headers))
        return response(environ, start_response)
