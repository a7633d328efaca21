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
    agents.router.routes,
    audit.router.routes,
    consolidations.router.routes,
    documents.of_agent.routes,
    documents.of_chat.routes,
    goals_and_plans.goals.routes,
    goals_and_plans.plans.routes,
    lines.router.routes,
    memories.router.routes,
    pauses.router.routes,
    privacy.router.routes,
    reasons.router.routes,
    recall.router.routes,
    reflections.router.routes,
    runs.router.routes,
    services.router.routes,
    settings.router.routes,
    skills.router.routes,
    system.router.routes,
    threads.router.routes,
    transcripts.router.routes,
    usage.router.routes,
    users.router.routes,
)


@logged
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Handle one API request."""
    return api.resolve(event, context)
