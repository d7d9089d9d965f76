"""Comparing a served page with this code: whatever a host puts into it, or beside it, is told."""

import socket

import pytest

from chalicelib.pages.assets import assets, served_assets, template
from infra.local.walletconnect import PROJECT
from infra.page_hash import compare, main
from tests.support.served_page import FACTS, HTML, METAS, Served, serving

SCRIPT = '<script src="/pages/x.js"></script>'
WHOLE = FACTS.join(template())
BETWEEN = "/: more than the metas and one noscript stands between the marks of the facts"
INSIDE = "/: the noscript holds a script, its own end, or a comment"
OUTSIDE = "/: it differs outside of the facts of the link"


def found(**changes: object) -> list[str]:
    with serving(Served(**changes)) as url:  # type: ignore[arg-type]
        return compare(url)[0]


def test_a_page_as_it_is_differs_in_nothing_and_says_whom_it_asks(capsys: pytest.CaptureFixture[str]) -> None:
    with serving(Served()) as url:
        assert main([url]) == 0
    assert capsys.readouterr().out == (
        f"The page and its {len(served_assets())} files are as this code has them; "
        "it asks 'https://api.example' as client id 'cli_page'\n"
    )


def test_a_page_that_was_opened_with_walletconnect_has_its_scripts_and_names_project_and_relay() -> None:
    relay = '<meta name="walletconnect-relay" content="wss://relay.example">'
    metas = f'{METAS}<meta name="walletconnect" content="{PROJECT}">'
    plain, opened = (FACTS.replace(METAS, each) for each in (metas, metas + relay))
    with serving(Served(facts=plain)) as url:
        assert compare(url) == ([], f"it asks 'https://api.example' as client id 'cli_page' and offers WalletConnect as project {PROJECT}")
        assert compare(f"{url}&connect=walletconnect")[0] == [OUTSIDE]
    whole = opened.join(template(walletconnect=True))
    with serving(Served(altered={"/": (whole, HTML)})) as url:
        found, asks = compare(f"{url}&connect=walletconnect")
        assert (found, asks.partition(PROJECT)[2]) == ([], " by the relay wss://relay.example")


@pytest.mark.parametrize(
    ("facts", "wanted"),
    [
        (SCRIPT + FACTS, BETWEEN),
        (FACTS + SCRIPT, BETWEEN),
        (METAS + SCRIPT + FACTS.removeprefix(METAS), BETWEEN),
        (f"{METAS}<noscript></noscript>{SCRIPT}<noscript></noscript>", INSIDE),
        (f"{METAS}<noscript></NOSCRIPT >{SCRIPT}<noscript></noscript>", INSIDE),
        (f"{METAS}<noscript><!--/facts--></noscript>", INSIDE),
        (f"{METAS}<noscript><SCRIPT>1</SCRIPT></noscript>", INSIDE),
        (METAS, BETWEEN),
        (FACTS.removeprefix(METAS), BETWEEN),
        (FACTS.replace('content="cli_page"', 'content="cli_page" http-equiv="refresh"'), BETWEEN),
        (FACTS.replace(METAS, METAS + '<meta name="walletconnect" content="x">'), BETWEEN),
        (FACTS + "<!--facts-->", BETWEEN),
        ("", BETWEEN),
    ],
)
def test_whatever_else_stands_between_the_marks_is_told(facts: str, wanted: str) -> None:
    assert found(facts=facts) == [wanted]


@pytest.mark.parametrize(
    "text",
    [
        "",
        WHOLE + SCRIPT,
        SCRIPT + WHOLE,
        WHOLE.replace("</head>", f"{SCRIPT}</head>"),
        "\ufeff" + WHOLE,
        template()[0] + template()[1].removeprefix("<!--/facts-->"),
    ],
)
def test_a_page_that_is_altered_elsewhere_is_told(text: str) -> None:
    assert found(altered={"/": (text, HTML)}) == [OUTSIDE]


def test_every_file_that_differs_is_told_in_a_line_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    page, payment, german = (assets()[name] for name in ("page.js", "payment.js", "locales/de.json"))
    altered = {
        f"/pages/{page.path}": (page.text + " ", page.content_type),
        f"/pages/{payment.path}": (payment.text, "text/javascript; charset=utf-7"),
        f"/pages/{german.path}": ("{}", german.content_type),
    }
    with serving(Served(altered=altered)) as url:
        assert main([url]) == 1
    lines = sorted(line.partition(": ")[0] for line in capsys.readouterr().out.splitlines())
    assert lines == sorted(altered)


@pytest.mark.parametrize("kind", ["text/html", "text/html; charset=utf-16", "application/xhtml+xml"])
def test_a_page_of_another_type_is_another_page(kind: str) -> None:
    assert found(altered={"/": (WHOLE, kind)}) == [f"/: sent as {kind!r}, and not as {HTML!r}"]


@pytest.mark.parametrize("header", ["Refresh", "Link", "Content-Encoding"])
def test_a_header_that_leads_to_other_bytes_is_told(header: str) -> None:
    assert found(headers={header: "x"}) == [f"/: sent with a header {header.lower()}"]


@pytest.mark.parametrize("status", [301, 404, 500, 203])
def test_what_is_no_plain_answer_is_told(status: int) -> None:
    lines = found(status=status, headers={"Location": "/elsewhere"})
    assert lines == [f"/: answered with status {status}"]


def test_a_host_that_does_not_answer_is_told() -> None:
    with socket.socket() as silent:  # a port that nobody listens on, and that nobody is given meanwhile
        silent.bind(("127.0.0.1", 0))
        port = silent.getsockname()[1]
        for address in (f"http://127.0.0.1:{port}/?token=x", "file:///etc/passwd", "pay.example"):
            (line,) = compare(address)[0]
            assert ": " in line
            assert main([address]) == 1
