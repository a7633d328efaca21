"""The recorded day: each page of the console has something true to show."""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from local.day.actors import REASON, Actors
from local.day.play import playing
from local.day.story import HOURS, LEO, NORA, Step


class Played(NamedTuple):
    """The day on the stack that played it."""

    actors: Actors
    tour: list[Step]

    def get(self, path: str, **query: str) -> Any:
        return self.actors.operator("GET", path, **query)

    def step(self, start: str) -> Step:
        return next(step for step in self.tour if step.title.startswith(start))

    def run(self, start: str) -> Any:
        return self.get(f"/v1/runs/{self.step(start).subject}", reason=REASON)

    def nora(self) -> str:
        people = self.get("/v1/users")["items"]
        return next(str(person["id"]) for person in people if person["name"] == NORA.name)

    def second_day(self) -> str:
        return self.step("Who accessed").path.removeprefix("audit/")


def words_of(run: Any) -> str:
    return "\n".join(section["text"] for section in run["prompt"]["sections"])


def why_a_memory(day: Played) -> None:
    run = day.run("A memory")
    assert "Nora can come on Wednesdays after 16:00 only." in words_of(run)
    assert [call["name"] for step in run["steps"] for call in step["tool_calls"]] == ["free_times"]
    assert {step["model"] for step in run["steps"]} == {"scripted"}
    assert run["usage"]["input_tokens"] > run["prompt"]["total_tokens"]


def why_a_secret(day: Played) -> None:
    words = words_of(day.run("A secret"))
    assert "why does Nora need a check-up?" in words
    assert HOURS in words
    assert not [word for word in ("heart", "Wednesday", "night") if word in words]


def why_a_plan(day: Played) -> None:
    assert day.run("A plan")["trigger"]["type"] == "plan"


def why_a_silence(day: Played) -> None:
    _, chat, seq = day.step("An SMS that is not").path.split("/")
    found = day.get(f"/v1/chats/{chat}/messages/{seq}/reasons")
    assert [agent["reason"] for agent in found["agents"]] == ["opted_out"]


def phone(day: Played) -> None:
    texts = day.actors.local("GET", "phone", number=LEO.phone)["items"]
    assert "Good morning, Leo! Please bring your old X-rays at 10." in {t["body"] for t in texts}


def desk(day: Played) -> None:
    [waiting] = day.get("/v1/desk")["items"]
    now = datetime.fromisoformat(day.actors.local("GET", "config")["now"])
    assert waiting["state"] == "waiting"
    assert now - datetime.fromisoformat(waiting["since"]) < timedelta(hours=1)


def audit(day: Played) -> None:
    rows = day.get("/v1/audit", day=day.second_day(), limit="100")["items"]
    assert ("desk", REASON) in {(row["kind"], row["reason"]) for row in rows}


def agents(day: Played) -> None:
    [agent] = day.get("/v1/agents")["items"]
    path = f"/v1/agents/{agent['id']}/memories"
    assert day.get(path)["items"] == []
    of_nora = day.get(path, user_id=day.nora(), reason=REASON)["items"]
    assert {memory["kind"] for memory in of_nora} == {"core", "journal"}


def knowledge(day: Played) -> None:
    """Iris cites her hours, and Leo's text has no mark."""
    [source] = day.get("/v1/sources")["items"]
    texts = day.actors.local("GET", "phone", number=LEO.phone)["items"]
    assert "On Fridays, from 8 to 18." in {text["body"] for text in texts}
    people = day.get("/v1/users")["items"]
    leo = next(str(person["id"]) for person in people if person["name"] == LEO.name)
    [chat, *_] = day.actors.person(leo, LEO.name, "GET", "/v1/chats")["items"]
    messages = day.actors.person(leo, LEO.name, "GET", f"/v1/chats/{chat['id']}/messages")
    cited = [each["source_id"] for message in messages["items"] for each in message["sources"]]
    assert cited == [source["id"]]


def people_and_chats(day: Played) -> None:
    people = day.get("/v1/users")["items"]
    assert sorted(person["name"] for person in people) == ["Ada", "Leo", "Nora", "Tom"]
    assert len(day.actors.person(day.nora(), NORA.name, "GET", "/v1/chats")["items"]) == 3
    assert len(day.get("/v1/transcripts")["items"]) == 5


def usage(day: Played) -> None:
    assert day.get("/v1/usage", day=day.second_day())["input_tokens"] > 0


def settings(day: Played) -> None:
    assert day.get("/v1/settings")["desk_late_minutes"] > 15


def home_and_time(day: Played) -> None:
    assert day.get("/v1/lines")["items"]
    assert day.actors.local("GET", "due")["items"]


FACTS: Mapping[str, Callable[[Played], None]] = {
    fact.__name__: fact
    for fact in (
        *(why_a_memory, why_a_secret, why_a_plan, why_a_silence, phone, desk, audit, agents),
        *(knowledge, people_and_chats, usage, settings, home_and_time),
    )
}


def test_each_page_has_a_fact_of_the_recorded_day(tmp_path: Path) -> None:
    wrong = {}
    with playing(tmp_path / "data", timedelta(0)) as (actors, tour):
        for name, fact in FACTS.items():
            try:
                fact(Played(actors, tour))
            except (AssertionError, LookupError) as error:
                wrong[name] = str(error) or repr(error)
    assert wrong == {}
