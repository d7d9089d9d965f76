"""What a simulation knows of the chains, the receivers and the purses, for the invariants that compare it."""

from collections import Counter, defaultdict
from json import loads
from typing import TYPE_CHECKING

from chalicelib.base.addresses import same_address
from chalicelib.chains.catalogue.tokens import token_with_id
from chalicelib.payments.requests.records import Request
from chalicelib.payments.requests.references import reference_topic
from infra.check.truths import Notification, Truth
from tests.fakes.bridge import SOURCE_USDC
from tests.fakes.escrows import OPERATOR
from tests.simulation.escrowed import Bridged
from tests.simulation.people import Invoice

if TYPE_CHECKING:
    from tests.simulation.scene import Scene


def of(run: "Scene") -> Truth:
    """The truth of this moment."""
    requests = {reference_topic(bytes.fromhex(each.payment_reference[2:])): each for each in run.deployment.store.all(Request)}
    moved: dict[str, list[tuple[str, int]]] = defaultdict(list)
    purses = Counter[tuple[str, str]]()
    for chain in run.deployment.chains.values():
        for log in chain.canonical():
            data, topic = log["data"], log["topics"][1]
            token, payee, amount = "0x" + data[26:66], "0x" + data[90:130], int(data[130:194], 16)
            fee, receiver = int(data[194:258], 16), "0x" + data[282:322]
            payer = chain.payers.get(log["transactionHash"], "")
            purses[payer.lower(), token] -= amount + fee
            purses[payee, token] += amount
            purses[receiver, token] += fee
            request = requests.get(topic)
            if request is not None and _counts(request, chain.network, token, payee):
                moved[request.request_id].append((log["transactionHash"].removeprefix("0x"), amount))
    notifications = [
        Notification(url, delivery, loads(body))
        for url, bodies in run.deployment.receivers.bodies.items()
        for _, delivery, body in bodies
    ]
    return Truth(
        moved=moved,
        notifications=notifications,
        purses=purses,
        strangers=frozenset(each.wallet.lower() for each in run.strangers),
        public_urls=frozenset(each.urls[1] for each in run.merchants),
        secrets=Invoice.SECRET,
        escrowed={
            each: (known.capturable, known.refundable) for each, known in run.contracts.escrow.payments.items()
        },
        balances={("base", SOURCE_USDC.lower()): run.contracts.permit2.balance(OPERATOR)},
        signed={each.payer.lower(): each.accepted for each in run.orders if isinstance(each, Bridged)},
        periods=Counter(nonce for nonce, _ in run.contracts.recurring.made),
        deposited=Counter(each.deposit.depositor.lower() for each in run.contracts.permit2.sent),
    )


def _counts(request: Request, network: str, token: str, payee: str) -> bool:
    known = token_with_id(request.currency)
    assert known is not None
    return request.network == network and same_address(payee, request.payee) and same_address(token, known.address)


