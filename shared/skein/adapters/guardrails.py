"""Guardrails of Amazon Bedrock, and of Python packages with the entry point `skein.guardrails`.

An entry point names a module or object with two functions, `check_input` and `check_output`. Each
takes a list of texts, and returns whether they may pass. `docs/how-to.md` has an example.
"""

from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

from skein.errors import KeyRefused, Transient, Unavailable
from skein.models.config.guardrail import PYTHON, Guardrail

if TYPE_CHECKING:
    from skein.adapters.aws.clients import Aws

GROUP = "skein.guardrails"
READ_SECONDS = 10
TRIES = 2
MOST_CHARACTERS = 20_000  # of one request; a guardrail takes 25 units of 1,000 characters
INTERVENED = "GUARDRAIL_INTERVENED"


class OperatorGuardrails:
    """`Guardrails` of Bedrock and of Python packages; a guardrail's id says which of the two.

    Args:
        aws: Returns the factory of AWS clients.
        endpoint_url: The endpoint of Bedrock; None for AWS's own.
    """

    def __init__(self, aws: "Callable[[], Aws]", *, endpoint_url: str | None = None) -> None:
        self._aws = aws
        self._url = endpoint_url
        self._client: Any = None

    def blocks(self, guardrail: Guardrail, texts: Sequence[str], *, output: bool) -> bool:
        if guardrail.id.startswith(PYTHON):
            return not _package(guardrail.id.removeprefix(PYTHON), output=output)(list(texts))
        return any(self._intervenes(guardrail, part, output=output) for part in _parts(texts))

    def _intervenes(self, guardrail: Guardrail, texts: Sequence[str], *, output: bool) -> bool:
        """Return whether Bedrock blocks the texts, or would mask a part of one."""
        from botocore.exceptions import BotoCoreError, ClientError

        from skein.adapters.converse.errors import error_of

        if self._client is None:
            self._client = self._aws().client(
                "bedrock-runtime", read_seconds=READ_SECONDS, tries=TRIES, endpoint_url=self._url
            )
        try:
            answer = self._client.apply_guardrail(
                guardrailIdentifier=guardrail.id,
                guardrailVersion=guardrail.version,
                source="OUTPUT" if output else "INPUT",
                content=[{"text": {"text": text}} for text in texts],
            )
        except (ClientError, BotoCoreError) as error:
            known = error_of(error)
            raise known if isinstance(known, Transient) else Unavailable(str(known)) from error
        return bool(answer["action"] == INTERVENED)


def _package(name: str, *, output: bool) -> Callable[[list[str]], bool]:
    """Return the function with which a package checks the input or the output of a model.

    Raises:
        KeyRefused: No package has this entry point; the operator must install it.
    """
    for found in entry_points(group=GROUP, name=name):
        check: Callable[[list[str]], bool] = getattr(
            found.load(), "check_output" if output else "check_input"
        )
        return check
    raise KeyRefused(f"no package has the guardrail {name!r}")


def _parts(texts: Sequence[str]) -> Iterator[list[str]]:
    """Divide texts among requests that are small enough for Bedrock; a long text is split."""
    part: list[str] = []
    size = 0
    for text in texts:
        for start in range(0, len(text), MOST_CHARACTERS):
            piece = text[start : start + MOST_CHARACTERS]
            if part and size + len(piece) > MOST_CHARACTERS:
                yield part
                part, size = [], 0
            part.append(piece)
            size += len(piece)
    if part:
        yield part
