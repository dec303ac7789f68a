# SPDX-License-Identifier: PostgreSQL
"""Pages in a real browser: what is wrong with one, as sentences. Chromium is the system's; playwright drives it.

Nothing is fetched: a page, its pictures and its links are files.
"""

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

SCHEMES = ("light", "dark")
WIDE, NARROW = 1280, 360
LEAST_CONTRAST = 4.5
"""WCAG 2, level AA, for text of any size."""
QUIET = ("--no-sandbox", "--disable-background-networking", "--disable-component-update", "--disable-sync",
         "--no-first-run")  # fmt: skip
"""As root there is no sandbox; and nothing is sent anywhere."""


def chromium() -> str | None:
    """The system's browser."""
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@contextmanager
def browser() -> Iterator[Any]:
    """One that has started."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playing:
        started = playing.chromium.launch(executable_path=chromium(), args=list(QUIET))
        try:
            yield started
        finally:
            started.close()


TEXTS = Path(__file__).with_suffix(".js").read_text()
LINKS = "() => [...document.querySelectorAll('a[href]')].map(a => a.getAttribute('href'))"
NAMES = "() => [...document.querySelectorAll('[id]:not(svg *)')].map(e => e.id)"
PICTURES = "() => [...document.images].filter(i => !i.complete || !i.naturalWidth).map(i => i.getAttribute('src'))"
OPEN_ALL = "() => document.querySelectorAll('details').forEach(d => { d.open = true; })"
WIDER = """
() => {
  const wide = document.documentElement.scrollWidth, room = document.documentElement.clientWidth;
  if (wide <= room) return null;
  const all = [...document.body.querySelectorAll('*')].filter(e => e.getBoundingClientRect().right > room + 1 &&
    !e.closest('.scroll, .plot, pre, .xids dd'));
  return `${wide} of ${room}: ${all.slice(0, 3).map(e => e.tagName + '.' + e.className).join(', ')}`;
}
"""


def wrong(started: Any, page: Path) -> list[str]:
    """What is wrong with a page: in both colour schemes, wide and narrow, with all that can be opened open."""
    found = []
    for scheme in SCHEMES:
        tab = started.new_page(viewport={"width": WIDE, "height": 1000}, color_scheme=scheme)
        said: list[str] = []
        tab.on("console", lambda line, said=said: said.append(line.text) if line.type in ("error", "warning") else None)
        tab.on("pageerror", lambda error, said=said: said.append(str(error)))
        tab.on("requestfailed", lambda asked, said=said: said.append(f"not loaded: {asked.url}"))
        tab.on("request", lambda asked, said=said: said.append(f"fetched: {asked.url}") if is_far(asked.url) else None)
        tab.goto(page.resolve().as_uri())
        tab.evaluate(OPEN_ALL)
        if scheme == SCHEMES[0]:
            found += unresolved(page, tab.evaluate(LINKS), tab.evaluate(NAMES))
            found += [f"picture {source} is not there" for source in tab.evaluate(PICTURES)]
        found += [f"{scheme}: {line}" for line in said]
        found += faint(scheme, tab.evaluate(TEXTS))
        tab.set_viewport_size({"width": NARROW, "height": 800})
        if wider := tab.evaluate(WIDER):
            found.append(f"{scheme}: a window of {NARROW} pixels is too narrow: {wider}")
        tab.close()
    return found


def is_far(url: str) -> bool:
    """Whether it is neither a file nor in the page itself."""
    return urlsplit(url).scheme not in ("file", "data", "blob")


def faint(scheme: str, texts: Sequence[dict[str, Any]]) -> list[str]:
    """Texts that can hardly be read."""
    if not texts:
        return [f"{scheme}: no text is seen"]
    return sorted({
        f"{scheme}: {one['text']!r} has a contrast of {one['contrast']:.1f}"
        for one in texts if one["contrast"] < LEAST_CONTRAST - 0.01
    })  # fmt: skip


def unresolved(page: Path, links: Sequence[str], names: Sequence[str]) -> list[str]:
    """Links to files and to places of the page that are not there, and names that two places have."""
    found = [f"two places are called {name}" for name in sorted({name for name in names if names.count(name) > 1})]
    for link in dict.fromkeys(links):
        parts = urlsplit(link)
        if parts.scheme:
            continue
        if parts.path and not (page.parent / unquote(parts.path)).is_file():
            found.append(f"link to {link}: there is no such file")
        if not parts.path and unquote(parts.fragment) not in names:
            found.append(f"link to {link}: there is no such place")
    return found
