"""Demo agent and line, created at the first start for the README's first example."""

from skein.bootstrap.api import ApiServices
from skein.errors import NotFound
from skein.models.api.directory import NewAgent, NewLine

TENANT = "demo"
LINE = "+15005550006"
NAME = "Coach"
DESCRIPTION = "Gives advice on fitness"
SYSTEM_PROMPT = (
    "You are Coach, a friendly fitness coach who answers text messages. "
    "Reply in one or two short sentences, and give practical advice."
)


def make_demo(services: ApiServices) -> None:
    """Create the demo tenant's agent and line, unless the line exists (idempotent)."""
    try:
        services.lines.get(TENANT, LINE)
    except NotFound:
        coach = NewAgent(
            name=NAME, system_prompt=SYSTEM_PROMPT, description=DESCRIPTION, listed=True
        )
        agent = services.agents.create(TENANT, coach)
        services.lines.create(TENANT, NewLine(phone=LINE, agent_id=agent.id, settings={}))
