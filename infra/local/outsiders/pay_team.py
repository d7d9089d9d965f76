"""Two people share an account: one invites the other by e-mail, and no one alone redirects where they are paid.

One signs in with a wallet, the other with a passkey in a browser; where none is installed, with a password.
"""

import re
import secrets
import time
from typing import Any

import requests
from demo import Demo, Failed
from eth_account import Account
from eth_account.messages import encode_defunct
from laptop import Laptop, laptop

MAIL_SECONDS = 60
PASSWORD = secrets.token_urlsafe(12)
USDC, SEPOLIA = "0x1c7D4B196Cb0C7B01d743Fbc6116a902379C7238", 11155111


class Person:
    """Somebody at the auth host, with a session as a bearer token."""

    def __init__(self, url: str, mail_url: str, email: str) -> None:
        self.email, self._url, self._mail_url, self._token = email, url, mail_url, ""
        self._http = requests.Session()
        self._http.trust_env = False

    def send(self, method: str, path: str, body: Any = None, status: int = 200, key: str = "") -> Any:
        headers = {"authorization": f"Bearer {self._token}"} if self._token else {}
        headers |= {"x-api-key": key} if key else {}
        response = self._http.request(method, self._url + path, json=body, headers=headers, timeout=60)
        self._http.cookies.clear()
        if response.status_code != status:
            raise Failed(f"{method} {path} answered {response.status_code}, not {status}: {response.text[:300]}")
        if "session_token" in (cookie := response.headers.get("set-cookie", "")):
            self._token = cookie.split(";")[0].partition("=")[2]
        return response.json()

    def register(self) -> None:
        """By the link in the mail that confirms the address."""
        self.send("POST", "/v1/auth/register", {"email": self.email, "password": PASSWORD}, 201)
        self.send("POST", "/v1/auth/email/confirm", {"token": self.link_in_mail("confirm")})
        self.sign_in()

    def sign_in(self) -> None:
        self.send("POST", "/v1/auth/login", {"email": self.email, "password": PASSWORD})

    def sign_in_by(self, wallet: Any) -> None:
        asked = self.send("POST", "/v1/auth/wallet/challenge", {"address": wallet.address}, 201)
        self.send("POST", "/v1/auth/wallet/verify", _sign_asked(wallet, asked))

    def add(self, wallet: Any) -> None:
        """Makes the wallet another way to sign in."""
        asked = self.send("POST", "/v1/auth/identities/challenge", {"address": wallet.address}, 201)
        self.send("POST", "/v1/auth/identities", _sign_asked(wallet, asked), 201)

    def link_in_mail(self, page: str) -> str:
        """The token of the link to a page in the newest mail that the local mailbox has for the person."""
        deadline = time.monotonic() + MAIL_SECONDS
        while time.monotonic() < deadline:
            listed = self._http.get(self._mail_url, timeout=60).text
            for name in re.findall(r'<td>([^<]*)</td><td><a href="/([^"]+)"', listed):
                if name[0] == self.email:
                    text = self._http.get(f"{self._mail_url}/{name[1]}.json", timeout=60).json()["BodyText"]
                    if found := re.search(rf"/{page}#(\S+)", text):
                        return found[1]
            time.sleep(0.5)
        raise Failed(f"no mail with a link to {page} came to {self.email} within {MAIL_SECONDS} s")


def run(demo: Demo) -> None:
    """Raises Failed at the first step that fails."""
    name = secrets.token_hex(4)
    urls = demo.stack["auth_url"], demo.stack["mail_url"]
    ann, bob = (Person(*urls, f"{each}-{name}@shop.example") for each in ("ann", "bob"))
    wallet = Account.create()
    with demo.steps.step("Ann registers by the link in her mail") as result:
        ann.register()
        result.append(f"200, {ann.email}")
    with demo.steps.step("Ann's wallet says where she is paid") as result:
        ann.add(wallet)
        ann.sign_in_by(wallet)
        kept = ann.send("POST", "/v1/payee-destination", {"tokenAddress": USDC, "chainId": SEPOLIA}, 201)
        result.append(f"201, {kept['destinationId'][:18]}...")
    with demo.steps.step("Ann invites Bob as admin") as result:
        ann.send("POST", "/v1/invitations", {"email": bob.email, "role": "admin"}, 201)
        secret = bob.link_in_mail("invitation")
        bob.send("POST", "/v1/auth/invitations/register", {"secret": secret, "password": PASSWORD}, 201)
        bob.send("POST", "/v1/auth/email/confirm", {"token": bob.link_in_mail("confirm")})  # else he approves nothing
        bob.sign_in()
        result.append(f"201, {bob.send('GET', '/v1/auth/me')['role']}")
    with laptop(demo.stack["auth_url"]) as device:
        if device is None:
            demo.steps.line("no browser is installed", "Bob stays signed in by his password", 0)
        else:
            sign_in_by_passkey(demo, bob, device)
        waits(demo, ann, device or bob)


def sign_in_by_passkey(demo: Demo, bob: Person, device: Laptop) -> None:
    """Bob makes a passkey in a session of his password, and from then on needs no name to sign in."""
    with demo.steps.step("Bob makes a passkey in a browser") as result:
        device.send("POST", "/v1/auth/login", {"email": bob.email, "password": PASSWORD})
        device.make_passkey("laptop")
        device.send("POST", "/v1/auth/logout")
        result.append(f"201, then signed out: {device.send('GET', '/v1/auth/me', status=401)['statusCode']}")
    with demo.steps.step("Bob signs in with it") as result:
        device.sign_in_by_passkey()
        me = device.send("GET", "/v1/auth/me")
        if me["provedBy"] != "passkey":
            raise Failed(f"the session is proved by {me['provedBy']}")
        result.append(f"200, {me['provedBy']}")


def waits(demo: Demo, ann: Person, bob: Person | Laptop) -> None:
    """Ann changes where she is paid, which Bob approves; what he has not asked for he refuses."""
    other = {"tokenAddress": "0xF046b3CA5ae2879c6bAcC4D42fAF363eE8379F78", "chainId": SEPOLIA}
    with demo.steps.step("Ann changes her payee destination") as result:
        change = ann.send("PUT", "/v1/payee-destination", other, 202)["pendingChange"]
        if ann.send("GET", "/v1/payee-destination")["tokenAddress"] != USDC:
            raise Failed("it was changed by one person")
        result.append(f"202, {change['state']}, takes effect at {change['takesEffectAt']} if nobody refuses it")
    with demo.steps.step("Ann cannot approve it herself") as result:
        ann.send("POST", f"/v1/changes/{change['id']}/approve", status=403)
        result.append("403")
    with demo.steps.step("Bob approves it") as result:
        state = bob.send("POST", f"/v1/changes/{change['id']}/approve")["state"]
        if ann.send("GET", "/v1/payee-destination")["tokenAddress"] != other["tokenAddress"]:
            raise Failed("it was not changed")
        result.append(f"200, {state}")
    with demo.steps.step("a stolen session asks for a key, Bob refuses") as result:
        asked = ann.send("POST", "/v1/api-keys", {"label": "not mine"}, 202)
        bob.send("POST", f"/v1/changes/{asked['pendingChange']['id']}/refuse")
        thief = Person(demo.stack["base_url"], "", "")
        thief.send("GET", "/v2/client-ids", status=401, key=asked["result"]["key"])
        result.append("200, the key is worth nothing: 401")


def _sign_asked(wallet: Any, asked: dict[str, Any]) -> dict[str, Any]:
    signature = wallet.sign_message(encode_defunct(text=asked["message"])).signature.hex()
    fields = {name: asked[name] for name in ("challengeId", "nonce", "message")}
    return {**fields, "signature": "0x" + signature.removeprefix("0x")}
