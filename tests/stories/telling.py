"""How a story is played, shortened, and told so that anybody can read it and a test can keep it."""

from collections.abc import Callable, Iterable
from dataclasses import MISSING, fields

from tests.attacks.knowledge import Leak
from tests.attacks.moves import QUIET
from tests.attacks.search import shortened
from tests.attacks.steps import Step, Story, told
from tests.stories.deeds import Fault
from tests.stories.judge import judge
from tests.stories.moves import Move, Place
from tests.stories.town import Town


class Telling:
    """A story that is being played, move by move.

    Attributes:
        story: The steps so far.
        last: The name of the last move.
        before: The name of the one before.
        over: Whether a move has ended the story.
        died: Whether a worker died in it.
    """

    def __init__(self, place: Place) -> None:
        self.place = place
        self.town = Town()
        self.story: list[Step] = []
        self.last: str | None = None
        self.before: str | None = None
        self.over = False
        self.died = False
        self.town.begin(())

    def why_not(self, move: Move) -> str:
        """Why a move is impossible now; '' if it is possible."""
        return move.why_not(self.town, self.place)

    def do(self, move: Move, fault: Fault | None = None) -> None:
        """Play a move, before which a fault may be prepared."""
        deaths = self.town.deaths
        for step in (*((fault,) if fault else ()), move.step(self.place)):
            self.story.append(step)
            self.town.step += 1
            self.town.play_step(step)
        if fault is not None:
            self.town.fault = None
        self.died = self.town.deaths > deaths
        self.before, self.last = self.last, move.name
        self.over = self.over or move.ends


def verdict_of(story: Story) -> Leak | None:
    """Play a story, and return what is wrong with it; None if nothing is."""
    town = Town()
    try:
        town.play(story)
        judge(town)
    except Leak as leak:
        return leak
    return None


def report_of(
    story: Story, leak: Exception, finds: Callable[[Story], Leak | None] = verdict_of
) -> str:
    """The shortest story that goes wrong in the same way, as sentences and as a known story."""
    kind = str(leak).partition(":")[0]

    def same(shorter: Story) -> Leak | None:
        found = finds(shorter)
        return found if found is not None and str(found).startswith(kind) else None

    shortest = shortened(story, same) if same(story) is not None else story
    return f"{same(shortest) or leak}\n{told(shortest)}\n\nas a known story:\n{kept(shortest)}\n"


def kept(story: Iterable[Step]) -> str:
    """A story as the code of a known story."""
    return "(\n" + "".join(f"    {_code(step)},\n" for step in story) + ")"


def _code(step: Step) -> str:
    given = [
        f"{each.name}={value!r}"
        for each in fields(step)
        if (value := getattr(step, each.name)) != each.default
        and not (each.name == "tactic" and value == QUIET)
        and (value or each.default is not MISSING)
    ]
    return f"{type(step).__name__}({', '.join(given)})"
