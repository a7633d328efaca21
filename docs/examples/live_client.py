"""Print all new messages once, and drafts: TOKEN=... python live_client.py URL_OF_THE_API."""
import http.client, json, os, random, sys, time
from urllib import error, request
from websockets import WebSocketException
from websockets.sync.client import connect

URL, HEADERS = sys.argv[1], {"Authorization": f"Bearer {os.environ['TOKEN']}"}
PING_SECONDS, LONGEST_PAUSE = 120.0, 60.0

def call(method, path):
    sent = request.Request(URL + path, headers=HEADERS, method=method)
    return json.load(request.urlopen(sent, timeout=30))

def items(path, cursor=""):
    while cursor is not None:
        page = call("GET", f"{path}limit=100{cursor and '&cursor=' + cursor}")
        yield from page["items"]
        cursor = page["next_cursor"]

def show(chat, pushed=None):
    after = seen.get(chat, 0)
    complete = pushed is not None and pushed["seq"] <= after + 1  # else some are missing
    for message in [pushed] if complete else items(f"/v1/chats/{chat}/messages?after={after}&"):
        if message["seq"] > after:
            seen[chat] = after = message["seq"]
            print(f"{chat} {message['sender']['name']}: {message['text']}", flush=True)

def draft(drafts, chat, agent, n=0, text=""):  # the words of an agent's answer; n = 0: void
    words, last = drafts.get((chat, agent["id"]), ("", 0)) if n > 1 else ("", n - 1)
    if n == last + 1:  # else a frame is missing, or came twice
        drafts[chat, agent["id"]] = words + text, n
        print(f"{chat} {agent['name']} writes: {words}{text}", file=sys.stderr, flush=True)

def listen(drafts):
    live = call("POST", "/v1/live")
    with connect(f"{live['url']}?ticket={live['ticket']}", ping_interval=None) as socket:
        for chat in items("/v1/chats?"):
            show(chat["id"])
        while True:
            try:
                got = json.loads(socket.recv(timeout=PING_SECONDS))
            except TimeoutError:  # without an answer to the ping, the connection is lost
                socket.send('{"type": "ping"}')
                got = json.loads(socket.recv(timeout=PING_SECONDS))
            if got["type"] in ("message", "resync"):
                show(got["chat_id"], got.get("message"))
            elif got.get("status", got["type"]) in ("delta", "retract", "done", "failed"):
                draft(drafts, got["chat_id"], got["agent"], got.get("n", 0), got.get("text", ""))

seen, pause = None, 0.5  # seen: by chat, the highest seq that was printed or is older
while began := time.monotonic():
    try:
        seen = {new["id"]: new["last_seq"] for new in items("/v1/chats?")} if seen is None else seen
        listen({})
    except (OSError, http.client.HTTPException, WebSocketException) as lost:
        if isinstance(lost, error.HTTPError) and lost.code in (401, 403):
            sys.exit(f"The token has expired or is not valid ({lost}). Get a new one.")
        print(f"The connection was lost: {lost!r}", file=sys.stderr, flush=True)
    pause = 1.0 if time.monotonic() - began > LONGEST_PAUSE else min(2 * pause, LONGEST_PAUSE)
    time.sleep(pause * random.uniform(0.5, 1.0))  # not all clients at once
