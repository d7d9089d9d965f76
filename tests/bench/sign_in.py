"""CPU of signing in: a password hash, a refused login of a known and of an unknown user, a wallet's signature.

A refused login has to take as long for an unknown e-mail address as for a wrong password; otherwise its time would show
who is a customer. Both run the whole flow on in-process tables.
"""

import secrets
from collections.abc import Callable
from typing import Any

from chalicelib.accounts.sign_in import flows as sign_in_flows
from chalicelib.accounts.sign_in import passwords
from chalicelib.base import signatures
from chalicelib.base.errors import Unauthorized
from chalicelib.platform.access.audit.records import Actor
from tests.bench.figures import Figure, cpu_seconds
from tests.fakes.world import World, in_process_aws

_ACTOR = Actor("", "anonymous", "203.0.113.7", "bench")
_EMAIL, _UNKNOWN = "ann@example.com", "bob@example.com"
_MESSAGE = "auth.example wants you to sign in with your Ethereum account:\n" + "x" * 300


def measure() -> list[Figure]:
    return [_password(), _refusal(), _signature()]


def _password() -> Figure:
    from argon2 import PasswordHasher

    password, salt, default = secrets.token_hex(8), bytes(passwords.SALT_BYTES), PasswordHasher()
    service, library = cpu_seconds(
        lambda: passwords.password_hash(password, salt), lambda: default.hash(password, salt=salt)
    )
    name = f"password hash, argon2id {passwords.MEMORY_KIB // 1024} MiB, {passwords.PASSES} passes"
    reference = f"argon2-cffi's default, {default.memory_cost // 1024} MiB, {default.time_cost} passes"
    return Figure(name, service * 1e3, "ms", reference, library * 1e3, 0.5)


def _refusal() -> Figure:
    with in_process_aws() as client:
        world = World(client, rate_limit_scale=10**9)
        right, wrong = secrets.token_hex(8), secrets.token_hex(8)
        sign_in_flows.register(world.services, _EMAIL, right, _ACTOR)

        def refused(email: str) -> Callable[[], None]:
            def log_in() -> None:
                try:
                    sign_in_flows.log_in(world.services, email, wrong, None, _ACTOR)
                except Unauthorized:
                    return
                raise AssertionError("a wrong password was accepted")

            return log_in

        unknown, known = cpu_seconds(refused(_UNKNOWN), refused(_EMAIL))
    return Figure(
        "refused login, unknown address", unknown * 1e3, "ms", "wrong password", known * 1e3, 1.05, least=0.95
    )


def _signature() -> Figure:
    from eth_account import Account
    from eth_account.messages import encode_defunct

    account: Any = Account.create()
    signature = bytes(account.sign_message(encode_defunct(text=_MESSAGE)).signature)

    def by_service() -> object:
        return signatures.recover_personal(_MESSAGE, signature)

    def by_library() -> object:
        return Account.recover_message(encode_defunct(text=_MESSAGE), signature=signature)

    if by_service() != by_library() or by_service() != account.address:
        raise AssertionError("the signature recovers to another address")
    service, library = cpu_seconds(by_service, by_library)
    return Figure("a wallet's signature recovered", service * 1e6, "us", "eth_account", library * 1e6, 1)
