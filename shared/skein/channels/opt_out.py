"""Requests to stop SMS, in the languages of the line's and the person's countries.

A request is the whole message: a word such as STOP or words such as "no more texts", possibly with
polite words around it. A word within a sentence is not a request: "Stop me if I am wrong" is for
the agent.
The FCC requires that any reasonable means is honoured:
https://www.ecfr.gov/current/title-47/section-64.1200.
"""

import re
import unicodedata
from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

import phonenumbers

MAX_WISH = 160  # characters; a longer message says more than a request to stop


class _Language(NamedTuple):
    """How people ask to stop in one language, in lower case, without accents and punctuation.

    The parts are alternatives, separated by `|`.

    Attributes:
        words: Words that are a request only alone or with polite words around them.
        phrases: Patterns of clear words, which can follow an opening.
        openings: Words such as "I want to".
        politeness: Words that may surround a request.
    """

    words: str
    phrases: str
    openings: str
    politeness: str


_TEXTS = "(?:texts?|text messages?|messages?|msgs?|sms)"
_THESE = "(?: all)?(?: of)?(?: this| the| these| those| your)?"
_MORE = "(?: any)?(?: more)?(?: of)?(?: the| these| those| your)?"
_ANY_MORE = "(?: from you)?(?: any ?more| any longer| ever again| again)?"
_MENSAJES = "(?:mensajes?|textos?|sms)"
_MESSAGES = "(?:messages?|textos?|sms)"
_NACHRICHTEN = "(?:nachrichten?|texte|sms)"
_MESSAGGI = "(?:messaggi|sms)"
_MENSAGENS = "(?:mensagens|mensagem|sms)"
_BERICHTEN = "(?:berichten|berichtjes|sms|smsjes)"

_ENGLISH = _Language(
    words="stop|stopall|stop all|unsubscribe|cancel|end|quit|revoke|optout|no more",
    phrases=rf"opt(?: me)? out(?: of (?:all |these |your )?{_TEXTS})?"
    rf"|unsubscribe(?: me)?(?: from (?:all|this|these|your|the)(?: {_TEXTS}| lists?)?)?"
    rf"|(?:stop|no more|end|cancel){_THESE} {_TEXTS}|want{_THESE} {_TEXTS} to stop"
    r"|(?:stop|no more of)(?: all)? (?:this|these|those)|make (?:this|these|them|it) stop"
    rf"|(?:stop|quit) (?:texting|messaging|contacting|spamming)(?: me)?{_ANY_MORE}"
    rf"|(?:stop|quit) sending(?: me)?(?: this| these| those| anything|{_MORE} {_TEXTS}){_ANY_MORE}"
    rf"|(?:do not|don ?t|never) (?:text|message|contact)(?: me)?{_ANY_MORE}"
    rf"|(?:do not|don ?t|never) send(?: me)?(?: anything|{_MORE} {_TEXTS}){_ANY_MORE}"
    rf"|(?:do not|don ?t|no longer) want(?: to (?:get|receive))?{_MORE} {_TEXTS}{_ANY_MORE}"
    rf"|(?:do not|don ?t|no longer) want to be (?:texted|messaged|contacted){_ANY_MORE}"
    r"|(?:remove me|take me off)(?: from)?(?: this| the| your| all)?(?: lists?)?"
    r"|(?:remove|delete) my (?:phone )?number|leave me alone",
    openings="i want to|i want you to|i would like to|i d like to|id like to|i wish to|can you"
    "|could you|will you|would you|you can|let me|i",
    politeness="please|pls|plz|kindly|thanks|thank you|thx|sorry|hi|hello|hey|ok|okay|now"
    "|immediately",
)
_SPANISH = _Language(
    words="alto|baja|parar|pare|detener|cancelar|basta|no mas",
    phrases=rf"(?:dar|dame|denme|deme|darme|darse) de baja|no mas {_MENSAJES}"
    rf"|no (?:me )?(?:envies|envie|envien|mandes|mande|manden) mas(?: {_MENSAJES})?"
    rf"|no me (?:escribas|escriba|escriban) mas"
    rf"|(?:ya )?no quiero(?: recibir)?(?: mas)?(?: estos| esos| sus| tus)? {_MENSAJES}"
    rf"|(?:deja|deje|dejen) de (?:escribirme|enviarme {_MENSAJES}|mandarme {_MENSAJES})",
    openings="quiero|quisiera|me gustaria|deseo|puedes|puede|pueden",
    politeness="por favor|porfavor|porfa|gracias|muchas gracias|hola|ya|ahora",
)
_FRENCH = _Language(
    words="arret|arreter|arretez|desabonner|desabonnement|desinscrire|desinscription",
    phrases=r"(?:me |de me )?(?:desabonner|desinscrire)"
    rf"|(?:desabonnez|desabonne|desinscrivez|desinscris) moi|plus de {_MESSAGES}"
    rf"|(?:arret|arreter|arretez|arrete)(?: de)?(?: les| vos| ces)? {_MESSAGES}"
    rf"|(?:arretez|arrete) de m (?:envoyer (?:des|vos) {_MESSAGES}|ecrire)"
    rf"|ne m (?:envoyez|envoie) plus(?: rien| de {_MESSAGES})?|ne m (?:ecrivez|ecris) plus"
    rf"|je ne veux plus(?: recevoir)?(?: de)?(?: ces| vos| tes)? {_MESSAGES}"
    r"|(?:arretez|arrete) (?:ca|cela|tout ca)",
    openings="je veux|je voudrais|je souhaite|veuillez|merci de",
    politeness="s il vous plait|s il te plait|svp|stp|merci|merci beaucoup|bonjour|salut"
    "|maintenant",
)
_GERMAN = _Language(
    words="stopp|abmelden|abmeldung|abbestellen|austragen|aufhoren|aufhoeren|schluss",
    phrases=rf"(?:mich )?(?:abmelden|austragen)|(?:melde|melden sie) mich(?: bitte)? ab"
    rf"|(?:trag|trage|tragen sie) mich(?: bitte)? aus|keine {_NACHRICHTEN} mehr"
    rf"|keine weiteren {_NACHRICHTEN}|{_NACHRICHTEN} (?:abbestellen|stoppen)"
    rf"|(?:schreib|schreibe|schreiben sie) mir(?: bitte)? nicht mehr|nicht mehr schreiben"
    rf"|(?:ich )?(?:will|mochte|moechte) keine {_NACHRICHTEN} mehr"
    rf"|(?:ich )?(?:will|mochte|moechte) (?:diese|eure|deine|ihre) {_NACHRICHTEN} nicht mehr"
    r"|(?:hort|hor|horen sie)(?: bitte)? (?:damit auf|auf damit)",
    openings="ich will|ich mochte|ich moechte",
    politeness="bitte|danke|vielen dank|hallo|jetzt|sofort",
)
_ITALIAN = _Language(
    words="basta|disiscrivimi|disiscrizione|cancellami|fermare",
    phrases=rf"(?:basta|niente|niente piu|stop) {_MESSAGGI}|disiscrivermi|cancellarmi"
    r"|non (?:scrivermi|scrivetemi) piu"
    rf"|non (?:mandarmi|inviarmi|mandatemi|inviatemi) piu {_MESSAGGI}"
    rf"|non voglio(?: piu)?(?: ricevere)?(?: questi| i vostri| i tuoi)? {_MESSAGGI}"
    r"|(?:smettila|smettete) di scrivermi",
    openings="voglio|vorrei|puoi|potete",
    politeness="per favore|per piacere|grazie|ciao|ora|adesso|subito",
)
_PORTUGUESE = _Language(
    words="parar|pare|sair|cancelar|descadastrar",
    phrases=rf"(?:chega de|sem mais) {_MENSAGENS}"
    rf"|nao quero(?: mais)?(?: receber)?(?: mais)?(?: estas| essas| suas)? {_MENSAGENS}"
    rf"|nao (?:me )?(?:envie|mande|enviem|mandem) mais(?: {_MENSAGENS})?"
    rf"|(?:pare|parem) de (?:me )?(?:enviar|mandar) {_MENSAGENS}|cancelar (?:inscricao|subscricao)"
    "|me (?:descadastrar|descadastre|remova)",
    openings="quero|queria|gostaria de|pode|podem",
    politeness="por favor|obrigado|obrigada|ola|oi|agora",
)
_DUTCH = _Language(
    words="stoppen|afmelden|afmelding|uitschrijven",
    phrases=rf"geen {_BERICHTEN} meer|(?:schrijf|meld) me(?: aub)? (?:uit|af)"
    rf"|(?:me|mij) (?:afmelden|uitschrijven)|ik wil geen {_BERICHTEN} meer|niet meer sturen"
    rf"|ik wil (?:deze|die|jullie) {_BERICHTEN} niet meer",
    openings="ik wil|ik wil graag|ik zou graag",
    politeness="alstublieft|alsjeblieft|aub|a u b|graag|bedankt|dank u|dank je|hallo|nu",
)
_BY_LANGUAGE = {
    _SPANISH: (1, 34, 51, 52, 53, 54, 56, 57, 58, 502, 503, 504, 505, 506, 507, 591, 593, 595, 598),
    _FRENCH: (1, 32, 33, 41, 221, 225, 237, 261, 262, 352, 377, 508, 590, 594, 596, 687, 689),
    _GERMAN: (32, 41, 43, 49, 352, 423),
    _ITALIAN: (39, 41, 378),
    _PORTUGUESE: (55, 238, 244, 258, 351),
    _DUTCH: (31, 32, 597),
}  # languages by the calling codes of their countries; English is understood everywhere
_HINTS = re.compile(
    r"\b(?:stop|unsubscribe|optout|opt(?: me)? out|arreter|arretez|desabonner|desinscrire"
    r"|de baja|abmelden|abbestellen|disiscrivimi|descadastrar|afmelden|uitschrijven"
    rf"|(?:no more|don ?t want|do not want|no longer want){_MORE} {_TEXTS})\b"
)


def wants_no_more(text: str, numbers: Iterable[str], countries: Iterable[str] = ()) -> bool:
    """Return whether a text is nothing but a request to stop SMS.

    Args:
        text: The text of an SMS.
        numbers: The phone numbers of the line and the person. The request may be in a language of
            the countries of these numbers.
        countries: The ISO codes of more countries whose languages are recognised: those that the
            line answers.
    """
    words = _plain(text)
    if len(words) > MAX_WISH:
        return False
    codes = frozenset(_calling_code(number) for number in numbers)
    codes |= {phonenumbers.country_code_for_region(country) for country in countries}
    return _wish(codes).fullmatch(words) is not None


def wants_no_more_anywhere(text: str) -> bool:
    """Return whether a text is nothing but a request to stop SMS, in any of the languages."""
    codes = frozenset(code for ours in _BY_LANGUAGE.values() for code in ours)
    return _wish(codes).fullmatch(_plain(text)) is not None


def mentions_opt_out(text: str) -> bool:
    """Return whether a text contains words that ask to stop SMS, in any language."""
    return _HINTS.search(_plain(text)) is not None


@cache
def _wish(codes: frozenset[int]) -> re.Pattern[str]:
    """Return the pattern of a request in the languages of countries with these calling codes."""
    spoken = [_ENGLISH, *(each for each, ours in _BY_LANGUAGE.items() if codes & set(ours))]
    words = _either(each.words for each in spoken)
    openings = _either(each.openings for each in spoken)
    polite = _either(each.politeness for each in spoken)
    phrases = "|".join(each.phrases for each in spoken)
    wish = rf"(?:(?:{words})|(?:(?:{openings}|{polite}) ){{0,3}}(?:{phrases}))"
    # Bounded, so that no text can make the pattern search for a long time.
    return re.compile(rf"(?:(?:{polite}) ){{0,3}}{wish}(?: (?:{wish}|{polite})){{0,4}}")


def _either(parts: Iterable[str]) -> str:
    """Join alternatives, each once, because repeated ones would slow a search down."""
    return "|".join(dict.fromkeys("|".join(parts).split("|")))


def _plain(text: str) -> str:
    """Return the words of a text in lower case, without accents and punctuation."""
    letters = unicodedata.normalize("NFKD", text.casefold())
    kept = "".join(char for char in letters if not unicodedata.combining(char))
    return " ".join(re.findall(r"[^\W_]+", kept))


def _calling_code(number: str) -> int | None:
    try:
        return phonenumbers.parse(number).country_code
    except phonenumbers.NumberParseException:
        return None
