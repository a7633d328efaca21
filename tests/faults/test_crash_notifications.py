"""Phones ring for an answer while a function dies at every call."""

from skein.live.devices import Devices
from skein.settings import Settings
from tests.faults.deployment import Deployment, every_death
from tests.faults.sampling import FaultShare
from tests.faults.sweeps import Sweep
from tests.support.builders import LIVE_URL, TENANT, bot, person

DANA, TOM, COACH = person("usr_dana", "Dana"), person("usr_tom", "Tom"), bot()
TEXTS = {"Dana wrote", "Coach answered"}


class Ringing(Deployment):
    """Two people of a group with phones, one more of which is gone, and an agent."""

    def __post_init__(self) -> None:
        self.settings = Settings(live_url=LIVE_URL, fcm_application_arn="fcm")
        super().__post_init__()
        self.agent()
        self.known(DANA, TOM)
        self.chat(DANA, TOM, COACH)
        self.model.default = "Rest on Monday"
        devices = self.app.get(Devices)
        for user_id, token in ((DANA.id, "dana"), (TOM.id, "tom"), (TOM.id, "lost")):
            devices.register(TENANT, user_id, "fcm", token)
        self.push.gone.add("fcm/lost")
        self.attach_feed()

    def check(self) -> None:
        """Each phone shows the answer, under one key; the lost one is removed; nothing is left."""
        assert [message.text for message in self.messages("chat_1")] == ["Hi", "Rest on Monday"]
        assert self.push.texts("fcm/dana")[-1:] == ["Coach answered"]
        assert "Coach answered" in self.push.texts("fcm/tom")
        assert {notification.text for _, notification in self.push.shown} <= TEXTS
        assert len({notification.collapse_key for _, notification in self.push.shown}) == 1
        assert len(self.push.shown) <= 3 * (1 + self.deaths)
        assert set(self.push.known) == {"fcm/dana", "fcm/tom"}
        assert len(self.app.get(Devices).list(TENANT, TOM.id)) == 1
        assert self.at_rest


def play(world: Ringing) -> None:
    world.post("Hi", DANA)
    world.live()


SWEEP = Sweep(Ringing, play=play, check=lambda world: world.check())


def test_phones_without_death_ring_once_for_each_message() -> None:
    world = SWEEP.undisturbed()
    assert "mobile_push.notify" in world.fuse.calls
    assert world.push.texts("fcm/tom") in (["Dana wrote", "Coach answered"], ["Coach answered"])
    assert world.push.texts("fcm/dana") == ["Coach answered"]


def test_phones_ring_after_a_death_at_each_call(share: FaultShare) -> None:
    SWEEP.one_death(share, of=every_death)
