"""Gasless payments of links: by whoever has the link, beside every other way to pay it, and with the link's own end."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

import chalicelib.payments.links.responses  # noqa: F401 - says what the bodies of refusals show
from chalicelib.base.errors import BadRequest, Conflict, Forbidden, NotFound, ServiceError
from chalicelib.checkout import flows as checkout
from chalicelib.checkout.announcements import flows as announcements
from chalicelib.checkout.rules import PayOptions
from chalicelib.checkout.signing.flows import claim as claim_signing
from chalicelib.gasless import flows
from chalicelib.gasless.records import GaslessPayment, Stage
from chalicelib.payments.announcements.admission import Announcement
from chalicelib.payments.links import expiry
from chalicelib.payments.links.cancelling.flows import cancel_link
from chalicelib.payments.links.errors import LinkAwaitingChain, LinkBeingSigned, LinkClosed, LinkCompleted, LinkLocked
from chalicelib.payments.links.reading import Viewer
from chalicelib.payments.links.records import Flow, LinkStatus
from chalicelib.payments.requests.records import RequestStatus
from chalicelib.platform.access.credentials.records import ClientId, CredentialStatus
from chalicelib.platform.access.credentials.rules import credential_hash
from chalicelib.platform.access.modes import Mode
from chalicelib.platform.http.errors import details_of
from chalicelib.webhooks.records import Event
from tests.fakes.crash import Interruption, Tripwire
from tests.fakes.gasless import HAD, PAGE, PAYER, RIGHT, Gasless
from tests.fakes.world import WALLET, draft
from tests.gasless.test_races import accept, check, pay_by_transaction, settle


def shop() -> Gasless:
    gasless = Gasless(of_link=True)
    gasless.delegations = 1
    return gasless


def token(gasless: Gasless) -> str:
    assert gasless.link is not None
    return gasless.link.link.token


def status(gasless: Gasless) -> LinkStatus:
    assert gasless.link is not None
    return gasless.world.load(gasless.link).link.status


def pay(gasless: Gasless, viewer: Viewer = PAGE, wallet: str | None = PAYER) -> GaslessPayment:
    return checkout.pay_gasless(gasless.services, token(gasless), viewer, PayOptions(wallet))


def is_offered(gasless: Gasless, viewer: Viewer = PAGE) -> bool:
    return checkout.describe(gasless.services, token(gasless), viewer, None).is_gasless


def cancel(gasless: Gasless) -> None:
    viewer = Viewer(gasless.world.account_id, None, mode=Mode.API_KEY)
    cancel_link(gasless.services, token(gasless), viewer, gasless.world.actor)


def send(gasless: Gasless) -> None:
    """Sends a transaction that pays the link, which the node has, and announces it as the page does."""
    announce(gasless, gasless.chain.send(gasless.request))


def announce(gasless: Gasless, tx_hash: str) -> None:
    drafted = Announcement(tx_hash, None, None, "BASE", "USDC", None, announcer="a" * 64)
    announcements.record(gasless.services, token(gasless), PAGE, drafted)


def claim(gasless: Gasless) -> None:
    claim_signing(gasless.services, token(gasless), PAGE, "b" * 64, "0x" + "0c" * 32)


def test_whoever_has_the_link_pays_it_by_a_signature() -> None:
    gasless = shop()
    assert is_offered(gasless)
    made = pay(gasless)
    assert pay(gasless).payment_id == made.payment_id
    gasless.accept(made)
    settle(gasless)
    assert (gasless.load(made).stage, status(gasless)) == (Stage.PAID, LinkStatus.COMPLETED)
    assert flows.visible_of_link(gasless.services, token(gasless), PAGE, made.payment_id).tx_hash
    assert gasless.state.balances[PAYER.lower()] == HAD - made.authorization.value
    with pytest.raises(LinkCompleted):
        pay(gasless)


def test_while_it_is_made_the_link_is_as_one_whose_payment_is_under_way() -> None:
    gasless = shop()
    made, other = gasless.offer(), gasless.offer(WALLET)
    gasless.accept(made)
    for _ in range(3):
        for ask in (
            lambda: pay(gasless), lambda: checkout.pay(gasless.services, token(gasless), PAGE, PayOptions(WALLET)),
            lambda: is_offered(gasless), lambda: claim(gasless), lambda: gasless.accept(other),
        ):  # fmt: skip
            with pytest.raises(LinkLocked) as refused:
                ask()
            (shown,) = details_of(refused.value)["requestStatuses"]
            assert (shown["gaslessPaymentId"], shown["hasBeenPaid"]) == (made.payment_id, False)
        with pytest.raises(Conflict, match="is being made: wait for its end"):
            cancel(gasless)
        assert gasless.accept(made).stage in (Stage.SIGNED, Stage.SENDING)
        gasless.run()
        gasless.world.advance(15)
    assert gasless.load(made).stage is Stage.SENDING
    check(gasless, made)


def test_a_stranger_sees_no_payment_of_a_link_and_one_link_shows_none_of_another() -> None:
    gasless = shop()
    made, other = gasless.offer(), gasless.world.create_link(currency="USDC-base")
    unknown = [("01M7W6TC8F5481TMW6M18FVN1N", PAGE, made.payment_id), (other.link.token, PAGE, made.payment_id)]
    stranger = Viewer("another", None, mode=Mode.API_KEY)
    for name, viewer, payment_id in (*unknown, (token(gasless), stranger, made.payment_id), (token(gasless), PAGE, "x" * 99)):
        with pytest.raises(NotFound):
            flows.visible_of_link(gasless.services, name, viewer, payment_id)
        with pytest.raises(NotFound):
            flows.accept_for_link(gasless.services, name, viewer, payment_id, "0x" + RIGHT.hex())
    assert gasless.load(made).stage is Stage.OFFERED


def test_a_link_that_cannot_be_paid_is_not_paid_without_gas_either() -> None:
    gasless = shop()
    made = gasless.offer()
    assert gasless.link is not None
    claim(gasless)
    for ask in (lambda: pay(gasless), lambda: gasless.accept(made)):
        with pytest.raises(LinkBeingSigned):
            ask()
    gasless.world.advance(5 * 60)
    send(gasless)
    for ask in (lambda: pay(gasless, replace(PAGE, announcer="a" * 64)), lambda: gasless.accept(made)):
        with pytest.raises(LinkLocked):
            ask()
    gasless = shop()
    made = gasless.offer()
    gasless.world.now = gasless.world.load(gasless.link).link.expires_at  # type: ignore[arg-type]
    with pytest.raises(LinkAwaitingChain):
        pay(gasless)
    gasless = shop()
    made = gasless.offer()
    cancel(gasless)
    for ask in (lambda: pay(gasless), lambda: gasless.accept(made)):
        with pytest.raises(LinkClosed):
            ask()


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"items": draft(currency="USDC-base").items * 2}, "Only a link of one payment"),
        ({"currency": "ETH-base-base"}, "Only a token"),
        ({"invoice_currency": "USD", "payment_currency": "USDC-base"}, "Only a token"),
    ],
)
def test_links_of_other_kinds_are_refused_in_words_and_never_offered(changes: dict[str, Any], why: str) -> None:
    gasless = shop()
    gasless.link = gasless.world.create_link(**changes)
    with pytest.raises(BadRequest, match=why):
        pay(gasless)
    assert not is_offered(gasless)


def test_a_payout_and_a_network_without_gasless_payments_are_refused_in_words() -> None:
    gasless = shop()
    assert gasless.link is not None
    stored = gasless.world.load(gasless.link)
    gasless.services.secrets.gasless_networks = ""
    with pytest.raises(BadRequest, match="makes no gasless payments on base"):
        pay(gasless)
    assert not is_offered(gasless)
    with pytest.raises(BadRequest, match="wallet is needed"):
        pay(gasless, wallet=None)
    gasless.services.store.write(replace(stored.link, flow=Flow.PAY, creator_wallet=PAYER))
    with pytest.raises(BadRequest, match="Only a link of one payment that is not a payout"):
        pay(gasless)


def test_nothing_is_offered_to_an_account_that_is_not_the_one_that_the_operator_names() -> None:
    gasless = shop()
    for named in (gasless.account, gasless.account.lower(), ""):
        gasless.services.secrets.gasless_networks = f"base={named}"
        assert pay(gasless).authorization.to == gasless.account
    gasless.services.secrets.gasless_networks = f"optimism={gasless.account},base={PAYER}"
    with pytest.raises(BadRequest, match="No gasless payments are made on base: .* has to correct the account"):
        pay(gasless)


def test_the_payee_of_a_link_does_not_pay_it() -> None:
    gasless = shop()
    with pytest.raises(ServiceError, match="is the payee"):
        pay(gasless, wallet=gasless.request.payee)


def test_a_link_that_a_client_id_alone_has_created_needs_the_word_of_its_owner() -> None:
    gasless = shop()
    assert gasless.link is not None
    link, now = gasless.world.load(gasless.link).link, gasless.world.now
    gasless.services.store.write(replace(link, created_with=Mode.CLIENT_ID))
    made = pay(gasless, Viewer("acct", None, mode=Mode.API_KEY))
    for is_allowed in (None, False):
        if is_allowed is not None:
            client = ClientId(
                credential_hash("cli_shop"), "cli_shop", "1", "acct", "web", (), CredentialStatus.ACTIVE, now
            )
            client = gasless.services.store.write(client)
        for ask in (lambda: pay(gasless), lambda: gasless.accept(made)):
            with pytest.raises(Forbidden, match="mayExecute"):
                ask()
        assert not is_offered(gasless)
    gasless.services.store.write(replace(client, may_execute=True))
    assert is_offered(gasless)
    gasless.accept(made)
    assert gasless.load(made).stage is Stage.SIGNED


def test_a_payment_that_was_not_made_is_the_last_one_of_a_link_that_its_page_offers() -> None:
    gasless = shop()
    gasless.accept(made := gasless.offer())
    gasless.state.balances[PAYER.lower()] = 0
    settle(gasless)
    assert gasless.load(made).stage is Stage.FAILED
    (failed,) = [each for each in gasless.services.store.all(Event) if each.kind == "payment.failed"]
    assert json.loads(failed.body)["failureReason"] == gasless.load(made).reason
    assert not is_offered(gasless)
    with pytest.raises(Conflict, match="signed before and not made"):
        pay(gasless)
    assert is_offered(gasless, Viewer("acct", None, mode=Mode.API_KEY))
    checkout.pay(gasless.services, token(gasless), PAGE, PayOptions(WALLET))


def test_a_link_does_not_expire_while_its_payment_is_made() -> None:
    gasless = shop()
    assert gasless.link is not None
    ends_at = gasless.world.load(gasless.link).link.expires_at
    gasless.world.now = ends_at - timedelta(seconds=30)
    gasless.accept(made := gasless.offer())
    for _ in range(3):
        gasless.world.advance(60)
        gasless.world.scan()
        assert not expiry.expire_due(gasless.services)
        with pytest.raises(LinkLocked):
            pay(gasless)
    settle(gasless)
    assert (gasless.load(made).stage, status(gasless)) == (Stage.PAID, LinkStatus.COMPLETED)


def test_a_link_expires_once_its_payment_was_given_up() -> None:
    gasless = shop()
    assert gasless.link is not None
    gasless.world.now = gasless.world.load(gasless.link).link.expires_at - timedelta(seconds=30)
    gasless.accept(made := gasless.offer())
    gasless.state.balances[PAYER.lower()] = 0
    gasless.world.advance(60)
    gasless.world.scan()
    assert not expiry.expire_due(gasless.services)
    settle(gasless)
    assert gasless.load(made).stage is Stage.FAILED
    assert expiry.expire_due(gasless.services)
    assert status(gasless) is LinkStatus.EXPIRED


Act = Callable[[Gasless], None]


def calls_of_accepting() -> int:
    gasless, wire = shop(), Tripwire()
    accept(gasless, gasless.offer(), wire)
    return wire.calls


def meanwhile(act: Act) -> Iterator[tuple[Gasless, GaslessPayment]]:
    """Links of which a signature is accepted, with `act` between any two of the calls that this takes."""

    def quietly(gasless: Gasless) -> None:
        try:
            act(gasless)
        except ServiceError:  # what comes second is refused
            return

    for position in range(1, calls_of_accepting() + 1):
        gasless = shop()
        made = gasless.offer()
        accept(gasless, made, Interruption(position, lambda one=gasless: quietly(one)))  # type: ignore[misc]
        yield gasless, made


def test_a_link_that_is_cancelled_while_a_signature_is_accepted_is_one_or_the_other() -> None:
    ends = set()
    for gasless, made in meanwhile(cancel):
        is_cancelled = status(gasless) is LinkStatus.CANCELLED
        assert (gasless.load(made).stage is Stage.OFFERED) is is_cancelled is not gasless.loaded().is_executed
        ends.add(is_cancelled)
        check(gasless, made)
        assert gasless.state.made["paid"] == (not is_cancelled)
    assert True in ends


def test_a_link_that_ends_while_a_signature_is_accepted_is_not_paid_by_it() -> None:
    def expire(gasless: Gasless) -> None:
        gasless.world.advance(8 * 86_400)
        gasless.world.scan()
        assert gasless.link is not None
        gasless.services.store.write(replace(gasless.world.load(gasless.link).link, status=LinkStatus.EXPIRED))

    for gasless, made in meanwhile(expire):
        assert gasless.load(made).stage is Stage.OFFERED
        assert not gasless.loaded().is_executed


def test_of_a_signature_and_a_claim_to_sign_transactions_at_once_one_is_accepted() -> None:
    for gasless, made in meanwhile(claim):
        assert gasless.load(made).stage is Stage.OFFERED
        assert gasless.link is not None and gasless.world.load(gasless.link).signing is not None


def test_who_has_claimed_to_sign_is_offered_the_payment_and_signs_and_nobody_else_meanwhile() -> None:
    gasless = shop()
    made, own = gasless.offer(), replace(PAGE, announcer="b" * 64)
    claim(gasless)
    for viewer in (PAGE, replace(PAGE, announcer="c" * 64)):
        with pytest.raises(LinkBeingSigned):
            pay(gasless, viewer)
        with pytest.raises(LinkBeingSigned):
            flows.accept_for_link(gasless.services, token(gasless), viewer, made.payment_id, "0x" + RIGHT.hex())
    assert pay(gasless, own).payment_id == made.payment_id
    flows.accept_for_link(gasless.services, token(gasless), own, made.payment_id, "0x" + RIGHT.hex())
    assert gasless.load(made).stage is Stage.SIGNED


def test_a_transaction_that_was_announced_locks_also_who_has_announced_it() -> None:
    gasless = shop()
    made, own = gasless.offer(), replace(PAGE, announcer="a" * 64)
    send(gasless)
    with pytest.raises(LinkLocked):
        flows.accept_for_link(gasless.services, token(gasless), own, made.payment_id, "0x" + RIGHT.hex())


def another(gasless: Gasless, wallet: str = PAYER) -> GaslessPayment:
    """What is offered to a wallet of another link of the merchant."""
    made = gasless.world.create_link(currency="USDC-base").link.token
    return checkout.pay_gasless(gasless.services, made, PAGE, PayOptions(wallet))


def sign(gasless: Gasless, made: GaslessPayment, services: Any = None) -> GaslessPayment:
    text, of_link = "0x" + RIGHT.hex(), str(made.link_token)
    return flows.accept_for_link(services or gasless.services, of_link, PAGE, made.payment_id, text)


def test_a_wallet_has_one_signed_payment_on_a_network_that_is_being_made() -> None:
    gasless = shop()
    first, second = gasless.offer(), another(gasless)
    gasless.accept(first)
    gasless.state.balances[WALLET.lower()] = HAD
    assert sign(gasless, another(gasless, WALLET)).stage is Stage.SIGNED, "of another wallet"
    for stage in (Stage.SIGNED, Stage.SENDING):
        while gasless.load(first).stage is not stage:
            gasless.run()
            gasless.world.advance(15)
        with pytest.raises(Conflict, match=f"another payment on base, {first.payment_id}, which is being made"):
            sign(gasless, second)
        assert gasless.accept(first).payment_id == first.payment_id, "the same one again"
    settle(gasless)
    assert gasless.load(first).stage is Stage.PAID
    for number in range(2):
        later = another(gasless)
        assert sign(gasless, later).stage is Stage.SIGNED
        gasless.state.balances[PAYER.lower()] = 0
        settle(gasless)
        assert gasless.load(later).stage is Stage.FAILED, number
        gasless.state.balances[PAYER.lower()] = HAD


def test_of_two_signatures_of_a_wallet_at_once_for_different_links_one_is_accepted() -> None:
    for position in range(1, calls_of_accepting() + 1):
        gasless = shop()
        made, other = gasless.offer(), another(gasless)

        def sign_other(one: Gasless = gasless, wanted: GaslessPayment = other) -> None:
            try:
                sign(one, wanted)
            except Conflict:
                return

        accept(gasless, made, Interruption(position, sign_other))
        assert [gasless.load(each).stage for each in (made, other)].count(Stage.SIGNED) == 1, position


def test_of_a_signature_and_an_announced_transaction_at_once_one_is_accepted() -> None:
    for gasless, made in meanwhile(send):
        assert gasless.load(made).stage is Stage.OFFERED
        with pytest.raises(LinkLocked):
            pay(gasless)


def test_a_payment_waits_for_a_transaction_that_was_sent_besides_and_is_not_made_if_that_pays() -> None:
    gasless = shop()
    gasless.accept(made := gasless.offer())
    send(gasless)
    for _ in range(3):
        gasless.world.advance(30)
        gasless.run()
    waits = gasless.load(made)
    assert (waits.stage, waits.reason) == (Stage.SIGNED, "another transaction that may pay the link was sent")
    pay_by_transaction(gasless)
    settle(gasless)
    assert gasless.load(made).reason == "Nothing was taken: the request was paid in another way, or cancelled"
    assert (gasless.state.made["taken"], status(gasless)) == (0, LinkStatus.COMPLETED)


def test_a_mere_claim_that_something_was_sent_holds_no_payment_up() -> None:
    gasless = shop()
    gasless.accept(made := gasless.offer())
    announce(gasless, "0x" + "7e" * 32)
    gasless.world.advance(30)
    gasless.run()
    assert gasless.load(made).stage is Stage.SENDING
    check(gasless, made)


def test_a_part_that_is_paid_besides_ends_the_payment_of_the_whole() -> None:
    gasless = shop()
    gasless.accept(made := gasless.offer())
    gasless.chain.pay(gasless.loaded(), amount=1)
    gasless.chain.mine(3)
    gasless.world.scan()
    assert gasless.loaded().status is RequestStatus.PARTIALLY_PAID
    settle(gasless)
    assert gasless.load(made).reason == "Nothing was taken: a part of the request was paid in another way"
    assert gasless.state.made["taken"] == 0
