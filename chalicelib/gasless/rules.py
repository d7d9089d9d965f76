"""Decides what a gasless payment is and costs, which ones a batch makes, and what becomes of them.

    OFFERED   signed: the request is locked from then on
    SIGNED    in no transaction: tried again, until its deadline       FAILED
    SENDING   part of a batch: its call succeeded                      PAID
              its call reverted: alone in the next one, once           FAILED
              its call was never made                                  SIGNED

The network fee is what the payment alone would cost, in the token, by the market with a margin; a batch costs less.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from chalicelib.base import ids
from chalicelib.base.addresses import ZERO_ADDRESS, same_address
from chalicelib.base.errors import BadRequest, ChainUnavailable, Conflict
from chalicelib.base.frozen import frozen, make_from
from chalicelib.base.keccak import keccak256
from chalicelib.base.money import MAX_UINT256, BaseUnits, format_amount
from chalicelib.chains.calldata import fee_proxy
from chalicelib.chains.calldata.abi import address_word, uint_word
from chalicelib.chains.calldata.tokens import erc20, erc3009
from chalicelib.chains.calldata.tokens.erc3009 import Authorization
from chalicelib.chains.calldata.tokens.token_domains import TokenDomain
from chalicelib.chains.calldata.transaction import Transaction
from chalicelib.chains.calldata.wallets.delegate import execute_batch
from chalicelib.chains.catalogue.contracts import ERC20_FEE_PROXY, MULTICALL3, address_of
from chalicelib.chains.catalogue.tokens import Token
from chalicelib.chains.nodes.readings import AccountReading
from chalicelib.gasless.records import GaslessBatch, GaslessPayment, Stage
from chalicelib.payments.links.records import AnnouncedStatus, Flow, LinkAnnouncements, Payable, PaymentType, Proof
from chalicelib.payments.payable.rules import Position
from chalicelib.payments.requests.records import Request
from chalicelib.payments.requests.rules import currency_of, invoice_of, remaining
from chalicelib.platform.access.modes import Mode
from chalicelib.relayer.rules import SENT_BEFORE, signature_gas

LIFETIME = timedelta(minutes=15)
"""How long a payer has for the signature, and the service for the payment."""
LEAST_TIME = timedelta(minutes=2)
"""Before the deadline: a signature is accepted no later."""
COUNTS_AFTER = timedelta(seconds=30)
"""How long after a signature was accepted a node is believed that the payment would fail: nodes may lag."""
_OFFER_SECONDS = 120
"""For how long the same offer is made again."""
MOST_IN_BATCH = 20
BATCH_EVERY = timedelta(minutes=1)
MOST_REVERTS = 2
"""After so many batches that reverted a payment is given up."""
LONGEST_SIGNATURE = 1_024
"""In bytes: contract wallets have longer ones than keys."""
_BATCH_BYTES = 22_000
"""Of the calls of a batch, which the relayer takes up to 24,000 bytes of."""
_CALL_BYTES = 192
"""What a call of a batch has besides its data: six words at most."""
ALONE_GAS = 150_000
"""What the network fee pays for. Measured with USDC's code: 135,423, and 70,147 for each of twenty."""
_BATCH_GAS, _PAYMENT_GAS = 60_000, 200_000
"""The most gas that a batch is given, and what each payment adds. A first payment to an address costs more."""
MARGIN_PERCENT = 25
_MOST_APART = 2
"""How many times as much as the lowest the highest price may be that a node names: blocks and suggestions differ."""
LEAST_CENTS = 1
"""The least network fee, in hundredths of the token."""
RETRY_AFTER = timedelta(seconds=20)
GAS_COSTS_MORE = "gas costs more now than the network fee pays for"


@frozen
class Price:
    """What a payer pays for the network, in base units of the token, and up to which price of gas that is enough."""

    network_fee: BaseUnits
    gas_price: BaseUnits


@frozen
class Wish:
    """A payment that a payer may sign: its id, what is due, its price, who makes it (`sender`), and the token's domain.
    """

    payment_id: str
    position: Position
    client_id: str | None
    payer: str
    sender: str
    domain: TokenDomain
    price: Price


def check_payer(payer: str | None) -> str:
    """The payer. Raises BadRequest if none is named."""
    if payer is None:
        raise BadRequest("wallet is needed with gasless: the address that signs")
    return payer


def why_refused(payable: Payable) -> str | None:
    """Why a payable is not paid without gas, whoever pays it; None if it may be."""
    link = payable.link
    if link is not None and (link.payment_type is not PaymentType.SINGLE or link.flow is Flow.PAY):
        return "Only a link of one payment that is not a payout is paid without gas: pay it with transactions"
    if payable.commerce is not None:
        return (
            "A commerce payment goes into its escrow: without gas its payer signs signatures.erc3009, which the "
            "creation with buyerAddress returns and authorize takes; else pay it with transactions"
        )
    (request,) = payable.requests
    token = currency_of(request)
    if request.recurring_payment_id is not None or request.is_crypto_to_fiat:
        return "This request is not paid without gas: pay it with transactions"
    if invoice_of(request) != token or token.is_native or token.network == "tron":
        return "Only a token in which the amount is invoiced, on an EVM network, is paid without gas"
    return None


def gas_cost(reading: AccountReading) -> tuple[BaseUnits, int]:
    """What a payment alone costs with the margin, in base units of the native coin, and the price of gas in that."""
    price = (reading.base_fee + reading.tip) * (100 + MARGIN_PERCENT) // 100
    return BaseUnits(price), price * ALONE_GAS


def price_gas(token: Token, cost: int, gas_price: BaseUnits, amount: int) -> Price:
    """The price of a payment whose gas costs `cost` base units of the token. Raises BadRequest if that is more than the
    amount."""
    least = 10**token.decimals * LEAST_CENTS // 100
    fee = max(cost, least)
    if fee > amount:
        shown = format_amount(BaseUnits(fee), token.decimals)
        raise BadRequest(f"The network costs {shown} {token.symbol} now, which is more than the payment: pay with gas")
    return Price(BaseUnits(fee), gas_price)


def agree_on_price(network: str, prices: Sequence[Price]) -> Price:
    """The highest of the prices that nodes name. Raises ChainUnavailable if another one is less than half of it: by one
    that is too low the payment would never be made, and by one that is too high its payer would pay for nothing."""
    fees = [each.network_fee for each in prices]
    if max(fees) > _MOST_APART * min(fees):
        raise ChainUnavailable(f"The nodes of {network} do not name the same price of gas")
    return Price(max(fees), max(each.gas_price for each in prices))


def offer_id(position: Position, client_id: str | None, payer: str, sender: str, now: datetime) -> str:
    """The id of an offer: for two minutes the same for what is the same, so that who asks again and again has no more
    stored. After a payment of the request that its payer has signed it is another one."""
    request, due = position.owed.request, position.due
    execution = request.execution.intent_id if request.execution is not None else ""
    paid = (position.owed.amount, due.token.id, due.payee, due.amount, due.fee, due.fee_address)
    terms = (request.request_id, execution, client_id, payer.lower(), sender, *paid)
    begun = datetime.fromtimestamp(now.timestamp() // _OFFER_SECONDS * _OFFER_SECONDS, UTC)
    return ids.ulid_from(begun, keccak256("|".join(map(str, terms)).encode())[:10])


def offer_payment(wish: Wish, now: datetime) -> GaslessPayment:
    """The gasless payment of a wish. Raises BadRequest for a receiver from which anybody could take what it has."""
    if same_address(wish.sender, address_of(MULTICALL3, wish.position.due.token.network)):
        raise BadRequest("Multicall3 receives nothing: anybody may spend what it has")
    owed, due = wish.position.owed, wish.position.due
    value = due.amount + due.fee + wish.price.network_fee
    terms = {"payer": wish.payer, "to": wish.sender, "value": value, "valid_before": int((now + LIFETIME).timestamp())}
    unsigned = make_from(Authorization, wish.domain, **terms, nonce="")
    made = GaslessPayment(
        payment_id=wish.payment_id,
        account_id=owed.request.account_id,
        client_id=wish.client_id,
        request_id=owed.request.request_id,
        network=due.token.network,
        currency=due.token.id,
        payee=due.payee,
        reference="0x" + due.reference.hex(),
        owed=owed.amount,
        amount=due.amount,
        fee=due.fee,
        fee_address=due.fee_address if due.fee else None,
        network_fee=wish.price.network_fee,
        gas_price=wish.price.gas_price,
        authorization=unsigned,
        created_at=now,
        link_token=owed.request.link_token,
        is_public=owed.request.created_with is Mode.CLIENT_ID,
    )
    return replace(made, authorization=replace(unsigned, nonce=terms_hash(made)))


def terms_hash(payment: GaslessPayment) -> str:
    """The nonce of the authorization: the Keccak-256 of all terms, each a word of 32 bytes, so that what was signed can
    be shown afterwards.

        chain id | token | payer | sender | payee | amount | reference | fee | fee address | network fee | deadline |
        Keccak-256 of the payment's id
    """
    signed = payment.authorization
    words = (
        uint_word(signed.chain_id),
        address_word(signed.token),
        address_word(signed.payer),
        address_word(signed.to),
        address_word(payment.payee),
        uint_word(payment.amount),
        bytes.fromhex(payment.reference[2:]).ljust(32, b"\0"),
        uint_word(payment.fee),
        address_word(payment.fee_address or ZERO_ADDRESS),
        uint_word(payment.network_fee),
        uint_word(signed.valid_before),
        keccak256(payment.payment_id.encode()),
    )
    return "0x" + keccak256(b"".join(words)).hex()


def check_signable(payment: GaslessPayment, now: datetime) -> None:
    """Raises BadRequest once it is too late for a signature."""
    if now > payment.deadline - LEAST_TIME:
        raise BadRequest("This gasless payment has expired: get another one from /pay, and sign that")


def check_due(payment: GaslessPayment, request: Request, left: int) -> None:
    """Raises Conflict unless the request is still to be paid as it was offered."""
    if request.is_closed or left < payment.owed:
        raise Conflict("Less is due of this request now: get another gasless payment from /pay, and sign that")


def check_last_ended(last: GaslessPayment | None) -> None:
    """Raises Conflict while the payment that the payer has signed last on the network is made."""
    if last is not None and last.stage in (Stage.SIGNED, Stage.SENDING):
        raise Conflict(
            f"This wallet has signed another payment on {last.network}, {last.payment_id}, which is being made: sign "
            "this one once that has ended, as both could take the same tokens"
        )


def accept_payment(payment: GaslessPayment, signature: bytes, runs_code: bool, now: datetime) -> GaslessPayment:
    """The payment once its signature is known to be right."""
    text = "0x" + signature.hex()
    signed = replace(payment, stage=Stage.SIGNED, signature=text, runs_code=runs_code)
    return replace(signed, accepted_at=now, check_at=now)


def calls_of(payment: GaslessPayment) -> tuple[Transaction, Transaction]:
    """What makes a payment: the payer's transfer to the service's account, and the payment from there."""
    assert payment.signature is not None, "it is signed"
    taken = erc3009.receive(payment.authorization, bytes.fromhex(payment.signature[2:]))
    paid = fee_proxy.pay_erc20(
        payment.network,
        token=payment.authorization.token,
        payee=payment.payee,
        amount=payment.amount,
        reference=bytes.fromhex(payment.reference[2:]),
        fee_amount=payment.fee,
        fee_address=payment.fee_address,
    )
    return taken, paid


def transaction_of(sender: str, payments: Sequence[GaslessPayment], approved: Sequence[str]) -> Transaction:
    """The one transaction that makes payments; the fee proxy is allowed those of their tokens first that are not among
    the `approved` ones (lower case)."""
    proxy = address_of(ERC20_FEE_PROXY, payments[0].network)
    tokens = dict.fromkeys(each.authorization.token for each in payments)
    approvals = [erc20.approve(token, proxy, MAX_UINT256) for token in tokens if token.lower() not in approved]
    return execute_batch(sender, [*approvals, *(call for each in payments for call in calls_of(each))])


def most_gas(payments: Sequence[GaslessPayment]) -> int:
    """The gas limit of a batch."""
    signatures = sum(signature_gas(each.network) for each in payments if each.runs_code)
    return _BATCH_GAS + _PAYMENT_GAS * len(payments) + signatures


def size_of(payment: GaslessPayment) -> int:
    """How many bytes it adds to a batch, at most."""
    return sum(_CALL_BYTES + len(each.data) // 2 for each in calls_of(payment))


def choose_payments(
    payments: Sequence[GaslessPayment], chance: int, alone: Collection[str] = ()
) -> tuple[GaslessPayment, ...]:
    """The payments of one network that the next batch makes: of one account, chosen by `chance`, those that can be made
    together, one of each payer, who may not have what two take; or one that cannot. That is one that was reverted, or
    whose payer is among those that are `alone`, or has code, which may decide otherwise by then. Of each kind the one
    that has waited longest is the first.

    There is one batch in a minute, and a payment has fifteen. By chance an account's payments are not held up by those
    of another one, nor those that go together by others, nor those of requests that the account has created by those
    of requests that anybody can create with its client id, however many these are.
    """
    accounts = sorted({each.account_id for each in payments})
    turn, account = divmod(chance, len(accounts))
    of_account = [each for each in payments if each.account_id == accounts[account]]
    ordered = sorted(of_account, key=_place)
    kinds = dict[tuple[bool, bool], list[GaslessPayment]]()
    for each in ordered:
        is_single = bool(each.reverts or each.runs_code or each.payer in alone)
        kinds.setdefault((is_single, each.is_public), []).append(each)
    is_single, is_public = sorted(kinds)[turn % len(kinds)]
    if is_single:
        return (kinds[is_single, is_public][0],)
    found, size = dict[str, GaslessPayment](), 0
    for each in (*kinds[False, is_public], *kinds.get((False, not is_public), ())):
        if each.payer not in found and size + size_of(each) <= _BATCH_BYTES:
            found[each.payer] = each
            size += size_of(each)
    return tuple(found.values())[:MOST_IN_BATCH]


def _place(payment: GaslessPayment) -> tuple[datetime, str]:
    """What payments are ordered by: when they were signed, or are looked at after they were tried without success."""
    since = payment.accepted_at if payment.reason is None else payment.check_at
    return since or payment.created_at, payment.payment_id


def take_turns(payments: Sequence[GaslessPayment], now: datetime) -> list[GaslessPayment]:
    """Payments of a network that are due and in no batch of this minute, each with its next look: when the batches of
    its account can be made that come before it, and no later than its deadline. So what is due has room for others.
    """
    later, before = list[GaslessPayment](), Counter[str]()
    for each in sorted(payments, key=_place):
        turn = RETRY_AFTER + before[each.account_id] // MOST_IN_BATCH * BATCH_EVERY
        later.append(replace(each, reason=None, check_at=min(now + turn, each.deadline)))
        before[each.account_id] += 1
    return later


def afford(payments: Sequence[GaslessPayment], gas: int) -> Sequence[GaslessPayment]:
    """As many of a batch's first payments as so much gas is enough for; none if it is not enough for one."""
    while payments and most_gas(payments) > gas:
        payments = payments[:-1]
    return payments


def most_price(reading: AccountReading) -> int:
    """The highest price of gas that a batch is run with: the base fee may double while it is, as the relayer has it."""
    return 2 * reading.base_fee + reading.tip


def put_off(payment: GaslessPayment, reason: str | None, now: datetime) -> GaslessPayment:
    """The payment with its next look, and why it waits."""
    return replace(payment, reason=reason or payment.reason, check_at=now + RETRY_AFTER)


def begin_sending(batch: GaslessBatch, payment: GaslessPayment) -> GaslessPayment:
    return replace(payment, stage=Stage.SENDING, batch_id=batch.batch_id, reason=None, check_at=None)


def release_payment(payment: GaslessPayment, reason: str | None, has_reverted: bool, now: datetime) -> GaslessPayment:
    """The payment after its batch was not made: it is signed, and in no transaction."""
    reverts = payment.reverts + has_reverted
    return replace(payment, stage=Stage.SIGNED, reason=reason, reverts=reverts, check_at=now + RETRY_AFTER)


def end_payment(
    payment: GaslessPayment, stage: Stage, tx_hash: str | None, reason: str | None, now: datetime
) -> GaslessPayment:
    return replace(payment, stage=stage, tx_hash=tx_hash, reason=reason, ended_at=now, check_at=None)


def is_due(payment: GaslessPayment, now: datetime) -> bool:
    """Whether it is to be made, and not put off."""
    is_put_off = payment.check_at is None or payment.check_at > now
    return payment.stage is Stage.SIGNED and not is_put_off and not is_late(payment, now)


def is_late(payment: GaslessPayment, now: datetime) -> bool:
    """Whether its deadline may be over when its block comes."""
    return now > payment.deadline - SENT_BEFORE


def why_gone(payment: GaslessPayment, request: Request | None, now: datetime) -> str | None:
    """Why a payment that no transaction has is made no more; None if it still is."""
    if request is None:
        return "the request is not kept any more"
    if request.is_closed:
        return "the request was paid in another way, or cancelled"
    if remaining(request) < payment.owed:
        return "a part of the request was paid in another way"
    if now >= payment.deadline:
        return f"its deadline is over: {payment.reason}" if payment.reason else "its deadline is over"
    if payment.reverts >= MOST_REVERTS:
        return payment.reason or "its transactions were reverted"
    return None


def why_postponed(announcements: LinkAnnouncements | None) -> str | None:
    """Why a payment of a link with these announced transactions is not made yet: the node has one that may pay it. A
    mere claim holds nothing up."""
    announced = announcements.all if announcements is not None else ()
    if any(each.status is AnnouncedStatus.PENDING and each.proof is Proof.SENT for each in announced):
        return "another transaction that may pay the link was sent"
    return None


def may_contradict(payment: GaslessPayment, now: datetime) -> bool:
    """Whether a node is believed that a payment would fail."""
    return payment.accepted_at is not None and now - payment.accepted_at >= COUNTS_AFTER
