"""HTML elements as text, with all content escaped."""

import re
from html import escape


class Html(str):
    """Text that is already HTML, which `element` does not escape."""

    __slots__ = ()


Content = Html | str | None

CODE = re.compile(r"`([^`]+)`")


def element(name: str, *content: Content, **attributes: str) -> Html:
    """Build an element. Plain text is escaped, and None is omitted.

    Args:
        name: The name of the element.
        content: Its children.
        attributes: Its attributes. The name `class_` stands for `class`, `aria_label` for
            `aria-label`.
    """
    shown = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(value)}"'
        for key, value in sorted(attributes.items())
    )
    return Html(f"<{name}{shown}>{join(*content)}</{name}>")


def join(*content: Content, by: str = "") -> Html:
    """Join contents. Plain text is escaped, and None is omitted."""
    found = (part for part in content if part is not None)
    return Html(by.join(part if isinstance(part, Html) else escape(part) for part in found))


def inline(text: str) -> Html:
    """Escape a text. Words in backticks become `<code>` elements."""
    parts = CODE.split(text)
    return join(*(element("code", part) if odd % 2 else part for odd, part in enumerate(parts)))


def paragraphs(text: str) -> Html:
    """Escape a text, and make a paragraph of each part between empty lines.

    Words in backticks become `<code>` elements.
    """
    return join(*(element("p", inline(part)) for part in text.split("\n\n") if part.strip()))
