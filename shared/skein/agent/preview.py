"""Preview an agent's prompt without calling the model."""

from collections.abc import Iterable
from dataclasses import dataclass

from skein.agent.reading.loader import ContextLoader
from skein.agent.sections.builder import PromptBuilder
from skein.agent.tools import TOOLS, offered
from skein.errors import NotFound
from skein.models.runs.completion import ToolSpec
from skein.models.runs.run import Run, run_id_in
from skein.models.runs.step import PromptRecord, ToolTokens
from skein.models.runs.trigger import Trigger
from skein.models.visibility.audience import OPEN
from skein.own_tools.items import callable_tool
from skein.own_tools.models.tool import OwnTool
from skein.ports import Clock, Table
from skein.services.chat_state.snapshot import chat_of_agent
from skein.services.visibility.audience import audience_of

PREVIEW = "PREVIEW"  # replaces the ULID in the run's id


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """Service that builds prompts without sending or storing them."""

    table: Table
    clock: Clock
    context_loader: ContextLoader
    prompt_builder: PromptBuilder

    def show(self, tenant: str, agent_id: str, chat_id: str | None = None) -> PromptRecord:
        """Build the prompt that a manual trigger of the agent would produce now.

        Args:
            chat_id: One of the agent's chats; None for a run without a chat.

        Raises:
            NotFound: The agent or the chat does not exist, or the agent is not a member of the
                chat.
        """
        chat, member = (
            chat_of_agent(self.table, tenant, agent_id, chat_id) if chat_id else (None, None)
        )
        run = Run(
            tenant=tenant,
            id=run_id_in(chat_id or agent_id, PREVIEW),
            agent_id=agent_id,
            chat_id=chat_id,
            trigger=Trigger(type="manual"),
            audience=audience_of(chat, since_seq=chat.last_seq + 1) if chat else OPEN,
            created_at=self.clock.now(),
        )
        try:
            reading = self.context_loader.whole(run, chat, member)
        except NotFound:
            raise NotFound("agent not found") from None
        tools = [tool.spec for tool in offered(reading)]
        record = self.prompt_builder.build(run, reading, tools).readable()
        return record.model_copy(update={"tools": self._sizes(tools)})

    def tool_tokens(self, own: Iterable[OwnTool]) -> tuple[ToolTokens, ...]:
        """Return how many tokens each tool adds to a request; the built-in tools come first.

        Args:
            own: The tenant's own tools. For an MCP server, only its approved tools are counted.
        """
        named = (one for tool in own for one in (tool.of_server() if tool.mcp else (tool,)))
        callable_ones = filter(None, map(callable_tool, named))
        return self._sizes(
            [*(tool.spec for tool in TOOLS.values()), *(tool.spec for tool in callable_ones)]
        )

    def _sizes(self, tools: Iterable[ToolSpec]) -> tuple[ToolTokens, ...]:
        counter = self.prompt_builder.tokens
        return tuple(ToolTokens(name=each.name, tokens=counter.count(each.text)) for each in tools)
