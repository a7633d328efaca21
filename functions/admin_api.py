"""Handler of the operators' HTTP API (scope `admin`)."""

from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from routes.agents import agents, lines, services, skills
from routes.app import Api
from routes.chats import transcripts
from routes.memory import consolidations, memories, recall, reflections
from routes.operations import audit, pauses, reasons, runs, settings, system, usage
from routes.people import privacy, users
from routes.workspace import documents, goals_and_plans, threads
from skein.logs import logged

api = Api(scope="admin").including(
    agents.router,
    audit.router,
    consolidations.router,
    documents.router,
    goals_and_plans.router,
    lines.router,
    memories.router,
    pauses.router,
    privacy.router,
    reasons.router,
    recall.router,
    reflections.router,
    runs.router,
    services.router,
    settings.router,
    skills.router,
    system.router,
    threads.router,
    transcripts.router,
    usage.router,
    users.router,
)


@logged
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Handle one API request."""
    return api.resolve(event, context)
