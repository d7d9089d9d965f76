"""The relayer of the local bridge: it fills deposits, and refunds those that were not filled in time."""

import threading
from typing import Any

from infra.local.across import Bridge, Deposited
from infra.local.chain import RpcError
from infra.local.process import StackProblem, Stoppable


class Relayer(Stoppable):
    """Fills deposits on all chains of a bridge, and refunds those that were not filled in time, unless it is held.

    Without `seconds` it acts when told (`step`), else every so many seconds.
    """

    def __init__(self, bridge: Bridge, seconds: float | None = None) -> None:
        self.bridge, self.is_paused = bridge, False
        self._lock, self._stopped = threading.RLock(), threading.Event()
        self._scanned = dict.fromkeys(bridge.chains, 0)
        self._open: dict[tuple[str, int], Deposited] = {}
        self._thread = threading.Thread(target=self._run, args=(seconds,), daemon=True) if seconds else None
        if self._thread:
            self._thread.start()

    def step(self) -> None:
        """Fills or refunds what is open, once."""
        with self._lock:
            for network, chain in self.bridge.chains.items():
                latest = int(chain.rpc("eth_blockNumber"), 16)
                since = min(self._scanned[network], latest)  # fewer blocks than before: the chain was put back
                for deposited in self.bridge.deposits(network, since):
                    self._open[network, deposited.id] = deposited
                self._scanned[network] = latest
            for place, deposited in () if self.is_paused else tuple(self._open.items()):
                if self._settle(deposited):
                    del self._open[place]

    def fill(self, deposited: Deposited, fails: bool = False) -> dict[str, Any]:
        """Fills one deposit now, also if the relayer is held; see Bridge.fill."""
        with self._lock:
            return self.bridge.fill(deposited, fails)

    def refund(self, deposited: Deposited) -> dict[str, Any]:
        """Refunds one deposit now, also if the relayer is held; see Bridge.refund."""
        with self._lock:
            return self.bridge.refund(deposited)

    def stop(self) -> None:
        self._stopped.set()
        if self._thread:
            self._thread.join()

    def _settle(self, deposited: Deposited) -> bool:
        """Does what is due for a deposit; returns whether nothing is left to do."""
        if deposited.destination not in {chain.chain_id for chain in self.bridge.chains.values()}:
            return True
        outcome = self.bridge.outcome(deposited)
        if outcome.filled or outcome.refunded:
            return True
        receipt = self.bridge.refund(deposited) if outcome.is_expired else self.bridge.fill(deposited)
        return bool(receipt["status"] == "0x1")

    def _run(self, seconds: float) -> None:
        import requests

        while not self._stopped.wait(seconds):
            try:
                self.step()
            except (requests.RequestException, RpcError, StackProblem) as error:  # a chain that ends, or is slow
                print(f"the relayer could not act: {error}", flush=True)
