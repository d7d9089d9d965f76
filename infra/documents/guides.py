"""The guides as the service serves them: Markdown, the same as HTML, and a list of all (llmstxt.org)."""

import re
from collections.abc import Mapping
from html import escape
from pathlib import Path

from markdown_it import MarkdownIt

from chalicelib.platform.http.documents import EXAMPLE_URL, GUIDES, INDEX, WORKFLOWS

_STYLE = Path(__file__).with_name("reference.css")
_LINK = re.compile(r"\[([^\]]+)\]\((?!https?:)([^)#]+)(#[^)]*)?\)")
_BEGINNING = re.compile(r"# (?P<title>[^\n]+)\n\n(?P<paragraph>[^#\n].+?(?=\n\n))?", re.DOTALL)
_API = "openapi.json"


def guides_of(service: str, folder: Path) -> Mapping[str, str]:
    """The files of the guides that lie in a folder, by their names; `service` is what the service calls itself."""
    texts = {name: _with_served_links((folder / f"{name}.md").read_text(encoding="utf-8")) for name in GUIDES}
    titles = {name: _beginning_of(text)[0] for name, text in texts.items()}
    pages = {f"{name}.html": _page(service, name, text, titles) for name, text in texts.items()}
    return {INDEX: _index(service, texts), **{f"{name}.md": text for name, text in texts.items()}, **pages}


def _with_served_links(text: str) -> str:
    """The text without links to files that are not served, such as those for operators: of these the words stay."""

    def word_or_link(link: re.Match[str]) -> str:
        words, target = link[1], link[2]
        if target == _API:
            return f"[{words}](../{target})"
        return link[0] if target.removesuffix(".md") in GUIDES else words

    return _LINK.sub(word_or_link, text)


def _beginning_of(text: str) -> tuple[str, str]:
    """The title of a guide, and the first sentence of the paragraph below it in plain words; empty without one."""
    found = _BEGINNING.match(text)
    assert found is not None, "a guide begins with its title"
    paragraph = _LINK.sub(r"\1", " ".join((found["paragraph"] or "").split()))
    return found["title"], re.split(r"(?<=[.:])\s", paragraph)[0].rstrip(":.")


def _index(service: str, texts: Mapping[str, str]) -> str:
    guides = ""
    for name, text in texts.items():
        title, summary = _beginning_of(text)
        guides += f"- [{title}]({EXAMPLE_URL}/docs/{name}.md){summary and f': {summary}'}\n"
    return (
        f"# {service}\n\n> Payment links and requests in tokens on EVM networks and Tron, and what became of them.\n\n"
        f"## Guides\n\n{guides}\n## Reference\n\n"
        f"- [OpenAPI 3.1]({EXAMPLE_URL}/openapi.json): every operation and every event\n"
        f"- [OpenAPI 3.0]({EXAMPLE_URL}/openapi-3.0.json): the same for generators that do not read 3.1\n"
        f"- [Workflows]({EXAMPLE_URL}/{WORKFLOWS}): the main flows of an integration, step by step (Arazzo)\n"
    )


def _page(service: str, name: str, text: str, titles: Mapping[str, str]) -> str:
    """A guide as HTML. Links to other guides lead to their pages, by their titles; there is no HTML in Markdown."""
    titled = re.sub(r"\[([a-z-]+)\.md\]", lambda link: f"[{titles.get(link[1], link[1])}]", text)
    linked = re.sub(r"\]\(([a-z-]+)\.md(#[^)]*)?\)", r"](\1\2)", titled)
    body = MarkdownIt("commonmark", {"html": False}).enable("table").render(linked)
    style, title = _STYLE.read_text(encoding="utf-8"), escape(titles[name])
    listed = "".join(
        f"<li><a href=\"{each}\"{' aria-current=page' if each == name else ''}>{escape(known)}</a></li>"
        for each, known in titles.items()
    )
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}: {escape(service)}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{style}</style></head><body>'
        f'<header><p><a href="../docs">Reference of the API</a>, <a href="#contents">all guides</a>, '
        f'<a href="{name}.md">this page as Markdown</a></p></header><main>{body}</main>'
        f'<nav id="contents" aria-label="Guides"><h2>Guides</h2><ul>{listed}</ul></nav></body></html>'
    )
