"""The files of the payment page as they are served: named by their hashes, kept for good, and held to what the page says."""

import gzip
import hashlib
import json
import re
from base64 import b64encode
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from chalicelib.pages import assets as page_assets
from chalicelib.pages.assets import JOINED, assets, locales, scripts, served_assets
from infra.local.walletconnect import PROJECT
from tests.pages.growth import with_more_networks
from tests.support.api import Configured
from tests.support.browser import get
from tests.support.client import Api, Reply

LICENCES = {"MIT", "ISC", "0BSD", "Apache-2.0", "(Apache-2.0 AND MIT)"}
SCRIPT_PATH = assets()["page.js"].path


def test_scripts_are_held_to_their_hashes(api: Api) -> None:
    """By the import map, and by a link or the script element, for browsers that do not read the hashes of the map."""
    html = get(api, "/?token=x").body.decode()
    listed = dict(re.findall(r'(?:src|href)="(pages/[^"]+)" integrity="(sha384-[^"]+)"', html))
    assert listed.keys() == {f"pages/{each.path}" for name, each in assets().items() if name.endswith(".js")}
    assert import_map(html)["integrity"] == {f"./{path}": integrity for path, integrity in listed.items()}
    for path, integrity in listed.items():
        body = get(api, f"/{path}").body
        assert integrity == "sha384-" + b64encode(hashlib.sha384(body).digest()).decode()


def test_the_import_map_leads_to_the_file_of_each_script_and_locale(api: Api) -> None:
    found = import_map(get(api, "/?token=x").body.decode())["imports"]
    locales = {f"./pages/{name}" for name in assets() if name.startswith("locales/")}
    assert found.keys() == {f"./pages/{name}" for name in scripts()} | locales
    for name, text in scripts().items():
        body = get(api, found[f"./pages/{name}"].removeprefix(".")).body.decode()
        assert all(line in body for line in text.splitlines() if not line.startswith("import "))
    for name in locales:
        assert json.loads(get(api, found[name].removeprefix(".")).body) == json.loads(assets()[name.removeprefix("./pages/")].text)


def import_map(html: str) -> dict[str, dict[str, str]]:
    (text,) = re.findall('<script type="importmap">([^<]*)</script>', html)
    read: dict[str, dict[str, str]] = json.loads(text)
    return read


@pytest.mark.parametrize("walletconnect", [False, True])
def test_no_script_is_loaded_later_without_those_that_it_imports_being_held_to_their_hashes(
    api: Api, configured: Configured, walletconnect: bool
) -> None:
    """Where the import map's hashes are not read, a script that another one imports is held to its hash if the page has
    said so before."""
    html = (opened_with_walletconnect(api, configured) if walletconnect else get(api, "/?token=x")).body.decode()
    links = re.findall(r'<link rel="later" data-for="([^"]+)" href="pages/(\w+)\.\w+\.js"', html)
    texts = {name: asset.text for name, asset in assets(walletconnect).items() if name.endswith(".js")}
    assert {f"{file}.js" for _, file in links} == texts.keys() - {"page.js"}
    file_of = {part: file for file, parts in JOINED.items() for part in parts}
    imports = {
        name: {file_of.get(each, each) for each in re.findall(r'^import .*"\./([\w.]+)";$', text, re.M)}
        for name, text in texts.items()
    }
    asked = set(re.findall(r'asset\("([\w.]+)"\)', "".join(texts.values()))) | {"bridge.js", "commerce.js"}
    assert {"apps.js", "bridge_transfer.js", "outcomes.js", "manual.js", "payment.js", "sessions.js", "sources.js", "tron.js"} < asked
    assert "walletconnect.js" in asked, "of the page that has it alone"
    for name in asked if walletconnect else asked - {"walletconnect.js"}:
        reached = {file_of.get(name, name)}
        while more := set().union(*(imports[each] for each in reached)) - reached:
            reached |= more
        assert reached - {"page.js"} == {f"{file}.js" for names, file in links if name in names.split()}, name


def opened_with_walletconnect(api: Api, configured: Configured) -> Reply:
    with configured(WALLETCONNECT_PROJECT_ID=PROJECT):
        return get(api, "/?token=x&connect=walletconnect")


def test_the_page_that_was_opened_with_walletconnect_has_its_files_besides_and_is_otherwise_the_same(
    api: Api, configured: Configured
) -> None:
    plain, opened = (each.body.decode() for each in (get(api, "/?token=x"), opened_with_walletconnect(api, configured)))
    more = assets(walletconnect=True).keys() - assets().keys()
    assert more == {"walletconnect.js", "walletconnect_vendor.js", *(f"locales/{each}.walletconnect.json" for each in locales())}
    added = {name: path for name, path in import_map(opened)["imports"].items() if name not in import_map(plain)["imports"]}
    assert added == {f"./pages/{name}": f"./pages/{assets(walletconnect=True)[name].path}" for name in more}
    for path in added.values():
        assert get(api, path.removeprefix(".")).status == 200
    strip = re.compile(r'<script type="importmap">[^<]*</script>|<link rel="later" data-for="walletconnect.js"[^>]*>\n|<meta name="walletconnect[^>]*>')
    assert strip.sub("", opened) == strip.sub("", plain)


def test_its_library_is_the_one_whose_hash_and_licences_are_noted() -> None:
    folder = Path(page_assets.__file__).parent / "payment/walletconnect"
    noted = json.loads((folder / "vendor.json").read_text())
    text = (folder / noted["file"]).read_bytes()
    assert hashlib.sha256(text).hexdigest() == noted["sha256"]
    assert assets(walletconnect=True)["walletconnect_vendor.js"].text.encode() == text, "it is served as it is"
    for name, package in noted["packages"].items():
        assert package["license"] in LICENCES and package["copyright"], name
        assert re.fullmatch(r"sha512-[\w+/]{86}==", package["integrity"])
    assert not re.search(rb"\beval\(|new Function\b|\.innerHTML\b|document\.write", text)
    assert len(gzip.compress(text)) <= 150_000


def test_every_file_is_served_in_its_type_under_a_name_that_contains_its_hash(api: Api) -> None:
    types = {".js": "text/javascript", ".json": "application/json"}
    for name, asset in assets().items():
        reply = get(api, f"/pages/{asset.path}")
        assert (reply.status, reply.body.decode()) == (200, asset.text)
        assert reply.headers["content-type"] == f"{types[Path(name).suffix]}; charset=utf-8"
        assert reply.headers["x-content-type-options"] == "nosniff"
        assert asset.path.split(".")[-2] == hashlib.sha256(reply.body).hexdigest()[:16]


def test_no_scripts_import_each_other_in_a_circle_nor_do_the_files_that_they_are_served_in() -> None:
    file_of = {part: file for file, parts in JOINED.items() for part in parts}
    imports = {
        name: {script for line in text.splitlines() if line.startswith("import ") for _, script in bindings(line)}
        for name, text in scripts(walletconnect=True).items()
        if name != "walletconnect_vendor.js"
    }
    files: dict[str, set[str]] = {}
    for name, others in imports.items():
        file = file_of.get(name, name)
        files.setdefault(file, set()).update({file_of.get(each, each) for each in others} - {file})
    for graph in (imports, files):
        TopologicalSorter(graph).prepare()


def test_no_script_is_longer_than_400_lines() -> None:
    assert {name: count for name in scripts() if (count := written(name).count("\n")) > 400} == {}


def written(name: str) -> str:
    return (Path(page_assets.__file__).parent / "payment" / name).read_text(encoding="utf-8")


def test_a_script_is_served_without_its_comments_and_with_every_other_line() -> None:
    """Those that are loaded together are served one after the other, with what they import from elsewhere before them."""
    lines_of = {}
    for name in scripts():
        lines = written(name).splitlines()
        comments = [line for line in lines if line.lstrip().startswith(("//", "/**", "*"))]
        assert comments, "it says what it holds"
        assert all(line.lstrip().startswith("//") or line.endswith("*/") for line in comments), "one line each"
        lines_of[name] = kept = [line.partition(" // ")[0] for line in lines if line not in comments]
        assert all(line.count('"') % 2 == 0 for line in kept), "what looks like a comment stands in no text"
        assert all(line.count("`") % 2 == 0 for line in kept), "no text goes over lines, where it could look like one"
    for name, asset in assets().items():
        if name.endswith(".js"):
            parts = [lines_of.pop(part) for part in JOINED.get(name, (name,))]
            plain = [line for lines in parts for line in lines if not line.startswith("import ")]
            served_lines = asset.text.splitlines()
            first = next(at for at, line in enumerate(served_lines) if not line.startswith("import "))
            assert served_lines[first:] == plain
            imported = [each for line in served_lines[:first] for each in bindings(line)]
            wanted = {each for lines in parts for line in lines if line.startswith("import ") for each in bindings(line)}
            assert sorted(imported) == sorted(each for each in wanted if each[1] not in JOINED.get(name, ()))
    assert not lines_of, "each script is served once"


def bindings(line: str) -> list[tuple[str, str]]:
    match = re.fullmatch(r'import \{ (.*) \} from "\./(.*)";', line)
    assert match, "one line, without default and renamed ones"
    return [(each, match[2]) for each in match[1].split(", ")]


@pytest.mark.parametrize("language", sorted(locales()))
def test_it_is_67_kb_at_most_in_any_language_and_9_kb_more_for_each_other_way_to_pay(api: Api, language: str) -> None:
    """With four more networks than there are, and the links of wallet apps, which a phone alone loads. The other ways, each
    loaded for those alone who need it: from another chain, and into an escrow. So are the view of a multicall that cannot be
    paid at once, what asks for one confirmation, what pays a test link, what pays without gas, and the sessions of Tron
    wallets; the last two have their words in every language."""
    page = get(api, "/?token=x", {"Accept-Language": language}).body
    always = {"page.js", "payment.js", "manual.js", "apps.js", f"locales/{language}.json"}
    needed = {name for name in assets() if name.endswith(".js")} - always
    grown = {name: with_more_networks(asset.text) if name.endswith(".js") else asset.text for name, asset in assets().items()}
    sizes = {name: len(gzip.compress(text.encode())) for name, text in grown.items()}
    assert sizes["calls.js"] <= 4_000 and sizes["tron.js"] <= 11_000 and sizes["sandbox.js"] <= 3_000
    assert sizes["gasless.js"] <= 10_500
    listed = {"commerce.js", f"locales/{language}.commerce.json", f"locales/{language}.reclaim.json"}
    assert len(gzip.compress(page)) + sum(sizes[name] for name in always) <= 67_000
    for group in (needed - listed - {"obstacles.js", "calls.js", "tron.js", "sandbox.js", "gasless.js"}, listed):
        assert len(group) > 2 and sum(sizes[name] for name in group) <= 9_000


def test_a_file_is_kept_for_good_and_the_page_that_names_it_is_not(api: Api) -> None:
    for path in served_assets():
        assert get(api, f"/pages/{path}").headers["cache-control"] == "public, max-age=31536000, immutable"
    assert get(api, "/?token=x").headers["cache-control"] == "no-store"


def test_a_file_has_no_other_name(api: Api) -> None:
    """Nothing is kept for good under a name that a later deployment could give to something else."""
    for path in ("page.js", f"page.js?v={SCRIPT_PATH.split('.')[1]}", "page.0000000000000000.js", "locales/en.json"):
        reply = get(api, f"/pages/{path}")
        assert (reply.status, "immutable" in reply.headers.get("cache-control", "")) == (404, False)


def test_who_has_a_file_is_not_sent_it_again(api: Api) -> None:
    tag = get(api, f"/pages/{SCRIPT_PATH}").headers["etag"]
    for known in (tag, tag.removeprefix("W/"), f'"x", {tag}', "*"):
        reply = get(api, f"/pages/{SCRIPT_PATH}", {"If-None-Match": known})
        assert (reply.status, reply.body, reply.headers["etag"]) == (304, b"", tag)
    assert get(api, f"/pages/{SCRIPT_PATH}", {"If-None-Match": '"x"'}).status == 200


def test_compressed_and_plain_are_told_apart_and_share_a_weak_tag(api: Api) -> None:
    plain, packed = (get(api, f"/pages/{SCRIPT_PATH}", {"Accept-Encoding": each}) for each in ("identity", "gzip"))
    assert "content-encoding" not in plain.headers and packed.headers["content-encoding"] == "gzip"
    for reply in (plain, packed):
        assert (reply.headers["etag"][:3], reply.headers["vary"]) == ('W/"', "Accept-Encoding")


def test_a_file_that_there_is_not_is_named_as_it_was_asked_for(api: Api) -> None:
    for path in ("/pages/x.js", "/pages/locales/xx.json", "/pages/%3Cb%3E.js"):
        assert get(api, f"{path}?v=1").json["message"] == f"Cannot GET {path}"


@pytest.mark.parametrize("name", ["index.html", "__init__.py", "x.js", "..%2fapp.py", "%2e%2e%2fsettings.py", "locales%2fen.json%00", "logos"])
def test_nothing_else_is_a_file(api: Api, name: str) -> None:
    for path in (f"/pages/{name}", f"/pages/locales/{name}"):
        assert get(api, path).status == 404
