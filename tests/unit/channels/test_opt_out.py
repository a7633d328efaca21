"""Wishes to get no more SMS, in several languages."""

import pytest

from skein.channels.opt_out import mentions_opt_out, wants_no_more

US, GERMANY, FRANCE, SWITZERLAND = "+15005550006", "+4930123456", "+33123456789", "+41441234567"


@pytest.mark.parametrize(
    "text",
    [
        "Stop please",
        "PLEASE STOP!!",
        "stop stop stop",
        "OK, stop now",
        "Stop \N{PERSON WITH FOLDED HANDS}",
        "opt out",
        "Opt-out",
        "I'd like to opt out, thanks",
        "unsubscribe me",
        "no more",
        "no more texts",
        "Don\N{RIGHT SINGLE QUOTATION MARK}t text me anymore",
        "Do not send me any more messages",
        "Can you please stop texting me?",
        "Remove me from your list",
        "Leave me alone",
        "please stop this",
        "Stop this!!",
        "Can you stop all this, please?",
        "Please stop these",
        "make this stop",
        "I don't want these texts any more",
        "I don't want your messages anymore, thanks",
        "I do not want to get these messages any longer",
        "I no longer want to receive texts from you",
        "i dont want any of these msgs",
        "I want these texts to stop",
        "I don't want to be contacted again",
        "stop sending me these",
        "quit texting me",
        "Don't send me anything anymore",
        "ARRET",
        "arr\u00eat",
        "s'il vous pla\u00eet arr\u00eatez les messages",
        "Je veux me d\u00e9sabonner",
        "ALTO",
        "BAJA",
        "No m\u00e1s mensajes por favor",
        "Quiero darme de baja",
        "Ya no quiero estos mensajes",
        "je ne veux plus recevoir vos messages",
    ],
)
def test_message_that_only_asks_to_stop_is_an_opt_out(text: str) -> None:
    assert wants_no_more(text, [US])


@pytest.mark.parametrize(
    "text",
    [
        "stop it",
        "Stop me if I am wrong",
        "please stop by the shop",
        "stop by the shop",
        "please don't stop this",
        "don't stop",
        "never stop these",
        "do not stop texting me",
        "don't unsubscribe me",
        "stop this song",
        "stop this plan please",
        "when does this stop",
        "this bus does not stop",
        "I want this",
        "I don't want this any more",
        "I don't want these shoes any more",
        "I don't want to stop this",
        "I don't want your messages to stop",
        "I don't want to miss these texts",
        "I want these texts",
        "I don't want these texts to be so long",
        "why would anybody not want these texts",
        "don't send me anything sweet",
        "contact me again",
        "no quiero parar",
        "I want to stop smoking",
        "I want to quit",
        "the end",
        "cancel my appointment",
        "no more sugar for me",
        "unsubscribe me from Netflix",
        "remind me to unsubscribe",
        "no",
        "",
        "stop" + " please" * 40,
    ],
)
def test_stop_word_in_a_sentence_is_no_wish_to_stop(text: str) -> None:
    assert not wants_no_more(text, [US])


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("Bitte abmelden", GERMANY),
        ("Keine SMS mehr, danke", GERMANY),
        ("Ich will diese Nachrichten nicht mehr", GERMANY),
        ("H\u00f6rt bitte damit auf", GERMANY),
        ("n\u00e3o quero mais receber essas mensagens", "+5511987654321"),
        ("non voglio pi\u00f9 questi messaggi", SWITZERLAND),
        ("ik wil deze berichten niet meer", "+31612345678"),
        ("Ich m\u00f6chte mich abmelden", SWITZERLAND),
        ("basta messaggi per favore", SWITZERLAND),
        ("plus de sms svp", FRANCE),
        ("n\u00e3o quero mais mensagens", "+5511987654321"),
        ("geen berichten meer aub", "+31612345678"),
    ],
)
def test_wish_is_understood_in_the_languages_of_the_numbers_countries(
    text: str, number: str
) -> None:
    assert wants_no_more(text, [US, number])
    assert not wants_no_more(text, ["+819012345678"])


def test_opt_out_search_takes_no_exponential_time() -> None:
    """An expression that tries all ways to read a text would run into the time limit of tests."""
    for piece in (
        "ok",
        "i dont want texts",
        "abmelden",
        "please stop",
        "unsubscribe me",
        "can you",
        "i dont want any more of these texts any more",
        "stop this",
    ):
        assert not wants_no_more(f"{piece} " * (150 // (len(piece) + 1)) + "x", [US, SWITZERLAND])


@pytest.mark.parametrize("text", ["How can I stop this?", "I do not want more texts about sport"])
def test_sentence_with_a_stop_word_mentions_opting_out(text: str) -> None:
    assert mentions_opt_out(text)
    assert not mentions_opt_out("I stopped at the end of the road")
