"""Reads of the router's answers and of its circuit breaker."""

from collections.abc import Iterable

from chalicelib.crosschain.service.router.records import ROUTER, KeptAnswer, RouterCircuit
from chalicelib.platform.storage.store import Store


def find_answers(store: Store, questions: Iterable[str]) -> tuple[dict[str, KeptAnswer], RouterCircuit | None]:
    """The answers that are kept, by their questions, and the circuit if it was ever written. One read."""
    circuit = RouterCircuit.KEY.of(router=ROUTER)
    answers = {KeptAnswer.KEY.of(question=each): KeptAnswer for each in questions}
    found = store.get_many({**answers, circuit: RouterCircuit})
    state: RouterCircuit | None = found.pop(circuit, None)
    return {each.question: each for each in found.values()}, state
