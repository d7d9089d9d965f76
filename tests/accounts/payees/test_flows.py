"""Payee destinations on real tables: one active one a wallet, one nonce one effect, and links that are paid there."""

from dataclasses import replace
from typing import Any

import pytest

from chalicelib.accounts.client_ids import flows as client_ids
from chalicelib.accounts.payees import flows
from chalicelib.accounts.payees.records import Action, PayeeDestination
from chalicelib.accounts.payees.rules import parse_route, signing_data
from chalicelib.accounts.sign_in import flows as sign_in_flows
from chalicelib.accounts.sign_in import wallets
from chalicelib.base.errors import BadRequest, Conflict, Forbidden, NotFound, Unauthorized
from chalicelib.chains.catalogue.interop import Destination, destination_id
from chalicelib.payments.links import flows as links
from chalicelib.payments.links.records import PayableLink
from chalicelib.platform.access.audit.records import Actor, AuditEntry
from chalicelib.platform.access.callers import ClientSettings, Owner
from chalicelib.platform.access.credentials.records import ClientId
from chalicelib.platform.access.sessions.records import Session, SessionKind, Wallet
from chalicelib.platform.access.sessions.rules import open_session
from tests.bench.calls import counted
from tests.fakes.chain import FEE_ADDRESS
from tests.fakes.crash import Crash, FragileClient, Tripwire
from tests.fakes.destinations import BASE, FUSDC_SEPOLIA, FUSDT_SEPOLIA, SEPOLIA, TRON, USDC_BASE, USDT_TRON, sign
from tests.fakes.wallets import EvmWallet, TronWallet, evm_wallet, tron_wallet
from tests.fakes.world import World, draft
from tests.support.members import pointer

WALLET = evm_wallet()
KEPT_BY = Wallet(WALLET.address)


def new_client(world: World, **settings: Any) -> ClientId:
    return stored(world, client_ids.create_client_id(world.services, world.actor, {"label": "web", **settings}))


def stored(world: World, client: ClientId) -> ClientId:
    found = world.services.store.get(ClientId, ClientId.KEY.of(credential_hash=client.client_id_hash))
    assert found is not None
    return found


def asked(
    world: World,
    client: ClientId,
    wallet: EvmWallet | TronWallet = WALLET,
    token: str = FUSDC_SEPOLIA,
    chain_id: int = SEPOLIA,
    action: Action = Action.ADD,
) -> tuple[str, str]:
    """A nonce and the wallet's signature."""
    route = parse_route(wallet.address, token, chain_id, {})
    nonce = flows.issue_nonce(world.services, client, route, action)
    return nonce.nonce, sign(wallet, signing_data(nonce, world.services.settings.brand))


def add(world: World, client: ClientId, *signed_for: Any, vouched: bool = True) -> PayeeDestination:
    signed = asked(world, client, *signed_for)
    return flows.add(world.services, world.actor, stored(world, client), *signed, vouched=vouched)


def remove(world: World, client: ClientId, destination: PayeeDestination, *signed_for: Any) -> PayeeDestination:
    signed = asked(world, client, *signed_for, action=Action.DEACTIVATE)
    return flows.remove(
        world.services, world.actor, stored(world, client), destination.destination_id, *signed
    )


def audited(world: World, account_id: str) -> list[str]:
    return [line.action for line in log(world, account_id) if line.action != "client_id.created"]


def log(world: World, account_id: str) -> tuple[AuditEntry, ...]:
    return world.services.store.query(AuditEntry, AuditEntry.KEY.all(account_id=account_id))


def owner(world: World, client: ClientId, orchestrator_id: str | None = None) -> Owner:
    """As the caller of a request has it."""
    known = stored(world, client)
    settings = ClientSettings(
        known.fee_percentage, known.fee_address, known.payee_destination_id, known.orchestrator_id
    )
    return Owner(known.account_id, known.client_id, None, settings, orchestrator_id)


def create(world: World, client: ClientId, **changes: Any) -> PayableLink:
    """A link that carries only an amount, unless changed."""
    bare = {"payee": None, "invoice_currency": None, "payment_currency": None, **changes}
    return links.create(world.services, owner(world, client), draft(**bare))


# --- signed for a client id ---


def test_a_signature_binds_the_client_id_and_both_are_audited(world: World) -> None:
    client = new_client(world)
    made = add(world, client)
    assert (made.is_active, made.client_id, made.account_id) == (True, client.client_id, world.account_id)
    assert stored(world, client).payee_destination_id == made.record_id
    assert sorted(audited(world, world.account_id)) == ["client_id.bound", "payee_destination.added"]


def test_a_nonce_is_used_once(world: World) -> None:
    client = new_client(world)
    signed = asked(world, client)
    flows.add(world.services, world.actor, client, *signed, vouched=True)
    with pytest.raises(BadRequest, match="Invalid or expired nonce"):
        flows.add(world.services, world.actor, stored(world, client), *signed)


def test_a_nonce_expires_while_it_is_still_stored(world: World) -> None:
    client = new_client(world)
    signed = asked(world, client)
    world.advance(300)
    with pytest.raises(BadRequest, match="Invalid or expired nonce"):
        flows.add(world.services, world.actor, client, *signed, vouched=True)


def test_a_nonce_is_for_the_client_id_that_asked_for_it(world: World) -> None:
    client, other = new_client(world), new_client(world)
    with pytest.raises(BadRequest, match="Invalid or expired nonce"):
        flows.add(world.services, world.actor, other, *asked(world, client))


def test_a_wrong_signature_leaves_the_nonce_and_writes_nothing(world: World) -> None:
    client = new_client(world)
    nonce, signature = asked(world, client)
    with pytest.raises(Unauthorized):
        flows.add(world.services, world.actor, client, nonce, asked(world, client, evm_wallet("other"))[1])
    assert audited(world, world.account_id) == []
    assert flows.add(world.services, world.actor, client, nonce, signature, vouched=True).is_active


def test_the_same_one_again_changes_nothing_but_uses_its_nonce(world: World) -> None:
    client = new_client(world)
    first, second = add(world, client), add(world, client)
    assert second.record_id == first.record_id


def test_another_route_of_the_wallet_has_to_wait_for_the_end_of_the_first(world: World) -> None:
    client = new_client(world)
    first = add(world, client)
    with pytest.raises(Conflict):
        add(world, client, WALLET, FUSDT_SEPOLIA)
    remove(world, client, first)
    second = add(world, client, WALLET, FUSDT_SEPOLIA)
    assert second.record_id != first.record_id
    assert stored(world, client).payee_destination_id == second.record_id


def test_a_deactivated_destination_is_reactivated_as_the_same_record(world: World) -> None:
    client = new_client(world)
    first = add(world, client)
    assert remove(world, client, first).is_active is False
    assert flows.of_client(world.services, stored(world, client), first.destination_id).is_active is False
    again = add(world, client)
    assert (again.record_id, again.is_active) == (first.record_id, True)


def test_who_knows_a_bound_client_id_cannot_turn_its_money_to_a_wallet_of_their_own(world: World) -> None:
    client = new_client(world)
    first = add(world, client)
    for _ in ("while active", "and after the end"):
        with pytest.raises(Forbidden, match="The wallet is not the client ID's"):
            add(world, client, evm_wallet("thief"), vouched=False)
        if flows.active_of(world.services, WALLET.address):
            remove(world, client, first)
    assert stored(world, client).payee_destination_id == first.record_id


def test_another_wallet_is_bound_after_the_destination_is_deactivated_and_not_before(world: World) -> None:
    client = new_client(world)
    first = add(world, client)
    with pytest.raises(Forbidden, match="bound to another wallet: deactivate that payee destination first"):
        add(world, client, evm_wallet("next"))
    remove(world, client, first)
    second = add(world, client, evm_wallet("next"))
    assert stored(world, client).payee_destination_id == second.record_id


def test_the_account_may_bind_its_client_id_anew(world: World) -> None:
    client = new_client(world)
    add(world, client)
    changed = {"payee_destination_id": None}
    client_ids.change_client_id(world.services, world.actor, client.record_id, changed)
    other = add(world, client, evm_wallet("other"))
    assert stored(world, client).payee_destination_id == other.record_id


def test_a_wallet_of_another_client_id_is_refused_until_it_ends_there(world: World) -> None:
    first, second = new_client(world), new_client(world)
    made = add(world, first)
    with pytest.raises(Forbidden, match="another client ID"):
        add(world, second)
    with pytest.raises(Forbidden, match="another client ID"):
        remove(world, second, made)
    remove(world, first, made)
    assert add(world, second).client_id == second.client_id


def test_what_is_not_the_active_destination_cannot_be_deactivated(world: World) -> None:
    client = new_client(world)
    made = add(world, client)
    nonce, signature = asked(world, client, WALLET, FUSDT_SEPOLIA, action=Action.DEACTIVATE)
    other = destination_id(Destination(WALLET.address, SEPOLIA, FUSDT_SEPOLIA))
    for id_text in (other, made.destination_id, "nonsense", "", made.destination_id.replace("eip155:", "eip155:0")):
        with pytest.raises(BadRequest, match="Destination not found or validation failed"):
            flows.remove(world.services, world.actor, client, id_text, nonce, signature)
    assert flows.active_of(world.services, WALLET.address) == replace(made, version=1)


def test_an_add_nonce_does_not_deactivate(world: World) -> None:
    client = new_client(world)
    made = add(world, client)
    with pytest.raises(BadRequest, match="Invalid or expired nonce"):
        flows.remove(world.services, world.actor, client, made.destination_id, *asked(world, client))


def test_a_tron_wallet_signs_for_a_tron_destination(world: World) -> None:
    client, wallet = new_client(world), tron_wallet()
    made = add(world, client, wallet, USDT_TRON, TRON)
    assert made.destination_id.startswith(f"{wallet.address}@eip155:728126428#")
    assert remove(world, client, made, wallet, USDT_TRON, TRON).is_active is False


@pytest.mark.parametrize("before", [True, False])
def test_a_crash_at_any_call_leaves_all_or_nothing(world: World, before: bool) -> None:
    for fatal in range(1, 20):
        client, wallet = new_client(world), evm_wallet(f"crash {fatal}")
        signed = asked(world, client, wallet)
        lines = len(audited(world, world.account_id))
        wire = Tripwire(fatal, before)
        services = world.start(FragileClient(world.client, wire))
        try:
            flows.add(services, world.actor, client, *signed, vouched=True)
        except Crash:
            made = flows.active_of(world.services, wallet.address)
            bound = stored(world, client).payee_destination_id
            written = len(audited(world, world.account_id)) - lines
            assert (made and made.record_id, written) == ((bound, 2) if bound else (None, 0))
        if wire.calls < fatal:
            return
    raise AssertionError("it never came to its end")


def test_who_knows_an_unbound_client_id_cannot_bind_it_to_a_wallet_of_their_own(world: World) -> None:
    client, thief = new_client(world), evm_wallet("thief")
    sign_in(world, thief)
    with pytest.raises(Forbidden, match="The wallet is not the client ID's"):
        add(world, client, thief, vouched=False)
    assert stored(world, client).payee_destination_id is None
    assert flows.active_of(world.services, thief.address) is None


def test_the_wallet_of_the_account_is_vouched_for(world: World) -> None:
    world.account_id = sign_in(world, WALLET).account_id
    assert add(world, new_client(world), vouched=False).is_active


def test_the_operator_wallet_of_a_client_id_is_vouched_for(world: World) -> None:
    client = new_client(world, operator_wallet_address=WALLET.address.lower())
    assert add(world, client, vouched=False).is_active


def test_a_client_id_that_is_bound_to_a_wallet_stays_so_without_a_key(world: World) -> None:
    client = new_client(world)
    first = add(world, client)
    remove(world, client, first)
    second = add(world, client, WALLET, FUSDT_SEPOLIA, vouched=False)
    assert stored(world, client).payee_destination_id == second.record_id


# --- kept by the wallet itself ---


def sign_in(world: World, wallet: EvmWallet) -> Session:
    asked_for = wallets.create_challenge(world.services, wallet.address, 1)
    signed = wallets.SignedChallenge(
        asked_for.challenge_id, asked_for.nonce, asked_for.message, wallet.sign(asked_for.message)
    )
    return sign_in_flows.sign_in(world.services, signed, None, world.actor)[0]


def of_account(world: World, account_id: str) -> Actor:
    return replace(world.actor, account_id=account_id)


def keep(world: World, account_id: str = "wallets", token: str = FUSDC_SEPOLIA) -> PayeeDestination:
    actor = of_account(world, account_id)
    return flows.activate(world.services, actor, KEPT_BY, token, SEPOLIA, None)


def test_a_wallet_keeps_changes_and_ends_its_destination(world: World) -> None:
    actor = of_account(world, "wallets")
    made = keep(world)
    assert flows.active_of(world.services, WALLET.address) == replace(made, version=1)
    with pytest.raises(Conflict):
        keep(world, token=FUSDT_SEPOLIA)
    world.advance(1)
    changed = flows.change(world.services, actor, KEPT_BY, FUSDT_SEPOLIA, SEPOLIA, "off")
    assert (changed.record_id, changed.token_address, changed.access_mode) == (made.record_id, FUSDT_SEPOLIA, "off")
    with pytest.raises(NotFound):
        flows.deactivate(world.services, actor, KEPT_BY, made.destination_id)
    world.advance(1)
    flows.deactivate(world.services, actor, KEPT_BY, changed.destination_id)
    assert flows.active_of(world.services, WALLET.address) is None
    with pytest.raises(NotFound):
        flows.change(world.services, actor, KEPT_BY, FUSDC_SEPOLIA, SEPOLIA, None)
    world.advance(1)
    again = keep(world, token=FUSDT_SEPOLIA)
    assert again.record_id == made.record_id
    assert audited(world, "wallets") == [
        "payee_destination.added",
        "payee_destination.changed",
        "payee_destination.deactivated",
        "payee_destination.added",
    ]


def test_a_wallet_looks_up_only_its_own(world: World) -> None:
    actor, made = of_account(world, "wallets"), keep(world)
    assert flows.of_wallet(world.services, actor, KEPT_BY, made.destination_id).is_active
    with pytest.raises(Forbidden):
        flows.of_wallet(world.services, actor, Wallet(evm_wallet("other").address), made.destination_id)
    flows.deactivate(world.services, actor, KEPT_BY, made.destination_id)
    assert not flows.of_wallet(world.services, actor, KEPT_BY, made.destination_id).is_active
    with pytest.raises(NotFound):
        id_text = made.destination_id.replace(FUSDC_SEPOLIA, FUSDT_SEPOLIA)
        flows.of_wallet(world.services, actor, KEPT_BY, id_text)


def test_a_wallet_may_end_what_it_signed_for_another_account_and_both_read_of_it(world: World) -> None:
    client = new_client(world)
    made = add(world, client)
    world.advance(1)
    flows.deactivate(world.services, of_account(world, "wallets"), KEPT_BY, made.destination_id)
    assert audited(world, "wallets") == ["payee_destination.deactivated"]
    (line,) = (each for each in log(world, world.account_id) if each.action == "payee_destination.deactivated")
    assert (line.actor, line.ip_address) == ("another account", ""), "who it was is the other account's affair"
    (own,) = log(world, "wallets")
    assert (own.actor, own.ip_address) == (world.actor.name, world.actor.ip_address)


def test_a_contract_wallet_is_nobody_on_another_chain(world: World) -> None:
    """Whoever holds the address on the other chain neither sees nor changes what the contract of this one keeps."""
    here, there = Wallet(WALLET.address, SEPOLIA), Wallet(WALLET.address, BASE)
    mine, theirs = of_account(world, "here"), of_account(world, "there")
    made = flows.activate(world.services, mine, here, FUSDC_SEPOLIA, SEPOLIA, None)
    text = f"This wallet is a contract of chain {BASE}: it has destinations on that chain alone"
    for act in (
        lambda: flows.activate(world.services, theirs, there, FUSDC_SEPOLIA, SEPOLIA, None),
        lambda: flows.change(world.services, theirs, there, FUSDC_SEPOLIA, SEPOLIA, None),
        lambda: flows.deactivate(world.services, theirs, there, made.destination_id),
        lambda: flows.of_wallet(world.services, theirs, there, made.destination_id),
    ):
        with pytest.raises(Forbidden, match=text):
            act()
    with pytest.raises(NotFound):
        flows.change(world.services, theirs, there, USDC_BASE, BASE, None)
    with pytest.raises(Forbidden, match="contract of chain"):
        flows.change(world.services, mine, here, USDC_BASE, BASE, None)
    other = flows.activate(world.services, theirs, there, USDC_BASE, BASE, None)
    assert flows.active_of(world.services, here.name) == replace(made, version=1)
    assert flows.active_of(world.services, there.name) == replace(other, version=1)
    assert flows.active_of(world.services, WALLET.address) is None, "an address alone is a key's"


def test_a_session_by_email_has_no_wallet(world: World) -> None:
    session, _ = open_session(pointer(), SessionKind.EMAIL, "a@shop.example", world.now, world.services.entropy)
    for none in (session, None):
        with pytest.raises(Forbidden, match="wallet session required"):
            flows.wallet_of(none)


# --- links of a bound client id ---


def test_a_bound_client_id_creates_links_that_carry_only_an_amount(world: World) -> None:
    client = new_client(world)
    add(world, client)
    request = create(world, client).requests[0]
    assert (request.payee, request.currency, request.amount) == (WALLET.address, "fUSDC-sepolia", 12_500_000)


def test_an_account_binds_a_client_id_to_the_destination_its_wallet_keeps(world: World) -> None:
    made = keep(world, world.account_id)
    client = new_client(world, payee_destination_id=made.destination_id)
    assert create(world, client).requests[0].payee == WALLET.address


def test_without_an_active_destination_an_amount_alone_is_refused(world: World) -> None:
    client = new_client(world)
    with pytest.raises(BadRequest, match="no client ID with an active payee destination is calling"):
        create(world, client)
    made = add(world, client)
    remove(world, client, made)
    with pytest.raises(BadRequest, match="no client ID with an active payee destination is calling"):
        create(world, client)


def test_half_of_the_fields_is_no_amount_alone(world: World) -> None:
    client = new_client(world)
    add(world, client)
    for half in ({"payee": WALLET.address}, {"payment_currency": "fUSDC-sepolia"}):
        with pytest.raises(BadRequest, match="needs destinationId, or payee"):
            create(world, client, **half)


def test_a_bound_client_id_is_paid_nowhere_else(world: World) -> None:
    client = new_client(world)
    made = add(world, client)
    text = r"^Destination does not match the configured payment destination\.$"
    elsewhere = (
        {"destination_id": destination_id(Destination(WALLET.address, SEPOLIA, FUSDT_SEPOLIA))},
        {"destination_id": destination_id(Destination(evm_wallet("other").address, SEPOLIA, FUSDC_SEPOLIA))},
        {"payee": evm_wallet("other").address, "currency": "fUSDC-sepolia"},
        {"payee": WALLET.address, "currency": "ETH-sepolia-sepolia"},
    )
    for fields in elsewhere:
        with pytest.raises(Forbidden, match=text):
            create(world, client, **fields)
    for same in (
        {"destination_id": made.destination_id.replace(WALLET.address, WALLET.address.lower())},
        {"payee": WALLET.address.lower(), "currency": "USDC-sepolia"},
    ):
        assert create(world, client, **same).requests[0].payee == WALLET.address
    remove(world, client, made)
    assert create(world, client, **elsewhere[0]).requests[0].currency == "fUSDT-sepolia"


@pytest.mark.parametrize(
    ("own", "asked_for", "expected"),
    [
        (None, ("1", FEE_ADDRESS), ("1", FEE_ADDRESS)),
        ("0", ("1", FEE_ADDRESS), ("1", FEE_ADDRESS)),
        ("0", (None, None), (None, None)),
        ("2.5", ("1", FEE_ADDRESS), ("2.5", WALLET.address)),
        ("2.5", (None, None), ("2.5", WALLET.address)),
    ],
)
def test_the_fee_of_a_client_id_goes_before_the_requests_unless_it_is_zero(
    world: World, own: str | None, asked_for: tuple[Any, Any], expected: tuple[Any, Any]
) -> None:
    fee = {"fee_percentage": own, "fee_address": WALLET.address} if own else {}
    client = new_client(world, **fee)
    percentage, address = asked_for
    fields = {"payee": WALLET.address, "currency": "fUSDC-sepolia"}
    link = create(world, client, fee_percentage=percentage, fee_address=address, **fields).link
    assert (link.fee_percentage, link.fee_address) == expected


def test_a_wrong_fee_is_refused_also_where_the_client_ids_own_would_count(world: World) -> None:
    client = new_client(world, fee_percentage="2", fee_address=WALLET.address)
    with pytest.raises(BadRequest, match="feePercentage"):
        create(world, client, payee=WALLET.address, currency="fUSDC-sepolia", fee_percentage="-1")


def test_a_binding_costs_one_read_more(world: World) -> None:
    client = new_client(world)
    add(world, client)
    bound = owner(world, client)
    bare = {"payee": None, "invoice_currency": None, "payment_currency": None}
    with counted(world.client) as calls:
        links.create(world.services, bound, draft(**bare))
        assert calls.by_operation.pop("GetItem") == 2, "the destination, and once a minute what the account has chosen"
        links.create(world.services, bound, draft(**bare))
    assert dict(calls.by_operation) == {"GetItem": 1, "TransactWriteItems": 2}


def test_a_nonce_that_is_used_between_reading_and_writing_is_an_invalid_one(world: World) -> None:
    client = new_client(world)
    nonce, signature = asked(world, client)
    slower = world.start()
    reads, query = slower.store.query, world.services.store.query

    def rival(*place: Any) -> Any:
        flows.add(world.services, world.actor, client, nonce, signature, vouched=True)
        return reads(*place)

    slower.store.query = rival  # type: ignore[method-assign]
    with pytest.raises(BadRequest, match="Invalid or expired nonce"):
        flows.add(slower, world.actor, client, nonce, signature, vouched=True)
    assert query(PayeeDestination, PayeeDestination.KEY.all(account_id=world.account_id))
