"""A deployed API as an outsider uses it, and waiting for what is done in the background."""

import json
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from http.cookies import SimpleCookie
from typing import Any

from tests.support.patience import patience

PAYEE = "0xf17f52151EbEF6C7334FAD080c5704D77216b732"
NATIVE = "ETH-sepolia-sepolia"


@dataclass(frozen=True)
class Api:
    """The deployed API as an outsider sees it."""

    url: str
    key: str = ""
    session: str = ""

    def call(self, method: str, path: str, body: Any = None, **more: str) -> tuple[int, dict[str, str], Any]:
        """`more` are headers, with _ for -."""
        headers = {"content-type": "application/json", **{name.replace("_", "-"): text for name, text in more.items()}}
        headers |= {"x-api-key": self.key} if self.key else {}
        headers |= {"authorization": f"Bearer {self.session}"} if self.session else {}
        data = json.dumps(body).encode() if body is not None else None
        request = urllib.request.Request(self.url + path, method=method, data=data, headers=headers)
        try:
            answer = urllib.request.urlopen(request, timeout=patience(2))
        except urllib.error.HTTPError as error:
            answer = error
        with answer:
            return answer.status, {k.lower(): v for k, v in answer.headers.items()}, json.loads(answer.read())

    def done(self, method: str, path: str, body: Any = None, **more: str) -> Any:
        """The body of an answer that has to be a success."""
        status, _, answer = self.call(method, path, body, **more)
        assert status in (200, 201), (method, path, answer)
        return answer

    def signed_in(self, path: str, body: Any) -> "Api":
        """This API with the session that a sign-in opens."""
        status, headers, answer = self.call("POST", path, body)
        assert status == 200, answer
        return Api(self.url, session=SimpleCookie(headers["set-cookie"])["session_token"].value)

    def create_link(self) -> str:
        """The token of a new link, as soon as the functions know the nodes: they read their URLs once a minute."""
        request = {"amount": "0.5", "payee": PAYEE, "invoiceCurrency": NATIVE, "paymentCurrency": NATIVE}
        deadline = time.monotonic() + patience(2)
        while True:
            status, _, created = self.call("POST", "/v2/secure-payments", {"requests": [request]})
            if status == 201:
                return str(created["token"])
            assert "does not serve" in created["message"] and time.monotonic() < deadline, created
            time.sleep(1)
