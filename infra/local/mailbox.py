"""The local mailbox: what SES was given, as files in `.local/mail` and at a page, instead of being sent to anybody.

    /                    the messages, the newest first
    /<message id>        one as its reader sees it, from its HTML
    /<message id>.json   the same with subject, addresses, headers and text

The local cloud keeps messages in memory alone; the files are there after a restart as well. A message to
bounce@simulator.amazonses.com bounces, one to complaint@simulator.amazonses.com is complained of.
"""

import json
import threading
from html import escape
from pathlib import Path
from typing import Any

from infra.local.cloud import Cloud
from infra.local.process import Stoppable
from infra.local.serving import JsonRequest, JsonResponse, JsonServer

_EVERY_SECONDS = 0.5


class Mailbox(Stoppable):
    """Writes each message that the cloud was given to `<message id>.json` of a folder, and shows them."""

    def __init__(self, cloud: Cloud, folder: Path, port: int | None = None) -> None:
        self._cloud, self._folder = cloud, folder
        folder.mkdir(parents=True, exist_ok=True)
        self._server = JsonServer("the mailbox", self._respond, port)
        self.url = self._server.url
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True, name="mailbox")
        self._thread.start()

    def stop(self) -> None:
        """Writes what is left, and ends."""
        self._ended.set()
        self._thread.join()
        self._server.close()

    def _run(self) -> None:
        while not self._ended.wait(_EVERY_SECONDS):
            try:
                self._write()
            except OSError:  # the cloud ends, or is busy
                continue

    def _write(self) -> None:
        for message in self._cloud.mails():
            file = self._folder / f"{message['MessageId']}.json"
            if not file.exists():
                new = file.with_suffix(".new")
                new.write_text(json.dumps(message, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
                new.replace(file)

    def messages(self) -> list[dict[str, Any]]:
        """The messages, the newest first."""
        read = [json.loads(file.read_text(encoding="utf-8")) for file in self._folder.glob("*.json")]
        return sorted(read, key=lambda message: float(message["Timestamp"]), reverse=True)

    def _respond(self, request: JsonRequest) -> JsonResponse:
        self._write()
        if request.path == "/":
            return JsonResponse(_list_messages(self.messages()).encode())
        name = request.path.removeprefix("/")
        found = [each for each in self.messages() if each["MessageId"] == name.removesuffix(".json")]
        if not found:
            return JsonResponse({"message": "No such message"}, 404)
        return JsonResponse(found[0] if name.endswith(".json") else found[0]["BodyHtml"].encode())


def _list_messages(messages: list[dict[str, Any]]) -> str:
    rows = "".join(
        f'<tr><td>{escape(", ".join(each["To"]))}</td>'
        f'<td><a href="/{escape(each["MessageId"])}"><bdi>{escape(each["Subject"])}</bdi></a></td></tr>'
        for each in messages
    )
    return f'<!doctype html><meta charset="utf-8"><title>Mailbox</title><h1>Mailbox</h1><table>{rows}</table>\n'
