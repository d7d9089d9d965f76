"""A browser on somebody's laptop, whose virtual authenticator makes passkeys and signs with them."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from playwright.sync_api import Page, sync_playwright

AUTHENTICATOR = {
    "protocol": "ctap2",
    "ctap2Version": "ctap2_1",
    "transport": "internal",
    "hasResidentKey": True,
    "hasUserVerification": True,
    "isUserVerified": True,
    "automaticPresenceSimulation": True,
}
CREATE = """async options => (await navigator.credentials.create({
    publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options)})).toJSON()"""
GET = """async options => (await navigator.credentials.get({
    publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options)})).toJSON()"""
SEND = """async ([method, path, body]) => {
    const headers = body ? {"content-type": "application/json"} : {};
    const reply = await fetch(path, {method, headers, body: body && JSON.stringify(body)});
    return [reply.status, await reply.json()];
}"""


class Laptop:
    """A page of the auth host in a browser; the session is its cookie."""

    def __init__(self, page: Page, url: str) -> None:
        self._page = page
        page.goto(f"{url}/v1/health")
        devtools = page.context.new_cdp_session(page)
        devtools.send("WebAuthn.enable")
        devtools.send("WebAuthn.addVirtualAuthenticator", {"options": AUTHENTICATOR})

    def send(self, method: str, path: str, body: Any = None, status: int = 200) -> Any:
        answered, answer = self._page.evaluate(SEND, [method, path, body])
        if answered != status:
            raise RuntimeError(f"{method} {path} answered {answered}, not {status}: {answer}")
        return answer

    def make_passkey(self, name: str) -> None:
        options = self.send("POST", "/v1/passkeys/options")["publicKey"]
        credential = self._page.evaluate(CREATE, options)
        self.send("POST", "/v1/passkeys", {"name": name, "credential": credential}, 201)

    def sign_in_by_passkey(self) -> None:
        """The browser finds the passkey by itself: no name is entered."""
        options = self.send("POST", "/v1/auth/passkey/options")["publicKey"]
        self.send("POST", "/v1/auth/passkey", {"credential": self._page.evaluate(GET, options)})


@contextmanager
def laptop(url: str) -> Iterator[Laptop | None]:
    """The page of the auth host at `url`, in the browser that CHROMIUM names; None without one."""
    if not (path := os.environ.get("CHROMIUM")):
        yield None
        return
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--headless=new", "--no-sandbox"])
        try:
            yield Laptop(browser.new_page(), url)
        finally:
            browser.close()
