"""Multisig transactions in a world: announce one, let the schedule look at it, see whether its link is free."""

from dataclasses import replace
from datetime import datetime, timedelta

from chalicelib.base.addresses import hex_address
from chalicelib.base.errors import Locked
from chalicelib.chains.calldata.checkout import pay_one, with_approvals
from chalicelib.chains.calldata.transaction import PaidEvent
from chalicelib.chains.calldata.wallets.safe import SafeTerms, SafeTransaction, bundle, safe_tx_hash
from chalicelib.chains.nodes.safes.records import Proposal
from chalicelib.checkout.announcements import flows as announcements
from chalicelib.payments.announcements import tracking
from chalicelib.payments.announcements.admission import Announcement
from chalicelib.payments.links.reading import Viewer
from chalicelib.payments.links.records import AnnouncedTransaction, LinkAnnouncements, PayableLink
from chalicelib.payments.links.rules import check_payable
from chalicelib.payments.payable.rules import amounts_owed, direct
from chalicelib.payments.requests.records import Request
from chalicelib.payments.requests.references import reference_topic
from chalicelib.payments.requests.rules import currency_of
from chalicelib.platform.access.modes import Mode
from chalicelib.platform.services import Services
from tests.fakes.world import PREFIX, World

SAFE = "0x6923831ACf5c327260D7ac7C9DfF5b1c3cB3C7D7"
MINUTE = 60


def proposed(nonce: int = 0, safe: str = SAFE) -> Proposal:
    return Proposal(safe, SafeTransaction(SAFE, 0, "0x1234", 0), SafeTerms(nonce))


def paying(payable: PayableLink, nonce: int = 0, safe: str = SAFE) -> Proposal:
    """A proposal of what `/pay` returns for a Safe to pay a single link."""
    (owed,) = amounts_owed([payable])
    transactions = with_approvals(pay_one(direct(owed).due), {}).transactions
    return Proposal(safe, bundle("sepolia", transactions), SafeTerms(nonce))


def paid_event(request: Request) -> PaidEvent:
    """What a proxy says of a payment of the request."""
    token, reference = currency_of(request), bytes.fromhex(request.payment_reference[2:])
    assert request.payee_in_logs is not None
    address = None if token.is_native else hex_address(token.address)
    return PaidEvent(reference_topic(reference), address, request.payee_in_logs)


def hash_of(proposal: Proposal) -> str:
    return safe_tx_hash(11155111, proposal.safe, proposal.transaction, proposal.terms)


PROPOSED = proposed()
PAGE = Viewer("", None, reads_any_link=True, mode=Mode.CLIENT_ID)
HASH, OTHER_HASH = hash_of(PROPOSED), "0x" + "cd" * 32


def with_safe(world: World) -> World:
    """Its chain was scanned, its blocks are a second apart and of now, its Safe's service knows one transaction."""
    world.chain.contracts.add(SAFE)
    world.chain.genesis = world.now - timedelta(seconds=len(world.chain.blocks))
    world.safes.known["sepolia", HASH] = PROPOSED
    world.scan()
    return world


def announcement(safe_tx_hash: str = HASH, **changes: object) -> Announcement:
    known = Announcement(None, safe_tx_hash, None, "SEPOLIA", "USDC", SAFE)
    return replace(known, **changes)  # type: ignore[arg-type]


def record(
    world: World,
    payable: PayableLink,
    draft: Announcement | None = None,
    services: Services | None = None,
    viewer: Viewer | None = None,
) -> AnnouncedTransaction:
    token, viewer = payable.link.token, viewer or Viewer(world.account_id, None)
    return announcements.record(services or world.services, token, viewer, draft or announcement())[1]


def track(world: World, services: Services | None = None) -> AnnouncedTransaction:
    """A minute later, what the schedule does; the one announced transaction of this world."""
    world.advance(MINUTE)
    tracking.track_due(services or world.services)
    (announcements,) = stored(world)
    return announcements.first


def stored(world: World) -> list[LinkAnnouncements]:
    items = world.client.scan(TableName=f"{PREFIX}-payments")["Items"]
    tokens = [item["pk"]["S"].removeprefix("LINK#") for item in items if item["sk"]["S"] == "ANNOUNCED"]
    found = [
        world.services.store.get(LinkAnnouncements, LinkAnnouncements.KEY.of(link_token=token))
        for token in tokens
    ]
    return [each for each in found if each is not None]


def let_pass(world: World, minutes: float) -> None:
    """For the world and its chain, which is read up to then."""
    passed = timedelta(minutes=minutes)
    world.now += passed
    world.chain.genesis += passed
    world.scan()


def is_free(world: World, payable: PayableLink) -> bool:
    try:
        check_payable(world.load(payable), world.now)
    except Locked:
        return False
    return True


def in_seconds(world: World, seconds: float) -> datetime:
    return world.now + timedelta(seconds=seconds)
