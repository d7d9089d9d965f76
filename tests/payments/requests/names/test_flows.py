"""Creating by name: what is stored and answered, one answer for one idempotency key, and what a call may ask for."""

import subprocess
import sys
import time
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from chalicelib.base.errors import BadRequest, ChainUnavailable
from chalicelib.chains.calldata.transaction import Call
from chalicelib.chains.catalogue.contracts import UNIVERSAL_RESOLVER
from chalicelib.payments.links.reading import load
from chalicelib.payments.requests import store as request_store
from chalicelib.payments.requests.names import flows
from chalicelib.platform.access.credentials.records import ClientId
from chalicelib.platform.access.credentials.rules import credential_hash
from chalicelib.platform.access.idempotency.rules import LEASE
from chalicelib.platform.access.rate_limits.rules import NAMES_PER_MINUTE
from tests.fakes.chain import FakeChain
from tests.fakes.names import FakeNames
from tests.fakes.world import World
from tests.support.items import TRON_PAYEE
from tests.support.keyed import Account, Deployment, Reply, Sent
from tests.support.patience import patience

ALICE, BOB = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8", "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"
PAYER = "0x90F79bf6EB2c4f870365E785982E1f101E93b906"
SEPOLIA = 0x80000000 | 11155111


@pytest.fixture
def names(world: World) -> FakeNames:
    """ENS on mainnet, which is served from now on."""
    mainnet = FakeChain("mainnet")
    world.services.chains.add(mainnet)  # type: ignore[attr-defined]
    mainnet.names.addresses["alice.eth"] = ALICE
    return mainnet.names


@pytest.fixture
def account(world: World) -> Account:
    return Account(world)


def request_for(payee: str, **changes: Any) -> dict[str, Any]:
    currencies = {"invoiceCurrency": "fUSDC-sepolia", "paymentCurrency": "fUSDC-sepolia"}
    return {"amount": "12.50", "payee": payee, **currencies, **changes}


def create(account: Account, payee: str, key: str | None = None, **changes: Any) -> Reply:
    return Sent("create_request", request_for(payee, **changes), account.by_key, key=key).to(account.world.services)


def link(account: Account, *payees: str, key: str | None = None) -> Reply:
    body = {"requests": [request_for(each) for each in payees]}
    return Sent("create_secure_payment", body, account.by_key, key=key).to(account.world.services)


def test_a_name_is_stored_and_answered_with_its_address(account: Account, names: FakeNames) -> None:
    reply = create(account, "alice.eth")
    resolved = {"name": "alice.eth", "address": ALICE, "resolvedAt": "2026-03-15T10:00:00.000Z", "isPrimary": False}
    assert (reply.status, reply.json["payeeName"]) == (201, resolved)
    found = request_store.request(account.world.services.store, reply.json["requestId"])
    assert found is not None and found.payee_name is not None
    assert (found.payee, found.payee_name.name) == (ALICE, "alice.eth")
    path = {"request_id": found.request_id}
    shown = Sent("read_request", None, account.by_key, path, key=None).to(account.world.services)
    assert (shown.json["payee"], shown.json["payeeName"]) == (ALICE, resolved)


def test_an_address_has_no_name_and_asks_nobody(account: Account, names: FakeNames) -> None:
    names.primary[ALICE.lower()] = "alice.eth"
    assert "payeeName" not in create(account, ALICE).json
    assert "payeeNames" not in link(account, ALICE).json
    assert names.asked == 0


def test_payers_are_shown_a_name_only_where_the_address_named_itself_so(account: Account, names: FakeNames) -> None:
    names.addresses["bob.eth"] = BOB
    for primary, shown in (("", None), ("other.eth", None), ("alice.eth", "alice.eth")):
        names.primary[ALICE.lower()] = primary
        token = link(account, "alice.eth").json["token"]
        assert read(account, token).get("payeeName") == shown
    token = link(account, "bob.eth", "alice.eth", ALICE).json["token"]
    assert read(account, token)["payeeNames"] == [None, "alice.eth", None]
    assert "payeeNames" not in read(account, link(account, "bob.eth", BOB).json["token"])


def read(account: Account, token: str) -> Any:
    reply = Sent("read_secure_payment", None, account.by_client, {"token": token}, key=None).to(account.world.services)
    assert reply.status == 200, reply.text
    return reply.json


def test_a_link_says_of_each_name_what_it_was_resolved_to(account: Account, names: FakeNames) -> None:
    names.addresses["bob.eth"] = BOB
    reply = link(account, "alice.eth", BOB, "bob.eth")
    assert [(each["name"], each["address"]) for each in reply.json["payeeNames"]] == [("alice.eth", ALICE), ("bob.eth", BOB)]
    payable = load(account.world.services, reply.json["token"])
    assert payable is not None
    assert [each.payee for each in payable.requests] == [ALICE, BOB, BOB]


def test_a_payout_to_a_name_is_paid_to_its_address(account: Account, names: FakeNames) -> None:
    body = {"recipient": "alice.eth", "creatorWalletAddress": PAYER, "network": "sepolia", "currency": "fUSDC-sepolia"}
    sent = Sent("create_payout", {**body, "amount": "1"}, account.by_key, key=None)
    reply = sent.to(account.world.services)
    assert reply.json["payeeNames"][0]["address"] == ALICE
    own = Sent("create_payout", {**body, "amount": "1", "creatorWalletAddress": ALICE}, account.by_key, key=None)
    assert "is the recipient" in own.to(account.world.services).text
    for name in ("pay_out", "pay_batch"):
        item = request_for("alice.eth")
        paid = Sent(name, item if name == "pay_out" else {"requests": [item]}, account.by_key, key=None)
        answer = paid.to(account.world.services).json
        assert (answer if name == "pay_out" else answer["requests"][0])["payeeName"]["address"] == ALICE


def test_a_name_is_refused_as_a_payer_a_creator_a_fee_address_and_a_destination(account: Account, names: FakeNames) -> None:
    assert create(account, BOB, payer="alice.eth").status == 400
    body = {"requests": [request_for(BOB)], "feePercentage": "1", "feeAddress": "alice.eth"}
    assert Sent("create_secure_payment", body, account.by_key, key=None).to(account.world.services).status == 400
    assert names.asked == 0


def test_all_that_is_wrong_with_the_names_of_a_call_is_said_at_once(account: Account, names: FakeNames) -> None:
    reply = link(account, "alice.eth", "Alice.eth", "nobody.eth")
    fields = {each["field"] if "field" in each else ".".join(each["path"]): each["message"] for each in problems(reply)}
    assert reply.status == 400
    assert set(fields) == {"requests.1.payee", "requests.2.payee"}
    assert "write that" in fields["requests.1.payee"] and "has no address in ENS" in fields["requests.2.payee"]


def problems(reply: Reply) -> list[Any]:
    body = reply.json
    return list(body.get("errors") or body.get("details") or body["message"])


def test_a_name_is_asked_for_once_in_a_call_and_a_call_has_ten_at_most(account: Account, names: FakeNames) -> None:
    assert link(account, *["alice.eth"] * 30).status == 201
    assert names.asked == 3, "for sepolia, for mainnet, and for the reverse record"
    reply = link(account, *[f"n{number}.eth" for number in range(11)])
    assert (reply.status, names.asked) == (400, 3)
    assert "at most 10 different names" in reply.text


def test_an_account_has_a_number_of_names_resolved_a_minute(account: Account, names: FakeNames) -> None:
    ten = [f"n{number}.eth" for number in range(10)]
    names.addresses |= dict.fromkeys(ten, BOB)
    for _ in range(NAMES_PER_MINUTE // 10):
        assert link(account, *ten).status == 201
        account.world.now += timedelta(seconds=2)
    asked = names.asked
    assert (link(account, *ten).status, names.asked) == (429, asked)
    assert link(account, BOB).status == 201


def test_client_ids_that_are_sent_alone_have_a_quarter_of_it(account: Account, names: FakeNames) -> None:
    body = {"requests": [request_for("alice.eth")]}
    alone = Sent("create_secure_payment", body, account.by_client, key=None)
    for _ in range(NAMES_PER_MINUTE // 4):
        assert alone.to(account.world.services).status == 201
        account.world.now += timedelta(seconds=1)
    assert alone.to(account.world.services).status == 429
    assert link(account, "alice.eth").status == 201


def test_a_call_asks_nothing_more_after_its_deadline(
    account: Account, names: FakeNames, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(flows, "SECONDS", 0.0)
    reply = link(account, *[f"n{number}.eth" for number in range(10)])
    assert (reply.status, len(problems(reply)), names.asked) == (400, 10, 0)
    assert "was not resolved in time" in reply.text


def test_trouble_with_the_reverse_record_only_means_that_the_name_is_not_shown(account: Account, names: FakeNames) -> None:
    names.primary[ALICE.lower()] = "alice.eth"

    def silent() -> None:
        if names.asked == 3:
            raise ChainUnavailable("The mainnet node does not answer")

    names.before = silent
    assert create(account, "alice.eth").json["payeeName"]["isPrimary"] is False
    assert create(account, "alice.eth").json["payeeName"]["isPrimary"] is True


def test_more_than_a_node_takes_is_refused_and_not_sent(account: Account, names: FakeNames) -> None:
    services = account.world.services
    node, read = services.chains.evm("mainnet"), Call(UNIVERSAL_RESOLVER, "0x" + "00" * (flows.MOST_CALLDATA + 1))
    with pytest.raises(BadRequest, match="answers with too much"):
        flows._read_resolver(services, node, read, time.monotonic() + patience())
    assert names.asked == 0


def test_the_name_of_another_network_is_an_address_of_its_own(account: Account, names: FakeNames) -> None:
    names.addresses["alice.eth", SEPOLIA] = BOB
    assert create(account, "alice.eth").json["payeeName"]["address"] == BOB
    names.addresses["alice.eth"] = ALICE
    on_mainnet = {"invoiceCurrency": "USDC-mainnet", "paymentCurrency": "USDC-mainnet"}
    assert create(account, "alice.eth", **on_mainnet).json["payeeName"]["address"] == ALICE


NAMES = {
    "upper case": ("Alice.eth", "if you mean alice.eth, write that"),
    "a Roman numeral": ("Ⅷ.eth", "if you mean viii.eth, write that"),
    "full width": ("ａlice.eth", "if you mean alice.eth, write that"),
    "a Cyrillic letter": ("al\u0456ce.eth", "ENSIP-15"),
    "all Cyrillic": ("\u0430\u0440\u0440\u04cf\u0435.eth", "ENSIP-15"),
    "Greek in Latin": ("alic\u03b5.eth", "ENSIP-15"),
    "a joiner": ("alice\u200d.eth", "is not a name"),
    "a space that is not seen": ("ali\u200bce.eth", "if you mean alice.eth, write that"),
    "right to left": ("\u202eecila.eth", "is not a name"),
    "a space": ("ali ce.eth", "ENSIP-15"),
    "a new line": ("alice.eth\n", "is not a name"),
    "a zero byte": ("alice\0.eth", "U+0000"),
    "an underscore within": ("a_b.eth", "ENSIP-15"),
    "punycode": ("xn--caf-dma.eth", "ENSIP-15"),
    "an empty label": ("alice..eth", "ENSIP-15"),
    "a dot at the end": ("alice.eth.", "ENSIP-15"),
    "a dot at the start": (".eth", "ENSIP-15"),
    "a dot alone": (".", "ENSIP-15"),
    "other dots": ("alice\u3002eth.eth", "ENSIP-15"),
    "too long": ("a" * 252 + ".eth", "at most 255 bytes"),
    "too long in bytes": ("\U0001f600" * 64 + ".eth", "at most 255 bytes"),
    "half a character": ("\ud800.eth", "not valid JSON in UTF-8"),
    "many marks": ("e" + "\u0301" * 20 + ".eth", "ENSIP-15"),
    "an address": ("0xd8da6bf26964af9d7eed9e03e53415d37aa96045.eth", "looks like an address"),
    "an address in mixed case": ("0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045.eth", "normalized form"),
    "a short address": ("0xd8da6bf269.eth", "looks like an address"),
    "a path": ("alice.eth/../bob.eth", "ENSIP-15"),
    "markup": ("<b>.eth", "ENSIP-15"),
}


def test_a_hostile_name_is_refused_in_words_asks_nobody_and_writes_nothing(account: Account, names: FakeNames) -> None:
    deployment = Deployment(account.world)
    before = deployment.effects()
    for case, (name, said) in NAMES.items():
        reply = create(account, name)
        assert (reply.status, said in reply.text) == (400, True), (case, reply.text)
        account.world.now += timedelta(seconds=2)
    assert (names.asked, deployment.effects()) == (0, before)


# --- repeated calls ---


def test_a_repeated_call_has_the_address_of_the_first_though_the_name_has_moved(account: Account, names: FakeNames) -> None:
    first = create(account, "alice.eth", key="once")
    names.addresses["alice.eth"] = BOB
    assert create(account, "alice.eth", key="once").json == first.json
    assert create(account, "alice.eth", key="twice").json["payeeName"]["address"] == BOB


@pytest.mark.parametrize("payees", [1, 60])
def test_a_call_that_is_resumed_after_a_crash_pays_the_address_of_the_first_run(
    account: Account, names: FakeNames, payees: int
) -> None:
    deployment = Deployment(account.world)
    body = {"requests": [request_for("alice.eth") for _ in range(payees)]}
    sent = Sent("create_secure_payment", body, account.by_key)
    fatal, addresses = 0, set()
    while True:
        deployment.put_back()
        names.addresses["alice.eth"] = ALICE
        fatal += 1
        if not deployment.dies(sent, fatal):
            break
        is_begun = bool(deployment.steps())
        names.addresses["alice.eth"] = BOB
        account.world.now += LEASE * 2
        reply = sent.to(deployment.process(seed=2))
        assert reply.status == 201, (fatal, reply.text)
        payable = load(account.world.services, reply.json["token"])
        assert payable is not None and len(payable.requests) == payees
        (address,) = {each.payee for each in payable.requests}
        assert address == (ALICE if is_begun else BOB), fatal
        addresses.add(address)
    assert addresses == {ALICE, BOB} and fatal > 3


def test_while_the_nodes_of_mainnet_are_silent_nothing_is_written_and_a_later_call_succeeds(
    account: Account, names: FakeNames
) -> None:
    deployment = Deployment(account.world)
    before = deployment.effects()

    def silent() -> None:
        raise ChainUnavailable("The mainnet node does not answer")

    names.before = silent
    assert create(account, "alice.eth", key="once").status == 503
    assert deployment.effects() == before
    names.before = lambda: None
    assert create(account, "alice.eth", key="once").status == 201


# --- where names are not resolved ---


def test_without_a_node_of_mainnet_a_name_is_refused_in_words(account: Account) -> None:
    reply = create(account, "alice.eth")
    assert reply.status == 400
    assert "this deployment has no node of mainnet to resolve it; give the address" in reply.text


def test_a_limited_client_id_is_held_to_the_address_of_a_name(account: Account, names: FakeNames) -> None:
    services = account.world.services
    client = services.store.get(ClientId, ClientId.KEY.of(credential_hash=credential_hash(account.client_id)))
    assert client is not None
    services.store.write(replace(client, allowed_payees=(BOB,)))
    reply = Sent("create_request", request_for("alice.eth"), account.by_client, key=None).to(services)
    assert (reply.status, ALICE in reply.text) == (403, True)
    names.addresses["alice.eth"] = BOB
    assert Sent("create_request", request_for("alice.eth"), account.by_client, key=None).to(services).status == 201


def test_a_name_for_tron_is_refused_and_an_address_of_tron_is_none(account: Account, names: FakeNames) -> None:
    account.world.services.chains.add(FakeChain("tron"))  # type: ignore[attr-defined]
    tron = {"invoiceCurrency": "USDT-tron", "paymentCurrency": "USDT-tron"}
    assert "not resolved for Tron" in create(account, "alice.eth", **tron).text
    assert create(account, TRON_PAYEE, **tron).status == 201


# --- what is loaded ---


SCRIPT = """
import sys
import app
from importlib import import_module
from chalicelib.platform.http.operation import OPERATIONS
for api in OPERATIONS.values():
    import_module(api)
from chalicelib.payments.requests.names import flows
assert not {"ens", "web3", "pyunormalize"} & set(sys.modules), "before a name is there"
from chalicelib.payments.requests.names.rules import check_normalized
check_normalized("alice.eth")
assert "ens" in sys.modules and "web3" not in sys.modules
"""


def test_the_package_of_ens_is_loaded_by_the_first_name_alone_and_web3_never() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
