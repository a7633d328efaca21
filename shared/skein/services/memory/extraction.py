"""Asks an agent's own model what of a chunk of conversation is to be remembered."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from skein.errors import ModelRejected, SkeinError, Transient
from skein.models.agent import Agent
from skein.models.chat import Chat
from skein.models.completion import ModelRequest, TokenUsage
from skein.models.memory import Memory
from skein.ports import LanguageModel
from skein.services.memory.extraction_prompt import MOST_ENTRIES, SCHEMA, entries_in, question
from skein.services.memory.store import Entry
from skein.services.quotas.usage import UsageBook
from skein.settings import Settings

MODEL_SECONDS = 240  # the SDK's own retry included


class ExtractionFailed(SkeinError):
    """Nothing came of it: the model failed, or its answer cannot be read.

    Args:
        why: For operators.
        usage: What it cost all the same.
    """

    def __init__(self, why: str, usage: TokenUsage) -> None:
        super().__init__(why)
        self.usage = usage


class TooMuch(ExtractionFailed):
    """More is to be remembered than one transaction holds, or one answer."""


class Extracted(NamedTuple):
    """What is to be remembered, and what the answer cost."""

    entries: list[Entry]
    usage: TokenUsage


@dataclass(frozen=True, slots=True, kw_only=True)
class Extractor:
    """Asks agents' models."""

    model: LanguageModel
    usage: UsageBook
    settings: Settings

    def extract(
        self, agent: Agent, chat: Chat, core: Sequence[Memory], transcript: str
    ) -> Extracted:
        """Ask once; see `extraction_texts.question`.

        Raises:
            ExtractionFailed: The model failed, or its answer cannot be read.
            TooMuch: There are more than 40 entries, or the answer did not come to its end.
        """
        request = ModelRequest(
            model=agent.model or self.settings.default_model,
            messages=question(agent, chat, core, transcript),
            max_output_tokens=self.settings.consolidation_answer_tokens,
            timeout_seconds=MODEL_SECONDS,
            answer_schema=SCHEMA,
        )
        try:
            answer = self.model.complete(request)
        except (Transient, ModelRejected) as error:
            raise ExtractionFailed(str(error), TokenUsage()) from error
        self.usage.add(agent.tenant, answer.usage, spread_by=chat.id, background=True)
        entries = entries_in(answer.text, core)
        if entries is None:
            if answer.usage.output_tokens >= request.max_output_tokens:
                raise TooMuch("the answer has no end", answer.usage)
            raise ExtractionFailed("the answer cannot be read", answer.usage)
        if len(entries) > MOST_ENTRIES:
            raise TooMuch(f"the answer has {len(entries)} entries", answer.usage)
        return Extracted(entries, answer.usage)
