"""The life of the keys of signatures: made once, published before they sign and after, replaced at once, never shown."""

import json
from dataclasses import replace
from datetime import timedelta

import pytest
from botocore.exceptions import ClientError

from chalicelib.base.errors import Conflict
from chalicelib.webhooks.signature_keys import flows as signature_keys
from chalicelib.webhooks.signature_keys import rules as key_rules
from chalicelib.webhooks.signature_keys import store as key_store
from chalicelib.webhooks.signature_keys.records import SignatureKey, SignatureKeys
from tests.fakes.world import START, World
from tests.support.client import Shop
from tests.support.running import running

HOOK = {"url": "https://93.184.215.14/hook"}
BODY, HEADERS = b"{}", {"content-type": "application/json", "webhook-id": "01", "webhook-timestamp": "1"}
DAY, YEAR = timedelta(hours=24).total_seconds(), timedelta(days=365).total_seconds()


def signing(world: World) -> str:
    """The id of the key that signs now."""
    signed = signature_keys.sign(world.services, "https://shop.example/hook", HEADERS, BODY)
    return signed["signature-input"].partition('keyid="')[2].partition('"')[0]


def published(world: World) -> list[str]:
    return [each.key_id for each in signature_keys.list_published(world.services)]


def test_a_new_key_is_published_a_day_before_it_signs_and_the_old_one_from_then_on(world: World) -> None:
    signature_keys.ensure_key(world.services)
    (old,) = published(world)
    assert signing(world) == old, "the first key, which nobody has waited for"
    new = signature_keys.rotate(world.services, at_once=False).key_id
    assert published(world) == [old, new] and signing(world) == old
    world.advance(DAY - 6)
    assert signing(world) == old
    world.advance(6)
    assert (signing(world), published(world)) == (new, [old, new])
    world.advance(10 * YEAR)
    assert (signing(world), published(world)) == (new, [old, new])


def test_no_other_key_is_made_while_a_new_one_does_not_sign_yet(world: World) -> None:
    signature_keys.ensure_key(world.services)
    signature_keys.rotate(world.services, at_once=False)
    with pytest.raises(Conflict, match="There is a new key already, which signs from 2026-"):
        signature_keys.rotate(world.services, at_once=False)
    world.advance(DAY)
    third = signature_keys.rotate(world.services, at_once=False).key_id
    assert len(published(world)) == 3 and published(world)[-1] == third
    world.advance(DAY)
    signature_keys.rotate(world.services, at_once=False)
    keys = key_store.signature_keys(world.services.store).keys
    assert [bool(each.ciphertext) for each in keys] == [False, False, True, True], "private is what signs, or will"
    assert len({each.public_key for each in keys}) == 4


def test_a_key_that_somebody_knows_ends_at_once_with_all_others(world: World) -> None:
    signature_keys.ensure_key(world.services)
    known = signing(world)
    waiting = signature_keys.rotate(world.services, at_once=False).key_id
    new = signature_keys.rotate(world.services, at_once=True).key_id
    assert published(world) == [new] and new not in (known, waiting)
    world.advance(signature_keys.CACHED_FOR.total_seconds())
    assert signing(world) == new


@pytest.mark.parametrize("at_once", [False, True])
def test_a_container_whose_clock_is_behind_signs_with_a_key_that_signs_at_once(world: World, at_once: bool) -> None:
    signature_keys.ensure_key(world.services)
    if at_once:
        signature_keys.rotate(world.services, at_once=True)
    (key,) = published(world)
    world.advance(-2)
    assert signing(world) == key


def test_a_container_reads_the_keys_once_in_five_seconds(world: World) -> None:
    signature_keys.ensure_key(world.services)
    first = signing(world)
    signature_keys.rotate(world.services, at_once=True)
    world.advance(signature_keys.CACHED_FOR.total_seconds() - 1)
    assert signing(world) == first
    world.advance(1)
    assert signing(world) != first


def test_a_key_is_made_once(world: World) -> None:
    signature_keys.ensure_key(world.services)
    made = published(world)
    signature_keys.ensure_key(world.services)
    assert published(world) == made


def test_without_a_key_nothing_is_signed(world: World) -> None:
    assert signature_keys.sign(world.services, "https://shop.example/hook", HEADERS, BODY) == {}


def test_which_key_signs_follows_from_their_times_alone() -> None:
    keys = [SignatureKey(f"key{days}", "", f"sealed{days}", START + timedelta(days=days)) for days in (0, 30, 60)]
    known = SignatureKeys(tuple(keys))
    found = {}
    for days in (-1, 0, 29, 30, 59, 60, 3_000):
        signs = key_rules.signing_key(known, START + timedelta(days=days))
        found[days] = signs and signs.key_id
    assert found == {-1: "key0", 0: "key0", 29: "key0", 30: "key30", 59: "key30", 60: "key60", 3_000: "key60"}
    public = SignatureKeys((replace(keys[0], ciphertext=""), *keys[1:]))
    behind = key_rules.signing_key(public, START + timedelta(days=29))
    assert behind is not None and behind.key_id == "key30", "a key without its private half signs nothing"


def test_the_operations_choose_signatures_and_show_the_public_keys_to_everybody(new_shop: Shop) -> None:
    request = new_shop.api.request
    made = request("POST", "/v1/webhook", {**HOOK, "httpSignature": True}, new_shop.by_key)
    plain = request("POST", "/v1/webhook", {"url": "https://93.184.215.14/plain"}, new_shop.by_key)
    assert (made.status, plain.status) == (201, 201)
    listed = {each["id"]: each["httpSignature"] for each in request("GET", "/v1/webhook", None, new_shop.by_key).json}
    assert listed == {made.json["id"]: True, plain.json["id"]: False}
    path = f"/v1/webhook/{made.json['id']}"
    assert request("PUT", path, {"httpSignature": False}, new_shop.by_key).json["httpSignature"] is False
    assert request("PUT", path, {"events": ["payment.*"]}, new_shop.by_key).json["httpSignature"] is False
    assert request("PUT", path, {"httpSignature": True}, new_shop.by_key).json["isActive"] is True
    reply = request("GET", "/.well-known/jwks.json", None, {})
    (key,) = reply.json["keys"]
    assert (reply.status, key.keys()) == (200, {"kty", "crv", "x", "kid", "use"})
    for wrong in ("yes", 1, None):
        assert request("POST", "/v1/webhook", {**HOOK, "httpSignature": wrong}, new_shop.by_key).status == 400


def test_the_private_key_is_stored_encrypted_and_neither_answered_nor_logged(new_shop: Shop) -> None:
    new_shop.api.request("POST", "/v1/webhook", {**HOOK, "httpSignature": True}, new_shop.by_key)
    services = running()
    (key,) = key_store.signature_keys(services.store).keys
    private = services.secrets.decrypt(key.ciphertext, key.owner)
    assert len(bytes.fromhex(private)) == 32 and private not in key.ciphertext
    shown = new_shop.api.request("GET", "/.well-known/jwks.json", None, {})
    assert private not in json.dumps(shown.json) + new_shop.api.log.getvalue()
    with pytest.raises(ClientError, match="InvalidCiphertextException"):
        services.secrets.decrypt(key.ciphertext, "another")


def test_a_repeated_request_makes_no_second_key(new_shop: Shop) -> None:
    once = {**new_shop.by_key, "idempotency-key": "once"}
    first = new_shop.api.request("POST", "/v1/webhook", {**HOOK, "httpSignature": True}, once)
    assert new_shop.api.request("POST", "/v1/webhook", {**HOOK, "httpSignature": True}, once).json == first.json
    assert len(new_shop.api.request("GET", "/.well-known/jwks.json", None, {}).json["keys"]) == 1
