"""Every state of the page, as `make screens` takes pictures of it: open to everybody, in one language, on any phone."""

import re

import pytest

from chalicelib.pages.assets import assets, messages_of
from infra.local.screens import SCENES, Stage, look
from tests.pages.visitor import axe_findings

GROUPS = ("", "commerce", "reclaim")
TITLES = {
    key.removesuffix(".title") for group in GROUPS for key in messages_of("en", group) if key.endswith(".title")
}
ENGLISH = {
    text
    for group in GROUPS
    for key, text in messages_of("en", group).items()
    if "{" not in text and text != messages_of("de", group).get(key)
}
OTHER_TITLES = {
    "paid": "already-paid", "part": "part-settled", "apart": "apart", "found": "found", "surplus": "surplus",
    "wallet-declined": "declined-unknown",
}
"""Of a state that has another title besides, the scene that shows this one."""
NO_STATES = {"page", "manual"}
"""What has a title, and is not a state: the document and the section that is open beside one."""
OF_FAR_WALLETS = {"paired"}
"""States that take a wallet behind the relay of WalletConnect: test_walletconnect has them."""

SPILLS = """(() => {
  const main = document.querySelector("main");
  const { left, right } = main.getBoundingClientRect();
  const { paddingLeft, paddingRight } = getComputedStyle(main);
  const [from, to] = [left + parseFloat(paddingLeft) - 1, right - parseFloat(paddingRight) + 1];
  const shown = [...main.querySelectorAll("*:not(.visually-hidden)")].map((each) => [each, each.getBoundingClientRect()]);
  const out = shown.filter(([, box]) => box.width > 0 && (box.left < from || box.right > to));
  const isWide = document.documentElement.scrollWidth > innerWidth;
  return [...out.map(([each]) => each.outerHTML), ...(isWide ? ["the page"] : [])];
})()"""
"""What is wider than the card lets it be, or makes the page so wide that it has to be scrolled sideways."""

TORN = r"""(() => {
  const texts = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
  const [found, range] = [[], document.createRange()];
  while (texts.nextNode()) {
    const node = texts.currentNode;
    const isSeen = node.parentElement.checkVisibility() && !node.parentElement.closest(".visually-hidden, [role], q");
    for (const { 0: amount, index } of isSeen ? node.data.matchAll(/[0-9][0-9.,]*\s(f?USD[CT]|ETH|TRX|USD)\b/g) : []) {
      range.setStart(node, index);
      range.setEnd(node, index + amount.length);
      if (new Set([...range.getClientRects()].map(({ top }) => Math.round(top))).size > 1) found.push(amount);
    }
  }
  return found;
})()"""
"""Amounts of which the token stands in the next line, but for those in what the service says."""

ENDLESS = "document.getAnimations().filter(({ effect }) => effect.getTiming().iterations === Infinity).length"


def named_states() -> set[str]:
    """What the scripts name where they show a state, and what has a title in the messages."""
    scripts = "".join(asset.text for name, asset in assets(walletconnect=True).items() if name.endswith(".js"))
    shown = re.findall(r"\b(?:show|problem|progress)\(([^,)]*)", scripts)
    literals = {literal for each in shown for literal in re.findall(r'"([\w-]+)"', each)}
    assert len(literals) > 15
    return literals | TITLES


def test_every_state_has_a_scene() -> None:
    wanted = named_states() - NO_STATES - OF_FAR_WALLETS - OTHER_TITLES.keys()
    assert wanted == {scene.state.removeprefix("trouble-") for scene in SCENES.values()}
    assert set(OTHER_TITLES.values()) <= SCENES.keys()


@pytest.mark.xdist_group("scenes")  # which need a browser and no stack: they run beside those that do
@pytest.mark.parametrize("name", SCENES)
def test_a_state_is_open_to_everybody_on_any_phone_in_the_language_that_was_chosen(stage: Stage, name: str) -> None:
    scene = SCENES[name]
    with stage.show_scene(scene) as page:
        assert axe_findings(page) == []
        assert page.evaluate(ENDLESS) == 0
        look(page, "small-phone")
        assert page.evaluate(SPILLS) == []
        torn = page.evaluate(TORN)
        page.set_viewport_size({"width": 390, "height": 800})
        assert [*torn, *page.evaluate(TORN)] == []
        page.set_viewport_size({"width": 640, "height": 800})
        assert page.evaluate(f"document.documentElement.style.fontSize = '200%', {SPILLS}") == []
        look(page, "phone")
        texts = page.locator("header, main, footer").all_inner_texts()
        shown = {line.strip() for line in "\n".join(texts).splitlines()}
        assert shown & ENGLISH == set()
        assert "12.625" not in page.locator("main").inner_text()
