"""Signatures of RFC 9421, verified by an unmodified library and by the programs of docs/webhooks.md."""

import json
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from http_message_signatures import HTTPMessageSignaturesException

from chalicelib.platform.access.modes import Mode
from chalicelib.webhooks.deliveries import flows as deliveries
from chalicelib.webhooks.endpoints import flows as endpoints
from chalicelib.webhooks.endpoints.records import Choices, Endpoint
from chalicelib.webhooks.kinds import KINDS
from chalicelib.webhooks.message_signatures import public_key_of, thumbprint
from chalicelib.webhooks.signature_keys import flows as signature_keys
from chalicelib.webhooks.signature_keys.schemas import PublicKey
from tests.docs.documents import DOCS
from tests.fakes.world import World
from tests.support.redirecting import lead_to
from tests.webhooks.inbox import Inbox, Received

SIGNED = ("content-digest", "signature-input", "signature")


def documented(language: str, word: str) -> str:
    """The program of docs/webhooks.md that has a word."""
    (found,) = (each for each in DOCS["webhooks"].blocks(language) if word in each)
    return found


def verify_in_python(key_set: Any, received: Received) -> None:
    """Raises what the documented program raises, which calls the library."""
    defined: dict[str, Any] = {}
    exec(documented("python", "http_message_signatures"), defined)
    defined["verify"](key_set, received.url, received.headers, received.body)


def verified(key_set: Any, received: Received) -> bool:
    try:
        verify_in_python(key_set, received)
    except HTTPMessageSignaturesException:
        return False
    return True


def verified_in_node(key_set: Any, received: list[Received], folder: Path) -> list[bool]:
    """What the documented program says of each."""
    (folder / "verify.mjs").write_text(documented("js", "createPublicKey"))
    (folder / "run.mjs").write_text(
        "import { isGenuine } from './verify.mjs';\nimport { readFileSync } from 'node:fs';\n"
        "const { keySet, received } = JSON.parse(readFileSync(0));\n"
        "const found = received.map((each) => isGenuine(keySet, each.url, each.headers, Buffer.from(each.body)));\n"
        "console.log(JSON.stringify(found));\n"
    )
    each = [{"url": one.url, "headers": one.headers, "body": one.body.decode()} for one in received]
    text = json.dumps({"keySet": key_set, "received": each})
    command = ["node", "run.mjs"]
    done = subprocess.run(command, cwd=folder, input=text, check=True, capture_output=True, text=True)
    found: list[bool] = json.loads(done.stdout)
    return found


def published(world: World) -> Any:
    """The set of keys as the operation returns it."""
    keys = [PublicKey.of(each).model_dump() for each in signature_keys.list_published(world.services)]
    return {"keys": keys}


def registered(world: World, url: str, *, http_signature: bool = True) -> Endpoint:
    choices = Choices(http_signature=http_signature)
    return endpoints.register(world.services, world.actor, None, Mode.API_KEY, url, choices)[0]


def sampled(world: World, kind: str = "payment.confirmed") -> None:
    deliveries.send_test(world.services, world.account_id, None, kind, only_public=False)
    world.drain()


def with_header(name: str, value: str) -> Callable[[Received], Received]:
    return lambda found: replace(found, headers={**found.headers, name: value})


def without(name: str) -> Callable[[Received], Received]:
    return lambda found: replace(found, headers={each: found.headers[each] for each in found.headers if each != name})


def changed(name: str, old: str, new: str) -> Callable[[Received], Received]:
    def change(found: Received) -> Received:
        assert old in found.headers[name]
        return with_header(name, found.headers[name].replace(old, new))(found)

    return change


ALTERED: dict[str, Callable[[Received], Received]] = {
    "another body": lambda found: replace(found, body=found.body + b" "),
    "another body with its digest": lambda found: with_header(
        "content-digest", "sha-256=:RBNvo1WzZ4oRRq0W9+hknpT7T8If536DEMBg9hyq/4o=:"
    )(replace(found, body=b"")),
    "another path": lambda found: replace(found, url=found.url + "s"),
    "another scheme": lambda found: replace(found, url=found.url.replace("http:", "https:")),
    "another delivery": with_header("webhook-id", "01M81GWB2512EX4MTR6XS2AHYH"),
    "another time of the attempt": with_header("webhook-timestamp", "1767225600"),
    "another type": with_header("content-type", "text/plain"),
    "another time of the signature": changed("signature-input", ";created=1", ";created=2"),
    "another key": changed("signature-input", 'keyid="', 'keyid="A'),
    "less that is covered": changed("signature-input", '"@target-uri" ', ""),
    "another order": changed("signature-input", '"@method" "@target-uri"', '"@target-uri" "@method"'),
    "another use": changed("signature-input", 'tag="webhook"', 'tag="other"'),
    "no signature": without("signature"),
    "no parameters": without("signature-input"),
    "no digest": without("content-digest"),
    "the signature of something else": with_header("signature", f"sig1=:{'A' * 86}==:"),
}


def test_the_library_verifies_a_delivery_of_every_kind_of_event_and_so_does_the_program_for_node(
    sending: World, inbox: Inbox, tmp_path: Path
) -> None:
    registered(sending, inbox.url)
    for kind in KINDS:
        sampled(sending, kind)
    key_set = published(sending)
    assert [json.loads(each.body)["event"] for each in inbox.received] == list(KINDS)
    for each in inbox.received:
        verify_in_python(key_set, each)
        assert "webhook-signature" in each.headers, "the other signatures stay"
    assert verified_in_node(key_set, inbox.received, tmp_path) == [True] * len(KINDS)


def test_what_was_altered_on_its_way_is_refused_in_both_languages(
    sending: World, inbox: Inbox, tmp_path: Path
) -> None:
    registered(sending, inbox.url)
    sampled(sending)
    (genuine,) = inbox.received
    key_set = published(sending)
    altered = {name: alter(genuine) for name, alter in ALTERED.items()}
    assert [name for name, each in altered.items() if verified(key_set, each)] == []
    in_node = verified_in_node(key_set, [genuine, *altered.values()], tmp_path)
    assert dict(zip(["genuine", *altered], in_node, strict=True)) == {"genuine": True, **dict.fromkeys(altered, False)}


def test_another_method_is_refused(sending: World, inbox: Inbox) -> None:
    registered(sending, inbox.url)
    sampled(sending)
    (genuine,) = inbox.received
    program = documented("python", "http_message_signatures")
    for method, accepted in (("POST", True), ("PUT", False)):
        defined: dict[str, Any] = {}
        exec(program.replace('method="POST"', f'method="{method}"'), defined)
        arguments = (published(sending), genuine.url, genuine.headers, genuine.body)
        if accepted:
            defined["verify"](*arguments)
        else:
            with pytest.raises(HTTPMessageSignaturesException):
                defined["verify"](*arguments)


def test_a_signature_of_more_than_five_minutes_ago_is_refused_and_so_is_one_of_another_service(
    sending: World, inbox: Inbox, tmp_path: Path
) -> None:
    registered(sending, inbox.url)
    sampled(sending)
    (fresh,) = inbox.received
    (own,) = published(sending)["keys"]
    another = {"keys": [{**own, "x": public_key_of(bytes(32))}]}
    assert not verified(another, fresh) and not verified({"keys": []}, fresh)
    assert verified_in_node(another, [fresh], tmp_path) == verified_in_node({"keys": []}, [fresh], tmp_path) == [False]
    sending.advance(-306)  # the library grants five seconds for clocks that differ
    sampled(sending)
    assert not verified(published(sending), inbox.received[-1])
    assert verified_in_node(published(sending), inbox.received[-1:], tmp_path) == [False]


@pytest.mark.parametrize(
    "rest", ["", "?a=b", "/Hook/%7e/%2f?x={}|&y=%zz", "/a/../b/./c//d", "/hook?", "/hook?q=a%20b&c"]
)
def test_the_url_that_is_signed_is_the_one_that_the_receiver_sees(sending: World, inbox: Inbox, rest: str) -> None:
    host = inbox.url.removesuffix("/hook").replace("127.0.0.1", "LOCALHOST").replace("http", "HTTP")
    registered(sending, host + rest)
    sampled(sending)
    (found,) = inbox.received
    assert found.url.startswith("http://localhost:")
    verify_in_python(published(sending), found)


def test_a_url_with_the_default_port_is_signed_as_the_receiver_sees_it(
    sending: World, inbox: Inbox, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    lead_to(monkeypatch, 80, urlsplit(inbox.url).port or 0)
    for port in ("", ":80", ":0080"):
        registered(sending, f"http://localhost{port}/hook")
    sampled(sending)
    assert [each.url for each in inbox.received] == ["http://localhost/hook"] * 3
    for each in inbox.received:
        verify_in_python(published(sending), each)
    assert verified_in_node(published(sending), inbox.received, tmp_path) == [True] * 3


def test_each_attempt_is_signed_anew(sending: World, inbox: Inbox) -> None:
    registered(sending, inbox.url)
    inbox.status = 500
    sampled(sending)
    assert len(inbox.received) == 4 and len({each.headers["signature-input"] for each in inbox.received}) == 4
    for each in inbox.received:
        created = each.headers["signature-input"].partition(";created=")[2].partition(";")[0]
        assert created == each.headers["webhook-timestamp"]


def test_without_the_choice_nothing_of_it_is_sent_and_it_can_be_changed(sending: World, inbox: Inbox) -> None:
    endpoint = registered(sending, inbox.url, http_signature=False)
    sampled(sending)
    assert published(sending) == {"keys": []}, "no key is made before one is needed"
    on = endpoints.change(sending.services, sending.actor, endpoint, True, endpoint.events, False, True)
    sampled(sending)
    kept = endpoints.change(sending.services, sending.actor, on, True, ["payment.*"], False)
    sampled(sending)
    endpoints.change(sending.services, sending.actor, kept, True, kept.events, False, False)
    sampled(sending)
    found = [{*SIGNED} & each.headers.keys() for each in inbox.received]
    assert found == [set(), {*SIGNED}, {*SIGNED}, set()]


def test_the_thumbprint_is_that_of_the_example_in_rfc_8037() -> None:
    seed = bytes.fromhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")
    assert public_key_of(seed) == "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"
    assert thumbprint(public_key_of(seed)) == "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"
