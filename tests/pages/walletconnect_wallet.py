"""A purse on another device that is asked by WalletConnect, with the library that wallets use, in a process of its own."""

import json
import queue
import subprocess
import threading
from pathlib import Path
from typing import Any

from infra.local.walletconnect import PROJECT
from tests.oracles.node import command, environment
from tests.pages.purse import HANGS, Purse
from tests.support.patience import patience

SCRIPT = Path(__file__).with_name("walletconnect_wallet.js")
REDIRECT = {"native": "javascript:document.title='run'", "universal": "https://elsewhere.example"}
"""Where the page should lead to, by its own words: the page leads nowhere."""
PAYS, BATCHES = ["eth_sendTransaction"], ["wallet_sendCalls", "wallet_getCallsStatus", "wallet_getCapabilities"]


class RemoteWallet:
    """What a purse says to a page, said over a relay. `topic` is of the last session, `proposals` are what it was proposed."""

    def __init__(self, purse: Purse, relay_url: str, name: str = "Far Wallet") -> None:
        self.purse = purse
        self.topic, self.proposals = "", list[dict[str, Any]]()
        self._events = queue.Queue[dict[str, Any]]()
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self._process = subprocess.Popen(command(str(SCRIPT)), env=environment(), encoding="utf-8", **pipes)  # type: ignore[call-overload]
        threading.Thread(target=self._listen, daemon=True).start()
        self.tell("start", relayUrl=relay_url, projectId=PROJECT, name=name, redirect=REDIRECT)
        self.await_event("started")

    def stop(self) -> None:
        self._process.kill()
        self._process.communicate()

    def tell(self, what: str, **body: Any) -> None:
        assert self._process.stdin
        self._process.stdin.write(json.dumps({"do": what, **body}) + "\n")
        self._process.stdin.flush()

    def await_event(self, name: str) -> dict[str, Any]:
        while True:
            found = self._events.get(timeout=patience(2))
            assert found["event"] != "failed", found["error"]
            if found["event"] == name:
                return found

    def grants(self, chain_id: int | None = None, methods: list[str] | None = None) -> dict[str, Any]:
        key = f"eip155:{chain_id or self.purse.chain_id}"
        kind = {"chains": [key], "methods": methods or PAYS, "events": ["accountsChanged", "chainChanged"]}
        return {"eip155": {**kind, "accounts": [f"{key}:{self.purse.address}"]}}

    def pair(self, uri: str, **how: Any) -> None:
        """Approves the proposal at that address with what it grants by default, or as it is told."""
        self.tell("pair", uri=uri, **(how or {"namespaces": self.grants()}))

    def pair_wholly(self, uri: str, **how: Any) -> None:
        self.pair(uri, **how)
        self.proposals.append(self.await_event("proposed"))
        self.topic = self.await_event("paired")["topic"]

    def scan(self, side: int, dark: list[list[int]]) -> str:
        """The text of a QR code by its dark modules, as another library reads it."""
        self.tell("scan", side=side, dark=dark)
        return str(self.await_event("scanned")["text"])

    def _listen(self) -> None:
        assert self._process.stdout
        for line in self._process.stdout:
            found = json.loads(line)
            if found["event"] != "asked":
                self._events.put(found)
                continue
            said = self.purse.answer(found["method"], found["params"])
            again = said.pop("again", None)
            for each in (said, again):
                if each not in (HANGS, None):
                    self.tell("answer", topic=found["topic"], id=found["id"], **each)
