"""The demo's agent and line for the first example of the README, created at the first start."""

from local import tokens
from local.model.small_answer import DEMO_AGENT
from skein.bootstrap.wiring import App
from skein.errors import NotFound
from skein.models.api.directory import NewAgent, NewLine
from skein.models.directory.agent import DEFAULT_TOOLS
from skein.services.directory.agents import Agents
from skein.services.directory.lines import Lines

TENANT = tokens.TENANT
LINE = "+15005550006"
CHANNELS = ("sms", "whatsapp")
NAME = DEMO_AGENT
DESCRIPTION = "Gives advice on fitness"
SYSTEM_PROMPT = (
    "You are Coach, a friendly fitness coach who answers text messages. "
    "Reply in one or two short sentences, and give practical advice."
)


def make_demo(app: App) -> None:
    """Create the demo tenant's agent and line, unless the line exists (idempotent)."""
    lines = app.get(Lines)
    try:
        lines.get(TENANT, LINE)
    except NotFound:
        coach = NewAgent(
            name=NAME,
            system_prompt=SYSTEM_PROMPT,
            description=DESCRIPTION,
            listed=True,
            enabled_tools=(*DEFAULT_TOOLS, "forget"),
        )
        agent = app.get(Agents).create(TENANT, coach)
        lines.create(TENANT, NewLine(phone=LINE, agent_id=agent.id, channels=CHANNELS, settings={}))
