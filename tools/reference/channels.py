"""Content of docs/channels.md: what each channel can do, from the channels themselves."""

from collections.abc import Callable, Mapping
from datetime import timedelta

from skein.channels.port import Channel
from skein.channels.registry import CHANNELS
from skein.models.chats.chat import MAX_TEXT
from skein.settings import Settings
from tools.reference.markdown import table

HEAD = """# Channels

A channel is a way to reach a person. Each is a module in `shared/skein/channels/` with data and a
few functions (`Channel` in `port.py`); no other code asks which channel it has. `make reference`
writes this table from them.

"""

KB, MB = 1024, 1024 * 1024
SAMPLE = "word " * 2_000
ENDING = "Reply MORE for the rest."

TEXT = """
## Numbers and lines

A phone number is one person on all of its channels. A line has a list of
`channels`, so a number can be a line of several. A person and a line have one chat, and
the answer goes where the person wrote last. An opt-out counts for its channel. Silence is counted
for each channel: somebody who has lost a number may still have its WhatsApp ([unproven
numbers](security.md#unproven-numbers)). Somebody who first writes on a further channel from a
number in use is taken for the number's person.

## First contact

An agent writes first to a person only after their consent to texts. It belongs to the number and a
channel: the person gives it in the app (`PUT /v1/me/phones/{phone}/consents/{channel}`) or by
START, or an operator records it with a proof (`PUT /v1/users/{user_id}/phones/…`). STOP, an opt-out
that the carrier reports, and another owner of the number end it. The agent needs a line
on that channel, on which the person has not opted out. The person's quiet hours and two limits of
the day hold, `user_first_contacts_per_day` and `line_first_contacts_per_day`. The first text begins
with the setting `introduction`, which says who asks and how to stop. The answer comes to the agent
in the person's direct chat.

## Invitations by SMS

A person with a direct chat by SMS is asked there about an [invitation](api.md#invitations). If the
person shares a chat with the inviter, the SMS asks at once. Otherwise Skein first sends an
announcement, which has no word that the inviter chose: "Somebody at Acme with whom you share no
chat invites you to a group. Reply 482113 to see who. STOP ends texts." `Acme` is the setting
`team_name`. Once the person replies with that number, a second SMS names the inviter, the title and
the members, and asks whether to join; only Yes to this question adds the person. Both the name and
the title are shown without links: a space separates the parts of an address.

An announcement is sent under the conditions of a first contact: the person has consented to texts,
it waits for the end of quiet hours, and it counts in both limits of the day. Each inviter causes at
most five first texts a day, to strangers and to people they know; further ones are sent when the
limit allows. If the invitation expires before that, it is in the app only. The segments of every
SMS of an invitation count in the usage and the limit of the inviter, not of the invited person.

## Outreach

`POST /v1/outreach` lets an agent write to up to 500 people, each once: in its own words by an
`instruction`, or a given `text`. The call is refused with 409 if one of them has not consented, and
the error names them. People come one after another, at half of the line's pace, and wait while the
line has a queue or no segments of the day, in quiet hours, over a limit, and while the team holds
their chat. `GET /v1/outreach/{outreach_id}` has the state of each person and the reason; `PATCH`
pauses, resumes or cancels. After the answer to a pause or cancellation, no message of the
outreach is posted: each transaction that posts one checks that the outreach is active, also in the
runs that it started. Such a run waits for the end of the pause, or is canceled. The agent still
answers what a person replies. A person who answers finds the agent informed: for two weeks, the
prompts of their direct chat, and no others, have the section `OUTREACH`.

```sh
api $URL/v1/outreach -d '{"people": ["usr_sarah"], "agent_id": "'$AGENT'", "asked_by": "Alice",
  "instruction": "Ask which evenings suit for the course in May.", "client_id": "course-may"}'
```

The same `client_id` creates nothing again. An outreach expires 90 days after its time.

## WhatsApp

Twilio sends messages of WhatsApp through the same API and webhooks as SMS, with addresses such as
`whatsapp:+15005550006`. Register the number as a WhatsApp sender at Twilio, set its webhook to
the output `SmsWebhookUrl` of the stack, and add `whatsapp` to the line's `channels`. Skein asks
Twilio whether the account has such a sender.

- **The window.** For 24 hours after a person's last message, any text may be sent. Later, WhatsApp
  takes approved templates only. Then a message, such as that of a plan, is sent by the template
  that the plan or the outreach names (`template`), or else by the first one of the tenant's
  `message_templates` that is approved and has no buttons. Without one, the delivery ends with the
  reason `window_closed`. If Twilio reports error 63016, because it counts the window otherwise, the
  text is sent again by a template a minute later.
- **Templates** are made at Twilio (Content Template Builder), and listed in the setting
  `message_templates` with `content_sid`, the `text` as Twilio has it, `buttons` and `approved`.
  The variable `{{1}}` is the message in one line. A message that is too long for it is cut, and a
  reply of MORE gets the rest, since that reply opens the window. A template without `{{1}}` says
  nothing of the message: a reply of MORE gets all of it.
- **Quick replies.** A choice of one to three answers, each of at most 20 characters, is asked by
  the first template with as many `buttons`. Variable 1 is the question. With two buttons, 2 and 3
  are the titles, 4 and 5 the ids; with three, 2 to 4 and 5 to 7. Make it of the type
  `twilio/quick-reply`. Inside the window, it needs no approval. A tap answers like [the number of
  the answer](runs.md#questions-by-sms). Without a template, the question has numbers, as by SMS.
- **Receipts.** A delivery becomes `read` when the person has seen it, if they allow receipts.
- **Once.** A post with an unknown outcome is [looked up](operations.md#guarantees) as an SMS is, by
  its addresses, body and time; of a template, by the body that results from its `text`. So keep
  `text` as it is at Twilio.
- **STOP** works as by SMS. Twilio answers it only with Advanced Opt-Out; otherwise, Skein
  confirms it.

```sh
api -X PATCH $URL/v1/settings -d '{"message_templates": [
  {"content_sid": "HX00000000000000000000000000000001", "approved": true,
   "text": "A note from Coach: {{1}} Reply to talk."},
  {"content_sid": "HX00000000000000000000000000000002", "text": "{{1}}", "buttons": 2}]}'
```

The local stack takes any ids of this form. Its line +15005550006 speaks WhatsApp, too: [`POST
/local/sms`](local.md#post-localsms) and the console's phone.

## Pictures and files

MMS and WhatsApp bring up to ten files. What models see is in
[context](context.md#pictures-and-files).

`send_message` takes `media`: files of the active chat, such as `12.1`, or documents by name. The
message gets copies, with the authors of the originals: an erasure of an author deletes the copies,
too. A file goes only where words may go, and a person's yes, which is for words, never sends one.

- The first picture goes with the text, each other file alone. A picture that is too large for an
  MMS is sent smaller. An SMS with a file counts as `mms` in usage and `prices`, and as three
  segments in limits.
- What a channel does not carry is sent as a link. It works for five minutes, while its person is in
  the chat and the message is there; others to whom the person passes it on can open it, too.
- After 20 seconds, a text goes without a file that is not ready, and says so.
- Outside of WhatsApp's window, a reply of MORE gets the files.

## Not a channel

Groups by SMS or WhatsApp, RCS and voice are not supported.

## Add a channel

Write a module with a subclass of `Channel`, and add it to `CHANNELS` in `registry.py`. If its
texts need other words, add a prompt for its `style`. Add its addresses to `ENDS` in
`tests/contract/test_channels.py`, which runs for every channel: addresses, limits, opt-out,
states in any order, repeated messages, posts with an unknown outcome, and erased addresses. Add a
recorded webhook to `events/`, and run `make reference` and `make client-types`.
`tests/support/pager.py` is a whole channel of the tests. A channel of another provider than
Twilio also needs an adapter and a webhook.
"""


def page() -> str:
    """Return docs/channels.md in Markdown."""
    rows = ((name, *(show(each) for each in CHANNELS.values())) for name, show in ROWS.items())
    titles = (each.title for each in CHANNELS.values())
    return HEAD + table("", *titles, rows=rows) + TEXT


def _hours(window: timedelta | None) -> str:
    return "any time" if window is None else f"{window // timedelta(hours=1)} hours"


def _in_prompt(channel: Channel) -> str:
    return f"{channel.characters(Settings()):,} characters" if channel.style is not None else ""


def _at_once(channel: Channel) -> str:
    fits = channel.fitting(SAMPLE, ENDING, Settings())
    return f"{fits:,} characters, then MORE" if fits < len(SAMPLE) else "everything"


def _size(size: int) -> str:
    return f"{size // MB} MB" if size >= MB else f"{size // KB} KB"


def _files(channel: Channel) -> str:
    if channel.kind is None:
        return "in the app"
    kinds = ", ".join(MEDIA[each] for each in channel.media_types)
    where = (
        ""
        if channel.carries("image/png", 1, "+4915123456789", "+12025550199")
        else " in the US and Canada"
    )
    return f"{kinds} up to {_size(channel.media_bytes)}{where}; else a link"


MEDIA = {"image/jpeg": "JPEG", "image/png": "PNG", "application/pdf": "PDF"}
ROWS: Mapping[str, Callable[[Channel], str]] = {
    "name": lambda each: f"`{each.name}`",
    "address": lambda each: each.kind.name if each.kind is not None else "the person's id",
    "the prompt asks for at most": _in_prompt,
    "sent at once of an answer of short words": _at_once,
    "characters of a message": lambda each: (
        f"{MAX_TEXT:,}" if each.kind is None else f"{len(each.parts(SAMPLE)[0]):,}"
    ),
    "counted and priced by": lambda each: each.unit or "",
    "states after the post": lambda each: ", ".join(each.states),
    "texts after a person's message": lambda each: _hours(each.window),
    "quick replies": lambda each: (
        str(each.buttons)
        if each.buttons
        else "in the app"
        if each.kind is None
        else "numbers instead"
    ),
    "pictures and files of agents": _files,
    "STOP and START": lambda each: "yes" if each.opts_out else "",
    "quiet hours of plans": lambda each: "yes" if each.keeps_quiet_hours else "",
    "countries by default": lambda each: (
        ""
        if each.kind is None
        else "all"
        if each.may_answer("+4915123456789", "+12025550199", ())
        else "the line's"
    ),
}
