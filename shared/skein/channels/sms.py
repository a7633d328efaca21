"""SMS by Twilio. Libraries are imported at their first use, because few functions need them."""

from collections.abc import Iterable, Sequence

from skein.channels.port import E164, AddressSpec, Channel, ChannelSettings, Keyword

MAX_QUESTION_SEGMENTS = 10
# Carriers accept at least this size, for the types that Twilio fully supports:
# https://www.twilio.com/docs/messaging/guides/accepted-mime-types.
MMS_BYTES = 600 * 1024
MMS_SEGMENTS = 3  # an MMS costs about as much: https://www.twilio.com/en-us/sms/pricing/us
MMS_COUNTRIES = frozenset({"US", "CA"})
PICTURES = ("image/jpeg", "image/png")
STOPPED = 21610  # the person answered STOP: https://www.twilio.com/docs/api/errors/21610

# Twilio's temporary errors (https://www.twilio.com/docs/api/errors).
TEMPORARY_ERRORS = frozenset(
    {
        20003,  # the credentials are wrong, for example during a rotation
        20429,  # too many requests
        21611,  # too many SMS are queued on this number
        30001,  # the queue is full
        30003,  # the phone is off or unreachable
        30005,  # the phone is unknown or inactive
        30008,  # the carrier gives no reason
        30017,  # the carrier's network is congested
        30022,  # over the carrier's rate
        30410,  # the provider did not answer in time
    }
)


def _e164(number: str) -> str:
    from skein.channels.phone_numbers import e164  # noqa: PLC0415

    return e164(number)


PHONE = AddressSpec(
    name="phone",
    form=E164,
    chat="phone chat",
    normalised=_e164,
)


class TextChannel(Channel):
    """A channel of short texts to phone numbers, whose people opt out by words such as STOP."""

    kind = PHONE
    provider = "twilio"
    opts_out = True
    stop_word = "STOP"
    keeps_quiet_hours = True

    def shown(self, text: str) -> str:
        """Return a text without Markdown."""
        from skein.channels.plain_text import plain_text  # noqa: PLC0415

        return plain_text(text)

    def keyword(
        self,
        body: str,
        *,
        opt_out_type: str | None,
        opted_out: bool,
        addresses: Iterable[str] = (),
        countries: Iterable[str] = (),
    ) -> Keyword | None:
        """See `Channel`; a STOP may be in the languages of the addresses' countries."""
        from skein.channels.keywords import keyword_in  # noqa: PLC0415

        return keyword_in(
            body,
            opt_out_type=opt_out_type,
            opted_out=opted_out,
            numbers=addresses,
            countries=countries,
        )


class SmsChannel(TextChannel):
    """SMS, which carriers bill by segment."""

    name = "sms"
    title = "SMS"
    style = "instructions_sms"
    in_order = False
    unit = "segment"
    media_types = PICTURES
    media_bytes = MMS_BYTES
    media_units = MMS_SEGMENTS
    media_name = "mms"
    states = ("queued", "sent", "delivered")
    opted_out_errors = frozenset({STOPPED})
    temporary_errors = TEMPORARY_ERRORS

    def characters(self, settings: ChannelSettings) -> int:
        return settings.sms_answer_characters

    def parts(self, text: str) -> tuple[str, ...]:
        """See `Channel`; a part has at most 1,599 units."""
        from skein.channels.segments import split_text  # noqa: PLC0415

        return split_text(text)

    def units(self, body: str) -> int:
        """Return the segments that the carrier bills."""
        from skein.channels.segments import segment_count  # noqa: PLC0415

        return segment_count(body)

    def carries(self, media_type: str, size: int, person: str, line: str) -> bool:
        """See `Channel`; MMS works only between numbers of the US and Canada."""
        from skein.channels.phone_numbers import country_of  # noqa: PLC0415

        fits = super().carries(media_type, size, person, line)
        return fits and {country_of(person), country_of(line)} <= MMS_COUNTRIES

    def fitting(self, text: str, ending: str, settings: ChannelSettings) -> int:
        """See `Channel`; an answer has at most `sms_answer_segments`."""
        from skein.channels.segments import fitting_length  # noqa: PLC0415

        return fitting_length(text, settings.sms_answer_segments, ending)

    def objection(self, question: str) -> str | None:
        """See `Channel`; a question has at most 10 segments."""
        segments = sum(map(self.units, self.parts(question)))
        if segments <= MAX_QUESTION_SEGMENTS:
            return None
        return (
            f"the question is too long for SMS ({segments} segments, at most "
            f"{MAX_QUESTION_SEGMENTS}); shorten it"
        )

    def confirms_stop(self, body: str, opt_out_type: str | None) -> bool:
        """Return whether Twilio confirms a STOP itself, and blocks further SMS."""
        from skein.channels.keywords import STOP_WORDS  # noqa: PLC0415

        return bool(opt_out_type) or body.strip().lower() in STOP_WORDS

    def may_answer(self, person: str, line: str, countries: Sequence[str]) -> bool:
        """See `Channel`; by default, a line answers the numbers of its own country."""
        from skein.channels.phone_numbers import country_of, may_answer  # noqa: PLC0415

        return may_answer(person, countries or (country_of(line),))

    def pace(self, line: str, settings: ChannelSettings) -> int:
        """Return the segments per minute, which is higher for toll-free numbers."""
        from skein.channels.phone_numbers import is_toll_free  # noqa: PLC0415

        if is_toll_free(line):
            return settings.toll_free_segments_per_minute
        return settings.long_code_segments_per_minute


SMS = SmsChannel()
