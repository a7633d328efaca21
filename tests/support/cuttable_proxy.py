"""A TCP proxy whose connections a test cuts, as when a device is offline."""

import socket
import threading
from urllib.parse import urlsplit

CHUNK = 65_536


class CuttableProxy:
    """Forwards connections to a server, unless it is cut.

    Args:
        url: The URL of the server.
    """

    def __init__(self, url: str) -> None:
        address = urlsplit(url)
        self._target = (address.hostname or "", address.port or 0)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._open: list[socket.socket] = []
        self._online = True
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """Close all connections, and each new one at once."""
        self._online = False
        for each in self._open:
            each.close()
        self._open.clear()

    def mend(self) -> None:
        """Forward new connections again."""
        self._online = True

    def stop(self) -> None:
        """Close everything."""
        self.cut()
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            if not self._online:
                near.close()
                continue
            far = socket.create_connection(self._target)
            self._open += [near, far]
            for pair in ((near, far), (far, near)):
                threading.Thread(target=self._pump, args=pair, daemon=True).start()

    @staticmethod
    def _pump(source: socket.socket, sink: socket.socket) -> None:
        try:
            while data := source.recv(CHUNK):
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            return  # the connection was cut
