"""The guides as the service serves them: as HTML, as Markdown, and as a list that programs look for."""

import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import pytest

from chalicelib.platform.http.documents import FOLDER, GUIDES
from infra.documents.guides import guides_of
from tests.support.browser import get
from tests.support.client import Api

NOT_SERVED = {"architecture", "capacity", "data", "guarantees", "operations", "recipes"}
"""The documents for those who operate the service or change it."""


class Links(HTMLParser):
    """Collects where the links of a page lead, and the names of its elements."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links, self.names = list[str](), set[str]()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.links += [value for name, value in attrs if name == "href" and value]


def test_every_document_is_a_guide_or_for_operators_and_contributors() -> None:
    assert {each.stem for each in FOLDER.glob("*.md")} == {*GUIDES} | NOT_SERVED


@pytest.mark.parametrize("name", GUIDES)
def test_a_guide_is_served_as_html_and_as_markdown(api: Api, name: str) -> None:
    page, plain = get(api, f"/docs/{name}"), get(api, f"/docs/{name}.md")
    assert (page.status, plain.status) == (200, 200)
    assert (page.headers["content-type"], plain.headers["content-type"]) == (
        "text/html; charset=utf-8", "text/markdown; charset=utf-8",
    )  # fmt: skip
    source = (FOLDER / f"{name}.md").read_text()
    assert plain.body.decode().splitlines()[0] == source.splitlines()[0]
    text = page.body.decode()
    assert f"<h1>{source.splitlines()[0][2:]}</h1>" in text.replace("&quot;", '"')
    assert page.headers["content-security-policy"].startswith("default-src 'none'; style-src 'sha256-")
    assert "script-src 'none'" in page.headers["content-security-policy"]
    assert not Links(text).names & {"script", "img", "iframe", "form", "link"}


def test_each_link_of_a_guide_leads_to_something(api: Api) -> None:
    statuses = dict[str, int]()
    for name in GUIDES:
        markdown = re.findall(r"\]\(([^)]+)\)", get(api, f"/docs/{name}.md").body.decode())
        for link in (*Links(get(api, f"/docs/{name}").body.decode()).links, *markdown):
            url = urlsplit(urljoin(f"http://api.test/docs/{name}", link))
            if url.netloc == "api.test" and url.path not in statuses:
                statuses[url.path] = get(api, url.path).status
    assert {path: status for path, status in statuses.items() if status != 200} == {}
    assert len(statuses) > 2 * len(GUIDES), "guides as HTML and as Markdown"


def test_the_list_names_each_guide_with_its_title_and_what_it_is_about(api: Api) -> None:
    reply = get(api, "/llms.txt")
    assert (reply.status, reply.headers["content-type"]) == (200, "text/plain; charset=utf-8")
    text = reply.body.decode()
    assert text.startswith("# Payment Request Service\n\n> ")
    assert "- [Webhooks](http://api.test/docs/webhooks.md): A webhook is an HTTPS URL that receives events\n" in text
    for link in re.findall(r"\]\(http://api\.test([^)]+)\)", text):
        assert get(api, link).status == 200
    assert len(re.findall(r"^- ", text, re.MULTILINE)) == len(GUIDES) + 3


@pytest.mark.parametrize("name", ["operations", "operations.md", "webhooks.html", "..%2Fopenapi.json", "llms.txt", ".md", "x"])
def test_nothing_else_of_the_folder_is_served(api: Api, name: str) -> None:
    assert get(api, f"/docs/{name}").status == 404


def test_html_in_a_guide_is_text_and_links_to_what_is_not_served_are_words(tmp_path: Path) -> None:
    text = "# A & B\n\nSee <b>[runbook](../infra/runbook.md)</b> and [links.md](links.md).\n\nEnd.\n"
    for name in GUIDES:
        (tmp_path / f"{name}.md").write_text(text)
    made = guides_of("A <Service>", tmp_path)
    assert made["api.md"].splitlines()[2] == "See <b>runbook</b> and [links.md](links.md)."
    assert "See &lt;b&gt;runbook&lt;/b&gt; and <a href=\"links\">A &amp; B</a>." in made["api.html"]
    assert "<title>A &amp; B: A &lt;Service&gt;</title>" in made["api.html"]
