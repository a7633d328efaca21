"""How hypothesis generates the stories of the searches."""

from hypothesis import HealthCheck, Phase, settings

SEARCH = settings(
    database=None,
    deadline=None,
    phases=[Phase.generate],  # the search shortens a story with a leak by itself
    suppress_health_check=list(HealthCheck),
)
