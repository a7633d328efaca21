"""The app: messages by the API and the live channel, which need no delivery."""

from skein.channels.port import Channel


class AppChannel(Channel):
    """The app of a deployment, whose people have ids and no address."""

    name = "app"
    title = "app"


APP = AppChannel()
