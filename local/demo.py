"""What the first start makes, so that the README's first curl gets an answer."""

from skein.bootstrap import App
from skein.errors import NotFound
from skein.models.api.directory import NewAgent, NewLine

TENANT = "demo"
LINE = "+15005550006"
NAME = "Coach"
SYSTEM_PROMPT = (
    "You are Coach, a friendly fitness coach who answers text messages. "
    "Reply in one or two short sentences, and give practical advice."
)


def make_demo(app: App) -> None:
    """Make the tenant's agent and its line, unless the line is there."""
    try:
        app.lines.get(TENANT, LINE)
    except NotFound:
        agent = app.agents.create(TENANT, NewAgent(name=NAME, system_prompt=SYSTEM_PROMPT))
        app.lines.create(TENANT, NewLine(phone=LINE, agent_id=agent.id, settings={}))
