"""Which modules are mutated, by room, and which tests are run on them: by default the test folder of the same name."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
TARGETS = {
    "base": "*.py",
    "catalogue": "*.py",
    "calldata": "**/*.py",
    "storage": "store.py items.py",
    "chain": "blocks.py escrow/*.py conversions/logs.py conversions/past_rates.py hex_values.py jsonrpc.py logs.py ranges.py receipts.py "
    "relaying.py safes/reads.py safes/service.py simulation.py transfers.py",
    "access": "**/rules.py callers.py idempotency/flows.py",
    "webhooks": "**/rules.py samples.py",
    "http": "edge.py operation.py idempotency.py",
    "outbound": "sender.py compliance.py lifi.py",
    "privacy": "rules.py",
    "accounts": "**/rules.py sign_in/passwords.py branding/images.py",
    "payees": "**/rules.py",
    "payers": "rules.py forms.py inbound.py",
    "bridging": "rules.py verification.py circuit.py asking.py flows.py",
    "currencies": "**/rules.py",
    "rates": "rules.py",
    "relayer": "rules.py following.py keys/kms.py",
    "recurring": "rules.py periods.py forks.py creation.py",
    "requests": "**/rules.py commerce/ledger.py calendar.py creation.py fields.py permissions.py references.py targets.py recurring.py",
    "links": "**/rules.py creation.py permissions.py multicalls/children.py",
    "transfers": "**/rules.py",
    "search": "**/rules.py",
    "scanning": "rules.py transfer_log.py",
    "recording": "rules.py deciding.py escrows.py payments.py refunds.py unmatched.py events.py valuing.py",
    "offramp": "rules.py orders.py settling.py",
    "checkout": "**/rules.py intents/announcements.py crosschain/*.py intents/crossings/*.py permits/stages.py permits/flows.py "
    "permits/running.py",
    "escrow": "calls.py creation.py operating.py paying.py refunding.py rules.py running.py steps.py terms.py",
    "pages": "payment/check.js",
}
"""In every room the decisions without AWS, network and clock, and the checks at the edges."""

TESTS = {"pages": "tests/pages/test_check.py"}
"""Rooms whose tests are not the whole folder: the page's check needs no browser."""


@dataclass(frozen=True)
class Room:
    name: str
    targets: tuple[Path, ...]
    tests: tuple[str, ...]


def rooms(only: str | None) -> Iterator[Room]:
    """Yields the rooms with their mutated modules. Raises LookupError for an unknown room."""
    if only is not None and only not in TARGETS:
        raise LookupError(f"{only} is no room: {', '.join(TARGETS)}")
    for name in TARGETS if only is None else [only]:
        found = (path for pattern in TARGETS[name].split() for path in sorted((ROOT / "chalicelib" / name).glob(pattern)))
        targets = tuple(path for path in dict.fromkeys(found) if path.name != "__init__.py")
        yield Room(name, targets, (TESTS.get(name, f"tests/{name}"),))
