"""Usage of indexing: a provider's embeddings are charged to the people who wrote the messages."""

from skein.models.quotas.usage import user_usage_key
from skein.settings import Settings
from tests.support.builders import TENANT, embeddings
from tests.support.recall import ANN, BEN, COACH, Indexed


def charged(settings: Settings) -> list[int]:
    """The background tokens of two people, each of whom wrote a message."""
    world = Indexed(settings, overrides={"embeddings": embeddings()})
    world.agent()
    world.chat(ANN, BEN, COACH, kind="group", visibility="open")
    world.post("a" * 400, ANN)
    world.post("b" * 800, BEN)
    for _ in range(2):
        world.index()
    keys = [user_usage_key(TENANT, world.clock.now(), each.id) for each in (ANN, BEN)]
    return [int((world.table.get(key) or {}).get("background_tokens", 0)) for key in keys]


def test_embeddings_of_a_provider_are_charged_once_to_the_writers() -> None:
    settings = Settings(embeddings_model="text-embedding-3-small", auto_summary=False)
    assert charged(settings) == [100, 200]


def test_embeddings_inside_the_functions_cost_nothing() -> None:
    assert charged(Settings(auto_summary=False)) == [0, 0]
