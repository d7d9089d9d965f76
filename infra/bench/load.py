"""One network under load: how far scanner and recorder fall behind, with and without dust to one link beside it.

The real scanner and recorder run on tables in memory. Every call to DynamoDB, SQS and the node takes the time that is
stated here, on a virtual clock; ten recorders work at once. So the result does not depend on this machine.
"""

import heapq
import itertools
import json
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from chalicelib.base.records import Key
from chalicelib.recording import flows as recording
from chalicelib.requests.records import Payment, Request
from chalicelib.scanning import flows as scanning
from chalicelib.scanning import rules
from chalicelib.scanning import store as scan_store
from chalicelib.scanning.records import LoggedTransfer
from chalicelib.storage.queue import Message
from infra.bench.figures import Figure
from tests.fakes.chain import FakeChains
from tests.fakes.memory_store import MemoryStore
from tests.fakes.node import TimedChain
from tests.fakes.world import START, World

NETWORK, CURRENCY = "base", "USDC-base"
TABLE_SECONDS, TRANSACTION_SECONDS, QUEUE_SECONDS, NODE_SECONDS = 0.006, 0.012, 0.01, 0.2
"""How long a call takes; DynamoDB and SQS answer faster in most cases."""
AT_ONCE = 8
"""How many calls of a batch read or write the store makes at once (storage/store.py)."""
RECORDERS = 10
BLOCK, TICK = timedelta(seconds=2), timedelta(seconds=5)
RATE = 100
"""Payments a second, each to a link of its own."""
