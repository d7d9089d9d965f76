"""A browser on somebody's device, whose virtual authenticator makes passkeys and signs with them."""

from dataclasses import dataclass
from typing import Any, Self

from playwright.sync_api import BrowserContext, CDPSession, Page

from infra.local.outsiders.laptop import AUTHENTICATOR, CREATE, GET, SEND


@dataclass
class Device:
    """A page of the service's origin in a browser with an authenticator."""

    page: Page
    cdp: CDPSession
    authenticator: str
    email: str

    @classmethod
    def at(cls, context: BrowserContext, url: str, email: str) -> Self:
        """A new page of the service at `url`, for whoever has this address."""
        page = context.new_page()
        page.goto(f"{url}/v1/health")
        cdp = context.new_cdp_session(page)
        cdp.send("WebAuthn.enable")
        made = cdp.send("WebAuthn.addVirtualAuthenticator", {"options": AUTHENTICATOR})
        return cls(page, cdp, made["authenticatorId"], email)

    def send(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        status, answer = self.page.evaluate(SEND, [method, path, body])
        return status, answer

    def options(self, path: str) -> Any:
        status, answer = self.send("POST", path)
        assert status == 200, answer
        return answer["publicKey"]

    def register(self) -> str:
        """Registers a passkey for the session of the page; returns its id."""
        credential = self.page.evaluate(CREATE, self.options("/v1/passkeys/options"))
        status, made = self.send("POST", "/v1/passkeys", {"name": "laptop", "credential": credential})
        assert status == 201, made
        return str(made["id"])

    def assertion(self, path: str = "/v1/auth/passkey/options", **changes: Any) -> Any:
        return self.page.evaluate(GET, {**self.options(path), **changes})

    def sign_in(self) -> tuple[int, Any]:
        return self.send("POST", "/v1/auth/passkey", {"credential": self.assertion()})

    def credentials(self) -> list[dict[str, Any]]:
        found = self.cdp.send("WebAuthn.getCredentials", {"authenticatorId": self.authenticator})
        return list(found["credentials"])
