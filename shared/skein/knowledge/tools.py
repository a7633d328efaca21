"""The tool `search_knowledge`: passages of the business's texts that match a query."""

from skein.interface.arguments import Query
from skein.interface.tool import tool
from skein.interface.tool_context import ToolContext
from skein.knowledge.search import KnowledgeSearch
from skein.knowledge.sections import AUTHOR, Knowledge, fitting, roles_of
from skein.models.visibility.audience import OPEN, PUBLIC
from skein.prompts import render

MAX_TOKENS = 2_000
LEAST = 0.3  # of the best score; a passage below it is not shown
WEAK = 0.25  # a score below which even the best passage has nothing to do with the query


@tool(effect="read")
def search_knowledge(call: ToolContext, query: Query) -> str:
    """Search what the business has written. Cite a passage by its mark, such as [K7]."""
    run = call.activation.run
    search = call.service(KnowledgeSearch)
    roles = roles_of(call.reading.destination, call.reading.of(Knowledge).roles)
    found = search.tried(run.tenant, run.agent_id, roles, query)
    least = max(found[0].score * LEAST, WEAK) if found else 0.0
    kept = [each for each in found if each.score >= least]
    first = len(call.activation.cited) + 1
    lines, citations = fitting(kept, MAX_TOKENS, search.tokens, first=first)
    if not lines:
        return render("knowledge_missing")
    call.activation.add_held(PUBLIC if roles is None else OPEN, AUTHOR)
    call.activation.cited.extend(citations)
    return "\n".join(lines)
