# SPDX-License-Identifier: PostgreSQL
"""What a page gets once it is rendered: a name for each heading, and a table of contents."""

import re
from collections.abc import Iterator
from html import unescape

from markupsafe import Markup

CONTENTS = "<!-- contents -->"
HEADING = re.compile(r"<(?P<tag>h[23])(?: id=\"(?P<id>[^\"]+)\")?>(?P<text>.*?)</(?P=tag)>", re.DOTALL)


def plain(html: str) -> str:
    """The text of a heading."""
    return " ".join(unescape(re.sub(r"<[^>]+>", "", html)).split())


def name_of(text: str, taken: set[str]) -> str:
    """A name for an anchor, that is not taken yet; it is taken now."""
    bare = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:60] or "part"
    name = next(name for name in tries(bare) if name not in taken)
    taken.add(name)
    return name


def tries(bare: str) -> Iterator[str]:
    """The name, then the same with a number."""
    yield bare
    number = 1
    while True:
        number += 1
        yield f"{bare}-{number}"


def with_contents(html: str) -> str:
    """Headings of the second and third rank have names and link to themselves; those of the second are the contents."""
    taken = set(re.findall(r'\bid="([^"]+)"', html))
    listed: list[tuple[str, str]] = []

    def named(match: re.Match[str]) -> str:
        tag, text = match["tag"], match["text"]
        name = match["id"] or name_of(plain(text), taken)
        if tag == "h2":
            listed.append((name, plain(text)))
        link = f'<a class="anchor" href="#{name}" aria-label="link to this part">#</a>'
        return f'<{tag} id="{name}">{text} {link}</{tag}>'

    html = HEADING.sub(named, html)
    links = Markup("").join(Markup('<li><a href="#{}">{}</a></li>').format(*each) for each in listed)
    return html.replace(CONTENTS, f'<nav aria-label="Contents"><ol>{links}</ol></nav>', 1)
