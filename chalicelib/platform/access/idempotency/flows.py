"""Takes idempotency keys, and records the transactions of a request with its key, so that none is made twice.

1. Each transaction of the request also writes the request's record, on condition that nobody else has taken the key. So
   a transaction was made if and only if the record lists it, and a process whose lease has ended makes none.
2. A request that is run again sees the time of its first run and draws the same random bytes (`rules.entropy_of`).
3. Whoever takes the key after the lease runs the request again. Its transactions have to be the recorded ones, in the
   same order: those are not made again. What follows the last recorded one is made.
4. If a transaction differs from the recorded one, because what it was decided on has changed, neither it nor a later
   one is made, and the response says that the request took effect (`rules.RESPONSE_LOST`).
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Any

from chalicelib.base.errors import Conflict
from chalicelib.base.ids import Entropy
from chalicelib.base.records import Record
from chalicelib.platform.access import store
from chalicelib.platform.access.idempotency.records import CONFLICT, IdempotentRequest
from chalicelib.platform.access.idempotency.rules import LEASE, RESPONSE_LOST, STILL_RUNNING, take_key
from chalicelib.platform.services import Services
from chalicelib.platform.storage import codec
from chalicelib.platform.storage.retrying import try_write
from chalicelib.platform.storage.store import Delete, Write, WriteConflict, with_next_version


def claim(services: Services, request: IdempotentRequest) -> IdempotentRequest:
    """Takes the key of a request. Returns its record as it is stored, or a stored one with its response to be repeated.

    One write; a read and another write if the key was used. Raises Conflict if another request holds the key,
    Unprocessable if the stored request had another body.
    """
    try:
        return services.store.write(request)
    except WriteConflict:
        pass
    stored = store.request_of(services.store, request.scope_hash)
    record = take_key(stored, request, services.clock()) if stored else request
    if record.status is not None:
        return record
    try:
        return services.store.write(record)
    except WriteConflict:
        raise Conflict(STILL_RUNNING) from None


class Journal:
    """The transactions of one run of a request; joins those of the store that the run is given."""

    def __init__(self, services: Services, record: IdempotentRequest) -> None:
        self.record = record
        """As it is stored."""
        self._services = services
        self._unrepeated = list(record.steps)
        self._conflicts: tuple[str, ...] = ()
        self._has_diverged = False

    def services(self, entropy: Entropy) -> Services:
        """What the run is given: a store that this journal joins, the time of the first run, and its random bytes."""
        started_at = self.record.started_at
        joined = self._services.store.with_join(self.commit)
        return replace(self._services, store=joined, clock=lambda: started_at, entropy=entropy)

    def commit(self, apply: Callable[..., None], writes: Sequence[Write]) -> None:
        """Makes a transaction together with its record, unless an earlier run has made it.

        A conflict that an earlier run met is raised again, so that the run then decides as that one did. Raises
        Conflict if an earlier run made another transaction in this place.
        """
        step = _step(writes)
        if self._has_diverged or (self._unrepeated and self._unrepeated[0] not in (step, CONFLICT)):
            self._has_diverged = True
            raise Conflict(RESPONSE_LOST)
        if self._unrepeated:
            if self._unrepeated.pop(0) == CONFLICT:
                raise WriteConflict
            return
        steps = (*self.record.steps, *self._conflicts, step)
        following = replace(self.record, steps=steps, lease_until=self._services.clock() + LEASE)
        try:
            apply(following, *writes)
        except WriteConflict:
            self._conflicts += (CONFLICT,)
            raise
        self.record, self._conflicts = with_next_version(following), ()

    def is_response_lost(self, is_error: bool) -> bool:
        """Whether the response of this run, an error or not, cannot be that of the request.

        A run that succeeds with fewer transactions found the rest of its effect in place, such as a credential that is
        revoked already: its response is what the same request without a key would get.
        """
        return self._has_diverged or (is_error and bool(self._unrepeated))

    def release(self, is_undone: bool = False) -> bool:
        """Gives the key back after a run whose response is not kept: at once if nothing was made, or all of it undone,
        else to be resumed.

        Does nothing and returns False if another process has taken the key, or if a transaction was made whose outcome
        was not received.
        """
        released = replace(self.record, lease_until=self._services.clock())
        is_resumed = bool(self.record.steps) and not is_undone
        return try_write(self._services.store, released if is_resumed else Delete(self.record))


def _step(writes: Sequence[Write]) -> str:
    """A short hash of a transaction. Versions are left out: a change that was made has raised them."""
    text = json.dumps([_content(each) for each in writes], sort_keys=True, default=bytes.hex)  # of compressed bodies
    return sha256(text.encode()).hexdigest()[:16]


def _content(write: Write) -> list[Any]:
    if not isinstance(write, Record):
        return [type(write).__name__, *write.record.key]
    left_out = {"version", *write.UNREPEATABLE}
    return [*write.key, {name: value for name, value in codec.encode(write).items() if name not in left_out}]
