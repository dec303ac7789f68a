# SPDX-License-Identifier: PostgreSQL
"""What a page gets once it is rendered: a name for each heading, a table of contents, and its figures as files.

A figure is an <svg> within <figure>. It is written as figures/NAME.svg beside the page; what a plot shows, which
bench/plots.py puts into <metadata class="csv">, as figures/NAME.csv. The page has links to both, and can be read
without them.
"""

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path

from markupsafe import Markup

FOLDER = "figures"
CONTENTS = "<!-- contents -->"
HEADING = re.compile(r"<(?P<tag>h[23])(?: id=\"(?P<id>[^\"]+)\")?>(?P<text>.*?)</(?P=tag)>", re.DOTALL)
CSV = re.compile(r"\s*<metadata class=\"csv\">(.*?)</metadata>", re.DOTALL)
FIGURE = re.compile(r"<figure\b.*?</figure>", re.DOTALL)
SVG = re.compile(r"<svg\b.*</svg>", re.DOTALL)


def plain(html: str) -> str:
    """The text of a heading."""
    return " ".join(unescape(re.sub(r"<[^>]+>", "", html)).split())


def name_of(text: str, taken: set[str]) -> str:
    """A name for an anchor or a file, that is not taken yet; it is taken now."""
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


def with_files(html: str, folder: Path) -> str:
    """Each figure is also a file in `folder`/figures, and so is what a plot shows. Files of before are removed."""
    files = folder / FOLDER
    files.mkdir(parents=True, exist_ok=True)
    for old in [*files.glob("*.svg"), *files.glob("*.csv")]:
        old.unlink()
    taken: set[str] = set()

    def kept(match: re.Match[str]) -> str:
        figure = match[0]
        if not (drawn := SVG.search(figure)):
            return figure
        shown = CSV.search(figure)
        title = re.search(r'aria-label="([^"]+)"|font: (?:bold|700)[^>]*>([^<]+)<', drawn[0])
        name = name_of(plain(next(filter(None, title.groups()))) if title else heading_before(html, match), taken)
        (files / f"{name}.svg").write_text(alone(CSV.sub("", drawn[0])))
        links = f'<a href="{FOLDER}/{name}.svg">SVG</a>'
        if shown:
            (files / f"{name}.csv").write_text(unescape(shown[1]))
            links += f' <a href="{FOLDER}/{name}.csv">CSV</a>'
        figure = CSV.sub("", figure).removesuffix("</figure>")
        return f'{figure}<p class="take">{links}</p></figure>'

    return FIGURE.sub(kept, html)


def heading_before(html: str, match: re.Match[str]) -> str:
    """The text of the last heading before a place of the page."""
    texts = (heading["text"] for heading in HEADING.finditer(html, 0, match.start()))
    found = [plain(text.partition(' <a class="anchor"')[0]) for text in texts]
    return found[-1] if found else "figure"


def alone(svg: str) -> str:
    """A figure as a file of its own, which says in which language it is."""
    has_space = re.match(r"<svg\b[^>]*\sxmlns=", svg)
    return (svg if has_space else svg.replace("<svg", '<svg xmlns="http://www.w3.org/2000/svg"', 1)) + "\n"
