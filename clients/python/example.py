"""Chat in a terminal, also offline: TOKEN=... python example.py URL CHAT_ID [OUTBOX_FILE]."""

import os
import sys
import threading

from skein_client import Client, Connected, Draft, FileStorage, Live, Lost, Message, Outbox


def post_lines() -> None:
    """Post each line of standard input."""
    for line in sys.stdin:
        outbox.add(chat_id, line.strip())


url, chat_id, file = [*sys.argv[1:], "outbox.json"][:3]
client = Client(url, os.environ["TOKEN"])
outbox = Outbox(client, FileStorage(file))
outbox.start()
threading.Thread(target=post_lines, daemon=True).start()
for event in Live(client).events():
    match event:
        case Message(message):
            print(f"{message['sender']['name']}: {message['text']}", flush=True)
        case Draft(_, agent, text):
            print(f"{agent['name']} writes: {text}", file=sys.stderr, flush=True)
        case Connected():
            outbox.wake()
            print("connected", file=sys.stderr, flush=True)
        case Lost(error):
            print(f"lost: {error!r}", file=sys.stderr, flush=True)
