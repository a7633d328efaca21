"""Send requests to services with their signed context and their credentials."""

import logging
from collections.abc import Callable
from dataclasses import dataclass

from skein.errors import Ambiguous, Failed, MissingSecret, NotFound
from skein.models.common.http import HttpAnswer, HttpRequest
from skein.own_tools.models.tool import Credentials, OwnTool
from skein.own_tools.signed_context import CallContext, context_headers, hash_of_request, secret_of
from skein.ports import Clock, OutboundHttp, Secrets
from skein.services.config.services_key import services_key
from skein.settings import Settings

SERVER_ERROR = 500

Seen = Callable[[HttpAnswer], None]

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedSender:
    """The service that sends requests for a tool."""

    http: Callable[[], OutboundHttp]
    secrets: Callable[[], Secrets]
    settings: Settings
    clock: Clock

    def send(
        self,
        record: OwnTool,
        request: HttpRequest,
        context: CallContext,
        *,
        seconds: float,
        seen: Seen,
    ) -> HttpAnswer:
        """Send a request with its signed context and the tool's credentials.

        Args:
            seen: Called with the answer, even if the service failed.

        Raises:
            Failed: The request is not allowed, or credentials are missing.
            Unavailable: The service was not reached.
            Ambiguous: The service failed, and may have carried out the request.
        """
        digest = hash_of_request(request.method, request.url, request.body)
        signing = secret_of(record.nonce, key=self._key())
        signed = context_headers(signing, context, digest, self.clock.now())
        secret = self.secret(record.credentials)
        own = {record.credentials.header: secret} if record.credentials and secret else {}
        sent = request.model_copy(update={"headers": {**request.headers, **signed, **own}})
        answer = self.http().send(sent, seconds=seconds)
        seen(answer)
        if answer.status >= SERVER_ERROR:
            raise Ambiguous(f"it answered with the status {answer.status}")
        return answer

    def secret(self, credentials: Credentials | None) -> str | None:
        """Return the header value that a tool's secret contains, or None without credentials.

        Raises:
            Failed: The secret is missing; an operator must add it.
        """
        if credentials is None:
            return None
        try:
            return self.secrets().get(credentials.secret_arn)["value"]
        except (MissingSecret, KeyError) as error:
            why = {"why": str(error)}  # the secret's name, or what the local file lacks
            logger.warning("a tool's secret is missing or has no value", extra=why)
            raise Failed("its credentials are missing; say that the team must repair it") from None

    def _key(self) -> str:
        """Return the key of the secrets that sign contexts.

        Raises:
            Failed: The deployment has no services, or the secret that its settings name does not
                exist.
        """
        try:
            return services_key(self.secrets(), self.settings)
        except (MissingSecret, NotFound) as error:
            logger.warning("the key of services is missing", exc_info=error)
            raise Failed("this deployment cannot call services") from None
