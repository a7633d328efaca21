"""The agent works on the thread that a message is about."""

from collections.abc import Iterator

from bench.eval.situation import (
    Expected,
    Missing,
    Script,
    Situation,
    call,
    calls,
    calls_not,
    none_of,
    one_of,
    says,
    unless,
)
from bench.eval.stage import REASON, Stage

EDDA = "You are Edda, who writes and revises texts with a small team."
TOOLS = (
    "send_message",
    "create_thread",
    "switch_thread",
    "update_thread",
    "end_thread",
    "read_document",
    "write_document",
    "append_document",
    "edit_document",
    "end_run",
)
NEWSLETTER, SURVEY = "November newsletter", "What the survey says about food"
TEXT = "# Newsletter\n\nParty: TBD\n"
ANSWERS = "# Survey\n\n12 people want soup.\n"

HAFEN = Expected(
    (
        one_of("hafen"),
        none_of("tbd"),
    ),
    right=("# Newsletter\n\nParty: at Hafen\n", "Party: Hafen", "The party is at Hafen."),
    wrong=("# Newsletter\n\nParty: TBD\n", "The party is at the harbour.", "Party: TBD. At Hafen?"),
)
FIFTEEN = Expected(
    (
        one_of("15", "fifteen"),
        none_of("12 people"),
    ),
    right=(
        "# Survey\n\n15 people want soup.\n",
        "Fifteen people want soup.",
        "15 want soup (12 before).",
    ),
    wrong=(
        "# Survey\n\n12 people want soup.\n",
        "12 people want soup. 15 people want soup.",
        "3 more people want soup.",
    ),
)
JOB_AD = Expected(
    (one_of("job ad", "job post", "designer", "vacancy"),),
    right=("Job ad for a designer", "Find a designer", "The job posting"),
    wrong=("November newsletter", "What the survey says about food", "New work for later"),
)
PHOTOS = Expected(
    (one_of("photo", "picture", "image"),),
    right=("Tom must send the photos.", "Tom's pictures are missing", "waits for images from Tom"),
    wrong=("", "Later.", "The newsletter has to wait."),
)


def _desk(stage: Stage) -> None:
    """Create an agent with two threads, of which the newsletter is active."""
    edda = stage.agent("Edda", EDDA, enabled_tools=TOOLS)
    stage.person("Lena")
    stage.chat("Desk", "Lena", "Edda", respond="every")
    for name, text in (("november.md", TEXT), ("survey.md", ANSWERS)):
        stage.admin("POST", f"/v1/agents/{edda}/documents", {"name": name, "text": text})
    for concern, document in ((NEWSLETTER, "november.md"), (SURVEY, "survey.md")):
        thread = {"concern": concern, "documents": [document], "kind": "deliverable"}
        path = f"/v1/agents/{edda}/threads"
        stage.ids[concern] = stage.admin("POST", path, thread)["id"]
    place = f"/v1/chats/{stage.ids['Desk']}/agents/{edda}?reason={REASON}"
    stage.admin("PUT", place, {"pinned_thread_id": stage.ids[NEWSLETTER]})


def _document(stage: Stage, name: str) -> str:
    text: str = stage.admin("GET", f"/v1/agents/{stage.ids['Edda']}/documents/{name}")["text"]
    return text


def _threads(stage: Stage) -> list[dict[str, str]]:
    found: list[dict[str, str]] = stage.admin("GET", f"/v1/agents/{stage.ids['Edda']}/threads")[
        "items"
    ]
    return found


def _stays(stage: Stage) -> Iterator[Missing]:
    _desk(stage)
    stage.say("Lena", "Desk", "The party is at Hafen. Put that into the newsletter please.")
    yield HAFEN.missing([_document(stage, "november.md")])
    yield calls_not("switch_thread").missing(stage.played("Edda"))


def _switches(stage: Stage) -> Iterator[Missing]:
    _desk(stage)
    stage.say("Lena", "Desk", "Now to the survey: 3 more people want soup. Correct the number.")
    yield calls("switch_thread").missing(stage.played("Edda"))
    yield FIFTEEN.missing([_document(stage, "survey.md")])
    yield unless(_document(stage, "november.md") == TEXT, "leaves the newsletter")


def _creates(stage: Stage) -> Iterator[Missing]:
    _desk(stage)
    stage.say("Lena", "Desk", "A new piece of work, for later: a job ad for a designer. Note it.")
    yield calls("create_thread").missing(stage.played("Edda"))
    concerns = [thread["concern"] for thread in _threads(stage)]
    yield JOB_AD.missing(concerns)
    yield unless({NEWSLETTER, SURVEY} <= set(concerns), "keeps the others")


def _completes(stage: Stage) -> Iterator[Missing]:
    _desk(stage)
    stage.say("Lena", "Desk", "The newsletter has been sent to everyone. You can close that work.")
    status = {thread["concern"]: thread["status"] for thread in _threads(stage)}
    yield unless(status[NEWSLETTER] == "completed", "completes the newsletter")
    yield calls_not("end_thread", thread_id=stage.ids[SURVEY]).missing(stage.played("Edda"))


def _records_what_blocks(stage: Stage) -> Iterator[Missing]:
    _desk(stage)
    stage.say("Lena", "Desk", "The newsletter has to wait until Tom sends the photos. Record that.")
    yield calls("update_thread").missing(stage.played("Edda"))
    [thread] = [each for each in _threads(stage) if each["concern"] == NEWSLETTER]
    yield PHOTOS.missing([thread["blocking"] or ""])


SITUATIONS = (
    Situation(
        "keeps to the active thread",
        "switches a thread",
        _stays,
        Script(
            {
                "Edda": [
                    (
                        call("edit_document", name="november.md", find="TBD", replace="at Hafen"),
                        *says("Done."),
                    ),
                ]
            }
        ),
        Script({"Edda": [says("Done.")]}),
        calls("edit_document", name="november.md").expect,
    ),
    Situation(
        "switches to the thread that a message is about",
        "switches a thread",
        _switches,
        Script(
            {
                "Edda": [
                    lambda s: call("switch_thread", thread_id=s.ids[SURVEY]),
                    (
                        call(
                            "edit_document", name="survey.md", find="12 people", replace="15 people"
                        ),
                        *says("15 people want soup."),
                    ),
                ]
            }
        ),
        Script({"Edda": [call("append_document", name="november.md", text="15 want soup.")]}),
    ),
    Situation(
        "creates a thread for new work",
        "switches a thread",
        _creates,
        Script(
            {"Edda": [(call("create_thread", concern="Job ad for a designer"), *says("Noted."))]}
        ),
        Script({"Edda": [says("Noted.")]}),
    ),
    Situation(
        "completes the thread that is done",
        "switches a thread",
        _completes,
        Script(
            {
                "Edda": [
                    lambda s: call(
                        "end_thread",
                        thread_id=s.ids[NEWSLETTER],
                        outcome="completed",
                        evidence="Lena sent it to everyone.",
                    ),
                    says("Closed."),
                ]
            }
        ),
        Script(
            {
                "Edda": [
                    lambda s: call(
                        "end_thread",
                        thread_id=s.ids[SURVEY],
                        outcome="completed",
                        evidence="Lena said so.",
                    )
                ]
            }
        ),
    ),
    Situation(
        "records what a thread waits for",
        "switches a thread",
        _records_what_blocks,
        Script({"Edda": [call("update_thread", blocking="Tom must send the photos.")]}),
        Script({"Edda": [says("I will remember that.")]}),
    ),
)
