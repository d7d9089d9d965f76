"""Recurring payouts that are due at once, executed on a local chain: transactions, DynamoDB calls and time for each."""

import time
from datetime import UTC, datetime, timedelta

from chalicelib.chains.nodes.history.logs import ERC20_TRANSFER_TOPIC
from chalicelib.payments.requests.payments.records import Payment
from infra.local.chain import Chain
from tests.bench.figures import Figure
from tests.onchain.payouts import PayoutsOnChain

DUE = 500
_MOST_MINUTES = 60


def measure() -> list[Figure]:
    with Chain.start("sepolia") as chain:
        shop = PayoutsOnChain(chain, datetime.now(UTC) + timedelta(hours=1))
        shop.paying("bench")
        for _ in range(DUE):
            shop.start(total_payments=2)
        before, started = sum(shop.store.calls.values()), time.perf_counter()
        minutes = 0
        while len(shop.store.all(Payment)) < DUE and minutes < _MOST_MINUTES:
            shop.minute()
            minutes += 1
        seconds = time.perf_counter() - started
        executed = len(chain.rpc("eth_getLogs", {"fromBlock": "0x0", "topics": [ERC20_TRANSFER_TOPIC]}))
        calls = sum(shop.store.calls.values()) - before
        name = f"{DUE} payouts that are due at once"
        return [
            Figure(name, executed, "executions", "one for each", DUE, 1, least=1),
            Figure(f"{name}, until all are recorded", minutes, "minutes", "ticks of a minute", 1, 30),
            Figure(f"{name}, with recording and events", calls / DUE, "DynamoDB calls each", "one call", 1, 60),
            Figure(f"{name}, the work of one process", seconds / DUE * 1000, "ms each", "a tick", 60_000, 0.01),
        ]
