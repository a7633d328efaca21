"""Content of docs/channels.md: what each channel can do, from the channels themselves."""

from collections.abc import Callable, Mapping
from datetime import timedelta

from skein.channels.port import Channel
from skein.channels.registry import CHANNELS
from skein.models.chats.chat import MAX_TEXT
from skein.settings import Settings
from tools.reference.markdown import table

HEAD = """# Channels

A channel is a way to reach a person: the app, SMS, or WhatsApp. This page is for operators who set
up channels and for developers who add one. Each channel is a module in `shared/skein/channels/`
with data and a few functions (`Channel` in `port.py`). No other code depends on a specific
channel. `make reference` generates the following table from these modules.

"""

KB, MB = 1024, 1024 * 1024
SAMPLE = "word " * 2_000
ENDING = "Reply MORE for the rest."

TEXT = """
## Numbers and lines

A phone number belongs to one person on all of its channels. A line has a list of `channels`, so
one number can serve several. A person and a line have one chat, and the answer is sent on the
channel on which the person wrote last. An opt-out applies to its channel only. Inactivity is also
counted for each channel, because a person who has lost a number may still have its WhatsApp
account ([unproven numbers](security.md#unproven-numbers)). When someone writes on an additional
channel from a number that is in use, Skein assumes that it is the number's person.

## First contact

An agent can only write first to a person who has consented to texts. A consent applies to one
number and one channel. The person gives it in the app (`PUT
/v1/me/phones/{phone}/consents/{channel}`) or by texting START, or an operator records it with a
proof (`PUT /v1/users/{user_id}/phones/…`). It ends with STOP, with an opt-out that the carrier
reports, or when the number gets another owner. The agent needs a line on that channel, and the
person must not have opted out of that line. First contacts respect the person's quiet hours and
two daily limits, `user_first_contacts_per_day` and `line_first_contacts_per_day`. The first text
begins with the setting `introduction`, which says who is asking and how to stop. The person's
answer arrives in their direct chat with the agent.

## Invitations by SMS

A person who has a direct chat by SMS receives [invitations](api.md#invitations) there. If the
person already shares a chat with the inviter, the SMS asks immediately. Otherwise, Skein first
sends an announcement that contains no text chosen by the inviter: "Somebody at Acme with whom you
share no chat invites you to a group. Reply 482113 to see who. STOP ends texts." `Acme` is the
setting `team_name`. When the person replies with that number, a second SMS names the inviter, the
title, and the members, and asks whether to join. Only a Yes to this question adds the person. The
name and the title are shown without links: Skein separates the parts of an address with a space.

An announcement follows the rules of a first contact: the person has consented to texts, it waits
for the end of quiet hours, and it counts towards both daily limits. Each inviter can cause at most
five first texts a day, to strangers and to people they know. Further ones are sent when the limit
allows. If the invitation expires before that, it is shown in the app only. All SMS segments of an
invitation count towards the usage and the limit of the inviter, not of the invited person.

## Outreach

With `POST /v1/outreach`, an agent writes to up to 500 people, once each: in its own words
according to an `instruction`, or with a given `text`. If one of the people has not consented, the
call is rejected with 409, and the error names them. Messages are sent one after another, at half
of the line's rate. They wait while the line has a queue or has used up its segments for the day,
during quiet hours, over a limit, and while the team has taken over the person's chat. `GET
/v1/outreach/{outreach_id}` returns the state and the reason for each person. `PATCH` pauses,
resumes, or cancels. Once a pause or cancellation is confirmed, no message of the outreach is
posted: every transaction that posts one checks that the outreach is active, also in runs that it
has already started. Such a run waits until the outreach is resumed, or is canceled. The agent
still answers replies. It also knows what they are about: for two weeks, the prompts of the
person's direct chat, and no others, contain the section `OUTREACH`.

```sh
api $URL/v1/outreach -d '{"people": ["usr_sarah"], "agent_id": "'$AGENT'", "asked_by": "Alice",
  "instruction": "Ask which evenings suit for the course in May.", "client_id": "course-may"}'
```

Repeating the call with the same `client_id` creates nothing. An outreach expires 90 days after its
time.

## WhatsApp

Twilio sends WhatsApp messages through the same API and webhooks as SMS, with addresses such as
`whatsapp:+15005550006`. Register the number as a WhatsApp sender at Twilio, set its webhook to the
stack's output `SmsWebhookUrl`, and add `whatsapp` to the line's `channels`. Skein asks Twilio
whether the account has such a sender.

- **The 24-hour window.** For 24 hours after a person's last message, any text can be sent. After
  that, WhatsApp only accepts approved templates. A message, such as that of a plan, then uses the
  template named in the plan or the outreach (`template`), or else the first approved template
  without buttons in the tenant's `message_templates`. If there is none, the delivery ends with the
  reason `window_closed`. If Twilio reports error 63016 because it counts the window differently,
  Skein sends the text again with a template a minute later.
- **Templates** are created at Twilio (Content Template Builder) and listed in the setting
  `message_templates` with `content_sid`, the `text` as it is at Twilio, `buttons` and `approved`.
  The variable `{{1}}` is the message on one line. A message that is too long is cut off. If the
  person replies MORE, they get the rest, because the reply opens the window. If a template has no
  `{{1}}`, it contains nothing of the message, and a reply of MORE gets all of it.
- **Quick replies.** A choice of one to three answers, each of at most 20 characters, uses the
  first template with that many `buttons`. Variable 1 is the question. With two buttons, 2 and 3
  are the titles, and 4 and 5 the IDs. With three, these are 2 to 4 and 5 to 7. Create the template
  with the type `twilio/quick-reply`. Within the window, it doesn't need approval. A tap has the
  same effect as [the number of the answer](runs.md#questions-by-sms). Without a template, the
  question shows numbers, as by SMS.
- **Read receipts.** If the person allows receipts, a delivery becomes `read` when they have seen
  it.
- **No duplicates.** As with SMS, Skein [looks up](operations.md#guarantees) a post with an unknown
  outcome by its addresses, body, and time. For a template, the body is computed from its `text`,
  so keep `text` identical to the one at Twilio.
- **STOP** works as by SMS. Twilio only confirms it if Advanced Opt-Out is enabled. Otherwise,
  Skein confirms it.

```sh
api -X PATCH $URL/v1/settings -d '{"message_templates": [
  {"content_sid": "HX00000000000000000000000000000001", "approved": true,
   "text": "A note from Coach: {{1}} Reply to talk."},
  {"content_sid": "HX00000000000000000000000000000002", "text": "{{1}}", "buttons": 2}]}'
```

The local stack accepts any IDs of this form. Its line +15005550006 also supports WhatsApp, with
[`POST /local/sms`](local.md#post-localsms) and the console's phone.

## Pictures and files

People can send up to ten files in an MMS or WhatsApp message.
[Context](context.md#pictures-and-files) describes what models see of them.

With `send_message`, an agent can send `media`: files of the active chat, such as `12.1`, or
documents by name. The message gets copies that keep the authors of the originals, so the erasure
of an author deletes the copies as well. A file can only be sent where its content may be shared.
Unlike for text, a person's approval doesn't change that.

- The first picture is sent together with the text, and each other file separately. A picture that
  is too large for an MMS is resized. An SMS with a file counts as `mms` in usage and `prices`, and
  as three segments in limits.
- A file that the channel doesn't support is sent as a link. The link works for five minutes, as
  long as the person is in the chat and the message exists. Anyone who receives the link from the
  person can open it.
- If a file isn't ready after 20 seconds, the text is sent without it and says so.
- Outside the WhatsApp window, a reply of MORE also gets the files.

## Not supported

Groups by SMS or WhatsApp, RCS, and voice are not supported.

## Add a channel

Copy `tests/support/pager.py` or `whatsapp.py`. A channel such as e-mail, with a provider other than
Twilio and addresses of its own, takes eight files:

1. `shared/skein/channels/<channel>.py`: a subclass of `Channel` with its limits, its kind of
   address, and the name of its `provider`.
2. `shared/skein/channels/registry.py`: the channel in `CHANNELS`, and the provider's class in
   `PROVIDERS`.
3. `prompts/<style>.md`: how the agent is asked to write. A channel can share the `style` of
   another.
4. `shared/skein/adapters/<provider>.py`: a class with the methods of `skein.ports.Sms`, which sends
   and looks up messages.
5. `functions/webhooks/<provider>.py`: the functions of `Provider` in `webhooks/providers.py`, which
   check signatures and parse webhooks.
6. `template.yaml`: the routes `/webhooks/<provider>/sms` of the function `SmsWebhook` and
   `/webhooks/<provider>/status` of `SmsStatus`.
7. `events/sms_webhook_<channel>.json`: a recorded webhook.
8. `tools/reference/channels.py`: a section of this page for operators.

A channel of Twilio needs no adapter, no module for webhooks, and no route. The credentials of a
provider are further fields of the secret in `TwilioSecretArn`, which the functions can already
read. On the local stack, add them to `twilio.json` in the data folder. Files of inbound messages
are only fetched from Twilio, and logs only mask phone numbers.

Write addresses for the tests to `tests/support/ends/<kind>.py`. Then run
`make test ARGS=tests/contract/test_channels.py`. This suite runs for every channel. It fails if a
part is missing, and checks addresses, lines, limits, opt-out, states in any order, repeated
messages, forged webhooks, posts with an unknown outcome, and erased addresses. `test_template.py`
fails if a route is missing. Finally, run `make reference` and `make client-types`.
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
    if not channel.media_types:
        return "a link"
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
