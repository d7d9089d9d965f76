"""What forms read: amounts as people write them, addresses, tables of other countries' spreadsheets, sums; when a view
reads again; and what events tell that somebody has to look at."""

import csv
import io
import random
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from chalicelib.payments.search.payments.export import inert
from tests.fakes.world import PAYEE
from tests.oracles.node import served

DRIVER = str(Path(__file__).parent / "forms_driver.js")
TRON = "TJRabPrwbZy45sbavfcjinPJC18kjpRTv8"
CURRENCIES = [
    {"id": "USDC-base", "network": "base", "type": "ERC20", "decimals": 6},
    {"id": "ETH-base-base", "network": "base", "type": "ETH", "decimals": 18},
    {"id": "USDC-mainnet", "network": "mainnet", "type": "ERC20", "decimals": 6},
    {"id": "USDT-tron", "network": "tron", "type": "TRC20", "decimals": 6},
    {"id": "USD", "network": "", "type": "ISO4217", "decimals": 2},
]
HEAD = "recipient,amount,currency\n"
ROW = f"{PAYEE},12.50,USDC-base"


def asked(name: str, *cases: Any) -> list[Any]:
    """What a function of the forms returns for each case: a list of arguments, or the only one."""
    found: list[Any] = served(DRIVER, [{"name": name, "arguments": case if isinstance(case, list) else [case]} for case in cases])
    return found


def test_a_cell_of_an_export_is_read_as_what_was_written_however_many_parts_of_it_could_be_run() -> None:
    rng = random.Random(7)
    random_texts = ["".join(rng.choices('=+-@＝;\t\r\n "\u200b\x00a1é', k=rng.randrange(1, 9))) for _ in range(500)]
    texts = ["INV;-5", "Rent; +2 guests", '"=x"', "\u200b=1", "=1+1", "a\n@b", "don't", "plain", *random_texts]
    assert asked("readCell", *[[inert(text)] for text in texts]) == texts


def read(*texts: str) -> list[Any]:
    return asked("readPayouts", *([text, CURRENCIES] for text in texts))


def test_an_amount_is_read_only_if_it_can_mean_one_number_alone() -> None:
    plain = {"12": "12", "12.5": "12.5", "12,5": "12.5", "0,05": "0.05", " 7 ": "7", "1 234.56": "1234.56", "1\u00a0234,5": "1234.5", "1'234.5": "1234.5", "1000,50": "1000.50", "1.000": "1.000"}
    refused = ("", "1,000", "1.234,56", "1,234.56", "1,234,567", "١٢٫٥", "１２", "१२", "-1", "+1", "1e3", "0x10", "12.", ".5", "12 USDC", "$5", "NaN", "∞", "1_000")
    assert dict(zip(plain, asked("decimal", *plain), strict=True)) == plain
    assert dict(zip(refused, asked("decimal", *refused), strict=True)) == dict.fromkeys(refused)
    assert asked("amountProblem", ["0", 6], ["0.00", 6], ["1.234567", 6], ["1.2345678", 6], ["1.2345678"]) == [
        "create.amount.zero", "create.amount.zero", None, "create.amount.fine", None,
    ]  # fmt: skip


def test_an_address_has_the_form_of_its_network() -> None:
    cases = {("base", PAYEE): None, ("tron", TRON): None, ("base", TRON): "create.payee.evm", ("tron", PAYEE): "create.payee.tron",
             ("base", ""): "create.payee.missing", ("base", PAYEE[:-1]): "create.payee.odd", ("base", "vitalik.eth"): "create.payee.odd",
             ("tron", TRON.replace("J", "0", 1)): "create.payee.odd", ("base", f" {PAYEE}\n"): None}  # fmt: skip
    assert asked("addressProblem", *map(list, cases)) == list(cases.values())


def test_a_time_that_is_past_or_of_a_year_that_is_none_is_refused_and_shown_as_none() -> None:
    draft = {"kind": "single", "network": "base", "fiat": "", "wallet": "", "merchant": "shop", "items": [{"payee": PAYEE, "amount": "1"}]}
    token, now = CURRENCIES[0], 1_800_000_000_000
    times = {"2099-03-04T10:00": [], "": [], "2020-03-04T10:00": ["create.past"], "20261-03-04T10:00": ["create.past"], "2026-13-04T10:00": ["create.past"]}
    for fields in ({"kind": "single", "expires": ""}, {"kind": "held", "payUntil": "", "captureUntil": ""}):
        for name in fields.keys() - {"kind"}:
            found = asked("problemsOf", *([{**draft, **fields, name: text}, token, now] for text in times))
            assert [[each["message"] for each in problems] for problems in found] == list(times.values()), name
    assert asked("time", "20261-03-04T10:00", "no time", "", "2026-03-04T10:00")[:3] == ["none"] * 3
    assert asked("isTime", "2026-03-04T10:00", "20261-03-04T10:00") == [True, False]


def test_a_table_is_read_as_python_reads_it_whatever_its_separator_and_line_ends() -> None:
    """Cells with quotes, separators, line ends and letters of every script, written by Python."""
    chance = random.Random(30)
    for separator in (",", ";", "\t"):
        for end in ("\n", "\r\n"):
            rows = [["".join(chance.choices(['"', ",", ";", "\t", "\n", " ", "a", "ü", "م", "漢", "é"], k=chance.randrange(1, 9))) for _ in range(3)] for _ in range(60)]
            text = io.StringIO()
            csv.writer(text, delimiter=separator, lineterminator=end).writerows(rows)
            (found,) = asked("parseCsv", [text.getvalue(), separator])
            assert found == {"lines": rows, "isOpen": False}
    assert asked("parseCsv", 'a,"b\nc', '5" pipe,"x"\r\r\nb', "") == [
        {"lines": [["a", "b\nc"]], "isOpen": True}, {"lines": [['5" pipe', "x"], ["b"]], "isOpen": False}, {"lines": [], "isOpen": False},
    ]  # fmt: skip


def test_a_table_of_payouts_is_read_with_a_bom_semicolons_quotes_and_columns_in_any_order() -> None:
    first, *others = read(
        f"{HEAD}{ROW}\n",
        f"\ufeff{HEAD.replace(',', ';')}{PAYEE};12,50;usdc-BASE;\r\n".replace("currency\n", "currency;\n"),
        f'Currency\tAMOUNT\t Recipient \r"USDC-base"\t"12.50"\t"{PAYEE}"\r\r',
        f'recipient,amount,currency,,\n{PAYEE},"12,50",USDC-base,,\n\n,,\n , ,\t\n',
    )
    (row,) = first["rows"]
    assert (row["number"], row["recipient"], row["amount"], row["id"], row["problems"]) == (1, PAYEE, "12.50", "USDC-base", {})
    for other in others:
        assert [(each["recipient"], each["id"], each["problems"]) for each in other["rows"]] == [(PAYEE, "USDC-base", {})]
    assert asked("requestsOf", [others[0]["rows"]]) == [[{"payee": PAYEE, "amount": "12.50", "invoiceCurrency": "USDC-base", "paymentCurrency": "USDC-base"}]]
    assert read(f"memo,{HEAD}x,{ROW}")[0]["ignored"] == ["memo"]
    table = f"{HEAD}{PAYEE},1.000,USDC-base"
    for separator, problems in ((",", {}), (";", {"amount": "create.amount.odd"}), ("\t", {"amount": "create.amount.odd"})):
        (found,) = read(table.replace(",", separator))
        assert found["rows"][0]["problems"] == problems, "a thousand where the comma is the decimal one"


def test_a_table_that_is_none_has_no_rows_and_one_problem() -> None:
    problems = {
        "": "import.columns", ROW: "import.columns", "amount,currency\n1,USDC-base": "import.columns",
        f"amount,{HEAD}1,{ROW}": "import.twice", f'{HEAD}"{ROW}': "import.quote", f"{HEAD}{ROW}\ufffd": "import.encoding",
        "r\0e\0c\0": "import.encoding", HEAD + f"{ROW}\n" * 201: "import.many", HEAD + f"{ROW}\n" * 10_000: "import.many",
    }  # fmt: skip
    assert [(each["rows"], each["problem"]) for each in read(*problems)] == [([], each) for each in problems.values()]


def test_each_cell_of_a_table_says_what_is_wrong_with_it() -> None:
    lines = {
        f"{PAYEE},12.50,USDC-base": {},
        f"{TRON},12.50,USDC-base": {"recipient": "create.payee.evm"},
        "0x12,1.234.567,USDC-base": {"recipient": "create.payee.odd", "amount": "create.amount.odd"},
        f"{PAYEE},,USD": {"amount": "create.amount.odd", "currency": "import.currency"},
        f"{PAYEE},0,": {"amount": "create.amount.zero", "currency": "import.currency.missing"},
        f"{PAYEE},1,USDC-mainnet": {"currency": "import.network"},
        f"{PAYEE},12,50,USDC-base": {"amount": "import.extra", "currency": "import.currency"},
        f"{PAYEE},1.0000001,USDC-base": {"amount": "create.amount.fine"},
        PAYEE: {"amount": "create.amount.odd", "currency": "import.currency.missing"},
        f",{'9' * 300},USDC-base": {"recipient": "create.payee.missing"},
    }
    (found,) = read(HEAD + "\n".join(lines))
    assert [each["problems"] for each in found["rows"]] == list(lines.values())
    assert [each["problems"] for each in read(f"{HEAD}{TRON},1,USDT-tron")[0]["rows"]] == [{}]
    assert [each["problems"] for each in read(f"{HEAD}{TRON},1,USDT-tron\n{TRON},2,USDT-tron")[0]["rows"]] == [{"currency": "import.tron"}] * 2


def test_the_largest_table_is_read_whole() -> None:
    (found,) = read(HEAD + f"{ROW}\n" * 200)
    assert [each["number"] for each in found["rows"]] == list(range(1, 201))


def test_sums_and_base_units_are_exact() -> None:
    chance = random.Random(7)
    lists = [[f"{chance.randrange(10**9)}.{chance.randrange(10**18):018}" for _ in range(9)] for _ in range(40)]
    for texts, total in zip(lists, asked("sum", *([each] for each in lists)), strict=True):
        assert Decimal(total) == sum(map(Decimal, texts))
    assert asked("units", ["12.5", 6], ["0.000001", 6], ["7", 0], ["1", 18]) == ["12500000", "1", "7", "1000000000000000000"]


def test_what_does_not_change_is_read_again_ever_later_and_a_delivery_once_its_next_attempt_is_due() -> None:
    now, second, hour = 1_800_000_000_000, 1_000, 3_600_000
    waits = asked("pause", *([now - age, now] for age in (-hour, 0, 40 * second, hour, 24 * hour)), [0, now, 30 * second])
    assert waits == [4 * second, 4 * second, 4 * second, 360 * second, 600 * second, 30 * second]

    def delivery(due: int | None, attempted: int) -> dict[str, Any]:
        at = [datetime.fromtimestamp(each / 1_000, UTC).isoformat() if each else None for each in (due, attempted)]
        return {"nextAttemptAt": at[0], "attempts": [{"at": at[1]}], "createdAt": at[1]}

    cases = {(now + hour // 2, now): hour // 2 + 4 * second, (now + 9 * hour, now): hour + 4 * second,
             (now - 100 * second, now - hour): 10 * second, (None, now - hour): 360 * second}  # fmt: skip
    assert asked("nextLook", *([delivery(*times), now] for times in cases)) == list(cases.values())


def test_a_payment_is_looked_at_until_what_was_too_much_of_it_is_returned() -> None:
    over = {"requestId": "01ab", "amount": "14", "excessAmount": "2"}
    extra = {"requestId": "01ab", "amount": "0", "receivedAmount": "5"}
    converted = {"requestId": "01ab", "amount": "14", "excessAmount": "2", "convertedAmountSource": "13"}

    def returned(body: dict[str, str], amount: str, request: str = "01ab", hour: int = 9) -> list[Any]:
        refund = {"createdAt": f"2026-03-15T{hour:02}:00:00Z", "body": {"requestId": request, "refundAmount": amount}}
        return [{"body": body, "createdAt": "2026-03-15T08:00:00Z"}, [refund]]

    cases = [returned(over, "2"), returned(over, "14"), returned(extra, "5"), returned(converted, "1.9")]
    refused = [returned(over, "5"), returned(extra, "2"), returned(over, "2", "01cd"), returned(over, "2", hour=7), [cases[0][0], []]]
    assert asked("isReturned", *cases, *refused) == [True] * 4 + [False] * 5


def test_joiners_stay_where_a_script_or_an_emoji_needs_them_and_hide_nothing_elsewhere() -> None:
    kept = ["\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645", "\u0928\u092e\u0938\u094d\u200d\u0924\u0947", "\U0001f468\u200d\U0001f469\u200d\U0001f467", "\u2764\ufe0f\u200d\U0001f525"]
    hidden = ["pay\u200cpal", "a\u200d", "\u200c\u0645", "\u0645\u200c", "\u0645\u200c\u200c\u0645"]
    assert asked("clean", *kept) == kept
    assert asked("clean", *hidden) == [each.replace("\u200c", "\ufffd").replace("\u200d", "\ufffd") for each in hidden]


def test_a_shortened_address_stays_in_one_line_and_no_other_invisible_letter_does() -> None:
    (short,) = asked("short", PAYEE)
    assert short == f"{PAYEE[:8]}…\u2060{PAYEE[-6:]}"
    texts = {short: short, "a\u2060b": "a\ufffdb", "…\u200b": "…\ufffd", "…\u2060\u2060x": "…\u2060\ufffdx"}
    assert asked("clean", *texts) == list(texts.values())
