"""The payment page as it is served: to everybody, the same bytes but for the facts of the link, and nothing of others."""

import hashlib
import io
import json
import re
from base64 import b64encode
from typing import Any
from urllib.parse import quote

import pytest
import segno

from chalicelib.chains.calldata.clear_signing.descriptors import descriptors
from chalicelib.chains.calldata.payment_uris import MAX_LENGTH
from chalicelib.chains.catalogue.escrows import read_escrows
from chalicelib.pages.api import draw_qr_code
from chalicelib.pages.assets import assets, locales, served_assets
from chalicelib.platform.access.modes import Mode
from infra.local.walletconnect import PROJECT
from infra.page_hash import compare, hashes
from tests.fakes.payouts import store_payouts
from tests.fakes.world import FEE_ADDRESS, PAYEE
from tests.support.api import Clock, Configured
from tests.support.browser import BY_PAGE, PAGE_CLIENT_ID, facts, get, words
from tests.support.client import Api, Reply, Shop, item
from tests.support.items import payout
from tests.support.running import ESCROW, running
from tests.support.stored_links import complete, expire, pass_expiry, pay_part
from tests.support.tenants import Tenant

TRON_PAYEE = "TLa2f6VPqDgRE67v1736s7bJ8Ray5wYjU7"
_SEPOLIA = read_escrows(json.loads(ESCROW["ESCROW_CONTRACTS"]))["sepolia"]
ESCROWS = f"sepolia {_SEPOLIA.escrow} {_SEPOLIA.pre_approval}"
SCRIPT = "<script>alert(1)</script>"
SCRIPT_PATH = assets()["page.js"].path


def page_of(api: Api, token: str, **headers: str) -> str:
    return facts(get(api, f"/?token={quote(token)}", headers))


# --- the page ---


def test_a_link_of_test_mode_has_its_facts_and_code_as_a_live_one(api: Api) -> None:
    tenant = Tenant()
    made = api.request("POST", "/v2/secure-payments", {"requests": [item()]}, tenant.by_test_key())
    token = made.json["token"]
    assert "12.5" in page_of(api, token)
    assert get(api, f"/pages/qr.svg?token={token}&step=page").status == 200
    elsewhere = token.replace(tenant.account_id, Tenant().account_id)
    assert "12.5" not in page_of(api, elsewhere)
    assert get(api, f"/pages/qr.svg?token={elsewhere}&step=page").status == 404


def test_the_page_is_html_that_no_one_else_may_fill_frame_or_read(api: Api) -> None:
    reply = get(api, "/?token=x")
    assert reply.status == 200
    assert reply.headers["content-type"] == "text/html; charset=utf-8"
    policy = dict(part.strip().split(" ", 1) for part in reply.headers["content-security-policy"].split(";"))
    (style,) = re.findall("<style>(.*)</style>", reply.body.decode(), re.DOTALL)
    assert policy.pop("style-src") == f"'sha384-{b64encode(hashlib.sha384(style.encode()).digest()).decode()}'"
    allowed = policy.pop("script-src").split()
    (listed,) = re.findall('<script type="importmap">([^<]*)</script>', reply.body.decode())
    hashes = {each.integrity for name, each in assets().items() if name.endswith(".js")}
    hashes.add(f"sha384-{b64encode(hashlib.sha384(listed.encode()).digest()).decode()}")
    assert allowed[0] == "'self'" and {*allowed[1:]} == {f"'{each}'" for each in hashes}
    assert policy == {
        "default-src": "'none'",
        "img-src": "'self' data:",
        "connect-src": "'self' http://api.test https://api.trongrid.io",
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": "'self' https://app.safe.global",
        "require-trusted-types-for": "'script'",
        "trusted-types": "'none'",
    }
    assert reply.headers["x-content-type-options"] == "nosniff"
    assert reply.headers["referrer-policy"] == "no-referrer"
    assert reply.headers["cross-origin-opener-policy"] == "same-origin-allow-popups"
    assert "permissions-policy" in reply.headers
    assert reply.headers["cache-control"] == "no-store"
    assert "access-control-allow-origin" not in reply.headers


def hosts_of(reply: Reply) -> list[str]:
    policy = dict(part.strip().split(" ", 1) for part in reply.headers["content-security-policy"].split(";"))
    assert policy["default-src"] == "'none'" and "frame-src" not in policy
    return policy["connect-src"].split()


def test_a_relay_may_be_asked_by_the_page_that_was_opened_with_walletconnect_alone(
    api: Api, shop: Shop, configured: Configured
) -> None:
    """And only if the operator has a project. Besides it, the public nodes of the link's network."""
    plain, opened = (f"/?token={shop.link()}{more}" for more in ("", "&connect=walletconnect"))
    usual = ["'self'", "http://api.test", "https://api.trongrid.io"]
    for path in (plain, opened):
        reply = get(api, path)
        assert hosts_of(reply) == usual and "walletconnect" not in reply.body.decode()
    with configured(WALLETCONNECT_PROJECT_ID=PROJECT):
        reply = get(api, plain)
        assert hosts_of(reply) == usual and "walletconnect-relay" not in reply.body.decode()
        reply = get(api, opened)
        assert hosts_of(reply) == [*usual, "wss://relay.walletconnect.org", "https://ethereum-sepolia-rpc.publicnode.com"]
        assert f'<meta name="walletconnect" content="{PROJECT}"><meta name="walletconnect-relay" content="wss://' in reply.body.decode()
        for path in ("/?token=x&connect=walletconnect", "/?connect=walletconnect"):
            assert hosts_of(get(api, path)) == [*usual, "wss://relay.walletconnect.org"]
        for other in ("WalletConnect", "x", "walletconnect%20", ""):
            assert hosts_of(get(api, f"{plain}&connect={other}")) == usual


@pytest.mark.parametrize(
    ("entry", "named"),
    [
        (f"sepolia={PAYEE}, base = {FEE_ADDRESS},optimism", f"sepolia {PAYEE},base {FEE_ADDRESS}"),
        ('sepolia=0x12,base="><script>,optimism', None),
        ("sepolia", None),
    ],
)
def test_a_page_names_the_accounts_of_gasless_payments_and_nothing_that_is_no_address(
    api: Api, entry: str, named: str | None
) -> None:
    get(api, "/")
    secrets: Any = running().secrets
    secrets.gasless_networks = entry
    try:
        assert re.findall('<meta name="gasless" content="([^"]*)">', get(api, "/?token=x").body.decode()) == ([named] if named else [])
        found, asks = compare(f"http://127.0.0.1:{api.port}/?token=x")
        assert (found, f" and has gasless payments signed to {named}" in asks) == ([], named is not None)
    finally:
        del secrets.gasless_networks


def test_what_is_served_by_https_is_asked_for_by_nothing_else(api: Api, configured: Configured) -> None:
    assert "strict-transport-security" not in get(api, "/").headers
    with configured(PAY_URL="https://pay.test"):
        assert get(api, "/").headers["strict-transport-security"] == "max-age=63072000"


def test_it_has_no_script_or_handler_of_its_own(api: Api) -> None:
    html = get(api, "/?token=x").body.decode()
    html, maps = re.subn('<script type="importmap">[^<]*</script>', "", html)
    assert maps == 1 and not re.search(r"<script(?![^>]*\bsrc=)|\sstyle=|\son\w+=|javascript:", html)
    assert "{{" not in html


@pytest.mark.parametrize("token", ["", "x", "01M7VR2YNJE8VY59CWNJJJKZPH", "0" * 70, SCRIPT, "é\u0000\ud7ff", '"><img src=x>'])
def test_it_is_there_whatever_the_token_and_repeats_it_nowhere(api: Api, token: str) -> None:
    reply = get(api, f"/?token={quote(token)}")
    assert reply.status == 200
    assert "This payment does not exist" in words(facts(reply))
    assert len(token) < 5 or token not in reply.body.decode()


def test_a_token_given_twice_or_not_at_all_is_a_page_too(api: Api) -> None:
    assert get(api, "/").status == get(api, "/?token=a&token=b").status == get(api, "/?x=%ff").status == 200


def test_only_the_facts_differ_from_link_to_link(api: Api, shop: Shop) -> None:
    pages = [get(api, f"/?token={token}").body.decode() for token in (shop.link(), shop.link(item(amount="7")), "x")]
    emptied = {re.sub(r"(<!--facts-->).*(<!--/facts-->)", r"\1\2", page) for page in pages}
    assert len(emptied) == 1 and len({*pages}) == 3
    (same,) = emptied
    assert hashlib.sha256(same.encode()).hexdigest() == hashes()["/"]


def test_what_is_served_is_what_this_code_has_by_its_own_comparison(api: Api, shop: Shop) -> None:
    for token in (shop.link(reference=f"{SCRIPT}<!--/facts--></noscript>"), "x", ""):
        found, asks = compare(f"http://127.0.0.1:{api.port}/?token={token}")
        assert (found, asks) == ([], f"it asks 'http://api.test' as client id '{PAGE_CLIENT_ID}' and has the escrows {ESCROWS} besides")


def test_other_hosts_of_the_service_know_no_page(api: Api) -> None:
    for host in ("api.test", "auth.test", "API.test"):
        reply = get(api, "/?token=x", {"Host": host})
        assert (reply.status, reply.json["message"]) == (404, "Cannot GET /")
    assert get(api, "/?token=x", {"Host": "pay.test"}).status == 200


def test_one_host_for_everything_has_it(api: Api, configured: Configured) -> None:
    with configured(API_URL="http://pay.test", AUTH_URL="http://pay.test"):
        assert get(api, "/?token=x", {"Host": "pay.test"}).status == 200


@pytest.mark.parametrize("path", ["/?token=x", f"/pages/{SCRIPT_PATH}", f"/pages/{assets()['locales/en.json'].path}"])
def test_its_head_can_be_asked_for_and_nothing_be_done_to_it(api: Api, path: str) -> None:
    head, whole = get(api, path, method="HEAD"), get(api, path)
    assert (head.status, head.body, head.headers["content-type"]) == (200, b"", whole.headers["content-type"])
    for method in ("POST", "PUT", "DELETE"):
        assert get(api, path, method=method).status == 405


# --- what is said without a script ---


def test_a_link_is_told_without_a_script(api: Api, shop: Shop) -> None:
    token = shop.link(reference="INV-7", feePercentage="1", feeAddress=FEE_ADDRESS)
    html = page_of(api, token)
    text = words(html)
    for each in ("You pay 12.625 fUSDC", f"To {PAYEE}", "Fee 0.125 fUSDC", "Network Sepolia", "Reference INV-7", "UTC"):
        assert each in text
    assert f'<meta name="api-url" content="http://api.test"><meta name="client-id" content="{PAGE_CLIENT_ID}">' in html
    assert re.findall(r"step=(\w+)", html) == ["page", "0", "1"]
    assert 'alt="' in html


def test_what_is_left_of_a_part_payment_is_what_is_to_pay(api: Api, shop: Shop) -> None:
    token = shop.link()
    pay_part(token, 2_500_000)
    assert "You pay 10 fUSDC" in words(page_of(api, token))


def test_markup_in_a_reference_stays_text(api: Api, shop: Shop) -> None:
    token = shop.link(reference=f'{SCRIPT}"><img onerror=x>\u202e<!--/facts-->')
    html = page_of(api, token)
    assert SCRIPT not in html and "<img onerror" not in html and "\u202e" not in html
    assert SCRIPT in words(html.replace("&lt;", "‹")).replace("‹", "<")


def test_every_payee_of_a_batch_is_told_and_a_long_list_cut(api: Api, shop: Shop) -> None:
    payees = [f"0x{0xA11CE0000 + number:040x}" for number in range(30)]
    text = words(page_of(api, shop.link(*(item(payee=payee, amount="1") for payee in payees))))
    assert "You pay 30 fUSDC" in text
    assert text.count("1 fUSDC") == 20 and "+ 10" in text


def test_a_multicall_is_told_by_its_children(api: Api, shop: Shop) -> None:
    tokens = [made.link.token for made in store_payouts(running(), shop.account_id, 3, created_with=Mode.CLIENT_ID)]
    parent = shop.send("POST", "/v2/secure-payments/multicall-payouts", {"childTokens": tokens}).json["token"]
    html = page_of(api, parent)
    assert "You pay" in words(html) and re.findall(r"step=(\w+)", html) == ["page"]


def test_a_payout_is_told_too(api: Api, shop: Shop) -> None:
    made = shop.send("POST", "/v2/secure-payments/payouts", payout()).json
    assert "You pay" in words(page_of(api, made["token"]))


def test_a_link_that_cannot_be_paid_says_so_and_offers_no_code(api: Api, shop: Shop) -> None:
    done, late, waiting, cancelled = shop.link(), shop.link(), shop.link(), shop.link()
    assert shop.api.request("POST", f"/v2/secure-payments/{cancelled}/cancel", None, shop.by_key).status == 200
    complete(done)
    expire(late)
    pass_expiry(waiting)
    titles = {done: "Already paid", late: "This link has expired", waiting: "are still being looked for"}
    titles[cancelled] = "This payment was cancelled"
    for token, title in titles.items():
        html = page_of(api, token)
        assert title in words(html)
        assert "qr.svg" not in html


def test_it_speaks_the_language_that_is_asked_for_if_it_can(api: Api) -> None:
    missing = {language: json.loads(assets()[f"locales/{language}.json"].text)["missing.title"] for language in locales()}
    for language, title in missing.items():
        html = facts(get(api, "/?token=x", {"Accept-Language": f"xx, {language}-XX;q=0.9, en;q=0.8"}))
        assert f'lang="{language}" dir="{"rtl" if language == "ar" else "ltr"}"' in html
        assert title in words(html)


@pytest.mark.parametrize("asked", ["", "*", "xx", ";;q=,", "de;q=0, en", "en;q=nan", "a" * 5000, "en;q=1e999", "kok-IN, arn"])
def test_it_speaks_english_otherwise(api: Api, asked: str) -> None:
    assert 'lang="en"' in facts(get(api, "/?token=x", {"Accept-Language": asked}))


# --- QR codes ---


def drawing(text: str) -> str:
    out = io.BytesIO()
    segno.make(text, error="m" if len(text) < 400 else "l", micro=False, boost_error=False).save(
        out, kind="svg", xmldecl=False, border=4, dark="#000", light="#fff", omitsize=True
    )
    return out.getvalue().decode()


def code(api: Api, token: str, step: str) -> str:
    reply = get(api, f"/pages/qr.svg?token={token}&step={step}")
    assert reply.status == 200, reply.body
    assert reply.headers["content-type"] == "image/svg+xml"
    assert reply.headers["content-security-policy"].startswith("default-src 'none'")
    return reply.body.decode()


def test_the_codes_of_a_link_are_its_page_and_its_transactions(api: Api, shop: Shop) -> None:
    token = shop.link()
    transactions = shop.get(f"/v2/secure-payments/{token}/pay").json["transactions"]
    assert code(api, token, "page") == drawing(f"http://pay.test/?token={token}")
    explained = shop.get(f"/v2/secure-payments/{token}/pay").json["metadata"]["explanation"]
    for position, (sent, explanation) in enumerate(zip(transactions, explained, strict=True)):
        pairs = "&".join(f"{each['type']}={each['value']}" for each in explanation["arguments"])
        assert code(api, token, str(position)) == drawing(f"ethereum:{sent['to']}@11155111/{explanation['function']}?{pairs}")
    assert get(api, f"/pages/qr.svg?token={token}&step=2").status == 404


def test_a_code_is_small_and_does_nothing(api: Api, shop: Shop) -> None:
    svg = code(api, shop.link(), "1")
    assert len(svg) < 20_000
    assert not re.search(r"script|on\w+=|href|style", svg)


def test_a_batch_has_no_code_of_its_payment(api: Api, shop: Shop) -> None:
    token = shop.link(item(), item(amount="7"))
    assert "path" in code(api, token, "page") and "path" in code(api, token, "0")
    reply = get(api, f"/pages/qr.svg?token={token}&step=1")
    assert (reply.status, "wallet in the browser" in reply.json["message"]) == (404, True)


def test_a_multicall_on_tron_that_is_too_long_for_a_code_has_none(api: Api, shop: Shop) -> None:
    fields = {"currency": "USDT-tron", "payee": TRON_PAYEE, "creator_wallet": TRON_PAYEE}
    tokens = [made.link.token for made in store_payouts(running(), shop.account_id, 60, created_with=Mode.CLIENT_ID, **fields)]
    parent = shop.send("POST", "/v2/secure-payments/multicall-payouts", {"childTokens": tokens}).json["token"]
    assert code(api, parent, "0").startswith("<svg")
    reply = get(api, f"/pages/qr.svg?token={parent}&step=1")
    assert (reply.status, "cannot be written as a QR code" in reply.json["message"]) == (404, True)


def test_the_longest_uri_fits_a_code() -> None:
    assert draw_qr_code("t" * MAX_LENGTH).startswith("<svg")


def test_a_link_that_cannot_be_paid_has_no_codes(api: Api, shop: Shop) -> None:
    done, late = shop.link(), shop.link()
    complete(done)
    expire(late)
    for step in ("page", "0"):
        for token, status in ((done, 409), (late, 403), ("x", 404)):
            assert get(api, f"/pages/qr.svg?token={token}&step={step}").status == status


@pytest.mark.parametrize("step", ["", "-1", "1.0", "1000", "pages", "%D9%A1", SCRIPT])
def test_a_step_that_is_none_is_refused(api: Api, shop: Shop, step: str) -> None:
    assert get(api, f"/pages/qr.svg?token={shop.link()}&step={quote(step, safe='%')}").status == 400


# --- other sites ---


@pytest.mark.parametrize("dest", ["document", "iframe"])
def test_another_site_may_open_the_page_and_no_part_of_it(api: Api, shop: Shop, dest: str) -> None:
    token, sent = shop.link(), {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Dest": dest}
    assert "12.5 fUSDC" in words(page_of(api, token, **sent))
    assert get(api, f"/pages/qr.svg?token={token}&step=page", sent).status == 403
    for site in ("same-origin", "none"):
        sent = {"Sec-Fetch-Site": site, "Sec-Fetch-Dest": "image"}
        assert get(api, f"/pages/qr.svg?token={token}&step=page", sent).status == 200


# --- limits: they shut this address out, so they come last ---


@pytest.mark.parametrize("path", ["/?token={}", "/pages/qr.svg?token={}&step=page"])
def test_who_guesses_tokens_is_stopped_where_they_do(api: Api, new_shop: Shop, clock: Clock, path: str) -> None:
    token = new_shop.link()
    for number in range(31):
        reply = get(api, path.format(f"guess{number}"))
        clock.advance(1)
    is_page = path.startswith("/?")
    assert (reply.status, get(api, path.format(token)).status) == ((200, 200) if is_page else (429, 429))
    assert ("12.5 fUSDC" in words(page_of(api, token))) != is_page
    assert get(api, f"/pages/qr.svg?token={token}&step=page").status == (200 if is_page else 429)
    assert get(api, f"/pages/{SCRIPT_PATH}").status == 200
    assert api.get(f"/v2/secure-payments/{token}", BY_PAGE).status == 200
    clock.advance(300)
    assert "12.5 fUSDC" in page_of(api, token)
    assert get(api, f"/pages/qr.svg?token={token}&step=page").status == 200


def test_who_guesses_tokens_by_the_pages_calls_is_stopped_there(api: Api, new_shop: Shop, clock: Clock) -> None:
    url = f"/v2/secure-payments/{new_shop.link()}"
    for number in range(31):
        api.get(f"/v2/secure-payments/guess{number}", BY_PAGE)
        clock.advance(1)
    assert api.get(url, BY_PAGE).status == 429
    clock.advance(300)
    assert api.get(url, BY_PAGE).status == 200


def test_one_who_is_limited_is_not_told_that_the_link_does_not_exist(api: Api, new_shop: Shop, clock: Clock) -> None:
    for number in range(31):
        get(api, f"/?token=guess{number}")
        clock.advance(1)
    text = words(page_of(api, new_shop.link()))
    assert "The payment service does not answer" in text and "try again in a moment" in text
    assert "does not exist" not in text
    clock.advance(300)


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
@pytest.mark.parametrize("path", ["/?token={}", "/pages/qr.svg?token={}&step=page", "/pages/logos/{}"])
def test_what_another_site_has_a_browser_ask_for_is_refused_and_not_counted(
    api: Api, new_shop: Shop, clock: Clock, path: str, site: str
) -> None:
    dests = ("image", "script", "style", "object", "embed", "empty", "frame")
    for number in range(40):
        sent = {"Sec-Fetch-Site": site, "Sec-Fetch-Dest": dests[number % len(dests)]}
        reply = get(api, path.format(f"guess{number}"), sent)
        assert (reply.status, reply.json["message"]) == (403, "This is a part of the payment page, for that page alone")
    token = new_shop.link()
    assert "12.5 fUSDC" in words(page_of(api, token))
    assert get(api, f"/pages/qr.svg?token={token}&step=page").status == 200


def test_what_a_page_is_made_of_is_not_counted(api: Api, clock: Clock) -> None:
    assert {get(api, f"/pages/{path}").status for _ in range(5) for path in served_assets()} == {200}


# --- what wallets read ---


def test_descriptors_are_listed_and_served_to_every_site_and_kept_until_they_change(api: Api) -> None:
    listed = get(api, "/clear-signing")
    names = listed.json["files"]
    assert names == sorted(descriptors()) and listed.headers["access-control-allow-origin"] == "*"
    for name in names:
        reply = get(api, f"/clear-signing/{name}")
        assert reply.json == descriptors()[name]
        assert reply.headers["content-type"].startswith("application/json")
    tag = get(api, f"/clear-signing/{names[0]}").headers["etag"]
    again = get(api, f"/clear-signing/{names[0]}", {"if-none-match": tag})
    assert again.status == 304 and again.body == b""


@pytest.mark.parametrize("name", ["calldata-none.json", "..%2Fapp.py", "%00", "calldata-erc20"])
def test_a_descriptor_that_does_not_exist_is_not_found(api: Api, name: str) -> None:
    assert get(api, f"/clear-signing/{name}").status == 404
