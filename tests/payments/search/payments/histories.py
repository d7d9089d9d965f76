"""Random payments of several accounts as they are recorded: with their lists, and counted."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from random import Random

from chalicelib.base.money import BaseUnits
from chalicelib.payments.recording import payment_counts
from chalicelib.payments.requests.payments.records import Payment, PaymentKind, PaymentStatus
from chalicelib.platform.storage.store import Add, Store

FIRST = datetime(2026, 3, 1, tzinfo=UTC)
ACCOUNTS = ("acct", "other")
WALLETS = ("0x627306090abaB3A6e1400e9345bC60c78a8BEf57", "0xf17f52151EbEF6C7334FAD080c5704D77216b732", "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t")
CLIENTS = (None, "cli_a", "cli_b")
CURRENCIES = ("USDC-base", "fUSDC-sepolia", "USDT-base", "ETH-sepolia-sepolia", "USDCn-optimism")
INVOICES = ("", "", "USD", "EUR")
REFERENCES = (None, None, "INV-1", "=cmd|' /C calc'!A0", "Ünï#code")
NETWORKS = {"USDC-base": "base", "fUSDC-sepolia": "sepolia", "USDT-base": "base", "ETH-sepolia-sepolia": "sepolia", "USDCn-optimism": "optimism"}


def payment(random: Random, number: int, days: int = 9) -> Payment:
    """One of a few requests, wallets and transactions, on one of some days; often at midnight, and two at once."""
    currency, invoice = random.choice(CURRENCIES), random.choice(INVOICES)
    at = FIRST + timedelta(days=random.randrange(days), seconds=random.choice((0, 1, 43_200, 86_399, random.randrange(86_400))))
    request = random.randrange(40)
    return Payment(
        request_id=f"01{request:064x}",
        network=NETWORKS[currency],
        block_hash="0xb",
        log_index=number,
        block_number=number,
        tx_hash=f"0x{random.randrange(60):064x}",
        event_key=f"e-{number}",
        amount=BaseUnits(random.randrange(1, 10**9)),
        fee_amount=BaseUnits(0),
        fee_address="0x" + "11" * 20,
        status=PaymentStatus.CONFIRMED,
        detected_at=at + timedelta(seconds=40),
        paid_at=random.choice((at, at, None)),
        payer=random.choice((None, *WALLETS)),
        type=PaymentKind.CONVERSION if invoice else PaymentKind.DIRECT,
        value=BaseUnits(random.randrange(1, 10**9)),
        account_id=random.choice(ACCOUNTS),
        client_id=random.choice(CLIENTS),
        payee=random.choice(WALLETS),
        currency=currency,
        invoice_currency=invoice or currency,
        payment_reference=f"0x{request:016x}",
        reference=random.choice(REFERENCES),
    )


def record(store: Store, payments: Iterable[Payment]) -> list[Payment]:
    """Writes payments and counts them as the recorder does; returns them as they are written."""
    written = []
    for each in payments:
        stored = store.get(Payment, each.key)
        marked = payment_counts.mark_payment(replace(each, version=stored.version if stored else 0))
        store.write(marked, *(Add(*one) for one in payment_counts.amounts([stored] if stored else [], [marked])))
        written.append(marked)
    return written
