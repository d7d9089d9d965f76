"""White label over HTTP: set by the client id's owner, shown by the links of that client id and by no others."""

from base64 import b64decode
from typing import Any

import pytest

from chalicelib.platform.access.modes import Mode
from tests.accounts.branding.png import END, header, picture, png, text
from tests.fakes.payouts import store_payouts
from tests.support.browser import BY_PAGE, get
from tests.support.client import Api, Reply, Shop, item, stored
from tests.support.opened import by_session
from tests.support.running import running
from tests.support.stored_links import complete, expire

COLOURS = {
    "pageBackgroundColor": "#ffffff",
    "cardBackgroundColor": "#f8fafc",
    "primaryActionColor": "#00875f",
    "primaryTextColor": "#1e293b",
    "secondaryTextColor": "#475569",
}
WHOLE = {
    **COLOURS,
    "logo": text(png()),
    "termsUrl": "https://shop.example/terms",
    "privacyUrl": "https://shop.example/privacy",
    "displayRequestBranding": False,
}


def path_of(shop: Shop, host: str = "/v2") -> str:
    (client,) = shop.api.get("/v2/client-ids", shop.by_key).json
    return f"{host}/client-ids/{client['id']}/branding"


def put(shop: Shop, **changes: Any) -> Reply:
    body = {name: value for name, value in {**WHOLE, **changes}.items() if value is not None}
    return shop.api.request("PUT", path_of(shop), body, shop.by_key)


def shown(shop: Shop, token: str, headers: dict[str, str] = BY_PAGE) -> Any:
    return shop.api.get(f"/v2/secure-payments/{token}", headers).json["branding"]


def test_what_is_set_is_read_again_and_removed(new_shop: Shop) -> None:
    api, path = new_shop.api, path_of(new_shop)
    assert api.get(path, new_shop.by_key).status == 404
    made = put(new_shop)
    assert made.status == 200
    assert {name: made.json[name] for name in WHOLE} == WHOLE
    assert api.get(path, new_shop.by_key).json == made.json
    put(new_shop, logo=None, termsUrl=None)
    read = api.get(path, new_shop.by_key).json
    assert (read["logo"], read["logoPath"], read["termsUrl"], read["privacyUrl"]) == (None, None, None, WHOLE["privacyUrl"])
    for removed in (True, False):
        assert api.request("DELETE", path, None, new_shop.by_key).json == {"removed": removed}
    assert api.get(path, new_shop.by_key).status == 404


def test_it_can_be_set_in_a_session_too(new_shop: Shop) -> None:
    session = by_session(new_shop.account_id)
    path = path_of(new_shop, "/v1")
    assert new_shop.api.request("PUT", path, WHOLE, session).status == 200
    assert new_shop.api.get(path, session).json["termsUrl"] == WHOLE["termsUrl"]


def test_links_of_the_client_id_show_it_and_others_do_not(new_shop: Shop) -> None:
    token = new_shop.link()
    assert shown(new_shop, token) is None
    put(new_shop)
    branding = shown(new_shop, token)
    assert {name: branding[name] for name in COLOURS} == COLOURS
    assert (branding["termsPath"], branding["privacyPath"]) == (WHOLE["termsUrl"], WHOLE["privacyUrl"])
    assert branding["displayRequestBranding"] is False
    assert branding["id"].endswith(branding["clientIdId"]) and branding["logoPath"].startswith("/pages/logos/")
    by_key = new_shop.api.request("POST", "/v2/secure-payments", {"requests": [item()]}, new_shop.by_key).json["token"]
    assert shown(new_shop, by_key) is None
    assert shown(new_shop, Shop(new_shop.api).link()) is None


def test_a_link_that_has_ended_shows_it_too_and_the_way_back(new_shop: Shop) -> None:
    put(new_shop)
    done, late = new_shop.link(redirectUrl="https://shop.example/thanks"), new_shop.link()
    complete(done)
    expire(late)
    for path in ("", "/pay"):
        paid = new_shop.api.get(f"/v2/secure-payments/{done}{path}", BY_PAGE).json
        assert (paid["statusCode"], paid["redirectUrl"]) == (409, "https://shop.example/thanks")
        assert paid["branding"]["termsPath"] == WHOLE["termsUrl"]
        expired = new_shop.api.get(f"/v2/secure-payments/{late}{path}", BY_PAGE).json
        assert (expired["statusCode"], expired["redirectUrl"], expired["branding"]["termsPath"]) == (403, None, WHOLE["termsUrl"])


def test_a_multicall_shows_that_of_its_own_client_id(new_shop: Shop) -> None:
    put(new_shop)
    tokens = [made.link.token for made in store_payouts(running(), new_shop.account_id, 2, created_with=Mode.CLIENT_ID)]
    parent = new_shop.send("POST", "/v2/secure-payments/multicall-payouts", {"childTokens": tokens}).json["token"]
    body = new_shop.api.get(f"/v2/secure-payments/{parent}", BY_PAGE).json
    assert body["branding"]["termsPath"] == WHOLE["termsUrl"]
    assert body["chain"]["chainId"] > 0
    for child in body["children"]:
        assert len(child["paymentReference"]) == 18
        assert child["decimals"] >= 6 and child["remainingAmount"] == child["amount"]


def test_the_logo_is_served_as_a_picture_and_nothing_else(new_shop: Shop) -> None:
    api = new_shop.api
    put(new_shop, logo=text(png(header(), (b"tEXt", b"<script>1</script>"), picture(), END)))
    path = shown(new_shop, new_shop.link())["logoPath"]
    reply = get(api, path)
    assert (reply.status, reply.headers["content-type"]) == (200, "image/svg+xml")
    assert reply.headers["content-security-policy"] == "default-src 'none'; img-src data:"
    svg = reply.body.decode()
    assert 'width="8" height="8"' in svg
    assert b64decode(svg.split("base64,")[1].split('"')[0]) == png()
    assert get(api, path, {"If-None-Match": reply.headers["etag"]}).status == 304
    put(new_shop, logo=None)
    assert get(api, path).status == 404


@pytest.mark.parametrize("name", ["x", "0" * 64, "%00", "0" * 5000])
def test_a_logo_that_there_is_not_is_404(api: Api, name: str) -> None:
    assert get(api, f"/pages/logos/{name}").status == 404


@pytest.mark.parametrize(
    ("changes", "wanted"),
    [
        ({"primaryTextColor": "#eeeeee"}, "primaryTextColor #eeeeee on pageBackgroundColor #ffffff has a contrast of 1.16:1"),
        ({"primaryTextColor": None}, "Give all five colours or none of them: primaryTextColor missing"),
        ({"primaryActionColor": "#fdfdfd"}, "primaryActionColor #fdfdfd on pageBackgroundColor #ffffff has a contrast of"),
        ({"primaryActionColor": "red"}, "primaryActionColor must be a colour"),
        ({"termsUrl": "javascript:alert(1)"}, "termsUrl must be a safe https URL"),
        ({"privacyUrl": "https://a@b.example"}, "privacyUrl must be a safe https URL"),
        ({"logo": text(b"GIF89a")}, "logo must be a PNG image"),
        ({"logo": "A" * 50_000}, "logo must have at most"),
        ({"displayRequestBranding": "yes"}, "displayRequestBranding must be true or false"),
        ({"logo": 5}, "logo must be a string"),
    ],
)
def test_what_cannot_be_shown_is_refused_and_nothing_kept(new_shop: Shop, changes: dict[str, Any], wanted: str) -> None:
    before = stored()
    reply = put(new_shop, **changes)
    assert (reply.status, reply.message[: len(wanted)]) == (400, wanted)
    assert stored() == before


def test_every_change_is_in_the_audit_log(new_shop: Shop) -> None:
    put(new_shop)
    new_shop.api.request("DELETE", path_of(new_shop), None, new_shop.by_key)
    actions = [line["action"] for line in new_shop.api.get("/v1/audit", new_shop.by_key).json["entries"]]
    assert [action for action in actions if action.startswith("branding")] == ["branding.removed", "branding.updated"]
