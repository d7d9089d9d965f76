"""Looking up TXT records, at real servers of DNS on loopback."""

import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import dns.flags
import dns.message
import dns.rcode
import dns.rrset
import pytest

from chalicelib.platform.outbound.txt_records import NoDnsAnswer, TxtRecords

NAME = "_payment-requests.shop.example"
Answer = Callable[[dns.message.Message], bytes | None]


@contextmanager
def serving(answer: Answer) -> Iterator[tuple[str, int]]:
    """A server that answers each question with the bytes that `answer` returns, or not at all."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        udp.bind(("127.0.0.1", 0))
        place = udp.getsockname()

        def serve_udp() -> None:
            while True:
                asked, peer = udp.recvfrom(4096)
                if not asked:
                    return
                if (reply := answer(dns.message.from_wire(asked))) is not None:
                    udp.sendto(reply, peer)

        thread = threading.Thread(target=serve_udp, daemon=True)
        thread.start()
        try:
            yield place
        finally:
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as last:
                last.sendto(b"", place)
            thread.join()


def says(*texts: str, code: dns.rcode.Rcode = dns.rcode.NOERROR) -> Answer:
    def answer(asked: dns.message.Message) -> bytes:
        reply = dns.message.make_response(asked)
        reply.flags |= dns.flags.RA
        reply.set_rcode(code)
        if texts:
            reply.answer.append(dns.rrset.from_text(asked.question[0].name, 300, "IN", "TXT", *texts))
        return reply.to_wire()

    return answer


def looked_up(answer: Answer) -> tuple[str, ...]:
    with serving(answer) as place:
        return TxtRecords([place], deadline_seconds=1).of(NAME)


def test_all_texts_of_a_name_are_found_with_their_parts_joined() -> None:
    assert set(looked_up(says('"v=spf1 -all"', '"payment-requests=" "2a2a"'))) == {"v=spf1 -all", "payment-requests=2a2a"}


def test_the_name_is_asked_for_as_it_is() -> None:
    asked: list[str] = []

    def answer(question: dns.message.Message) -> bytes:
        asked.append(question.question[0].to_text())
        return says('"x"')(question)

    looked_up(answer)
    assert asked == [f"{NAME}. IN TXT"]


def test_a_name_that_does_not_exist_or_has_no_text_has_none() -> None:
    assert looked_up(says(code=dns.rcode.NXDOMAIN)) == ()
    assert looked_up(says()) == ()


def test_an_alias_is_followed() -> None:
    def answer(question: dns.message.Message) -> bytes:
        reply = dns.message.make_response(question)
        reply.flags |= dns.flags.RA
        reply.answer.append(dns.rrset.from_text(question.question[0].name, 300, "IN", "CNAME", "proof.other.example."))
        reply.answer.append(dns.rrset.from_text("proof.other.example.", 300, "IN", "TXT", '"x"'))
        return reply.to_wire()

    assert looked_up(answer) == ("x",)


@pytest.mark.parametrize(
    "answer",
    [says(code=dns.rcode.SERVFAIL), says(code=dns.rcode.REFUSED), lambda asked: None, lambda asked: b"\xff" * 40],
    ids=["fails", "refuses", "is silent", "is no message"],
)
def test_no_usable_answer_is_told_apart_from_no_records(answer: Answer) -> None:
    with pytest.raises(NoDnsAnswer):
        looked_up(answer)


def test_texts_that_are_no_utf8_are_read_with_what_is_wrong_replaced() -> None:
    assert looked_up(says('"\\255ok"')) == ("\ufffdok",)


@pytest.mark.parametrize("name", ["a." * 200, "a" * 64 + ".example", "a..b"])
def test_what_is_no_name_has_no_answer(name: str) -> None:
    with pytest.raises(NoDnsAnswer):
        TxtRecords([("127.0.0.1", 9)]).of(name)


def test_the_library_is_loaded_by_the_first_look_up() -> None:
    script = "import sys, chalicelib.platform.outbound.txt_records; assert 'dns' not in sys.modules"
    subprocess.run([sys.executable, "-c", script], check=True)
