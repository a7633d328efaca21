"""The app: messages by the API and the live channel, which need no delivery."""

from skein.channels.port import Channel


class AppChannel(Channel):
    """The app of a deployment, where people are identified by ids and have no address."""

    name = "app"
    title = "app"


APP = AppChannel()
