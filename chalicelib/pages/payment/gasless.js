// Pays without gas: the wallet signs a transfer of the token (ERC-3009), and the service makes the payment. Loaded for those
// alone who ask for it, or whose wallet has no coin.

import { claim, giveBack, keepClaim, watchLink } from "./claims.js";
import { readOffer } from "./gasless_offer.js";
import { say } from "./gasless_words.js";
import { SEND_MS, believe, clean, gaslessIn, isLike, within } from "./link.js";
import { poll } from "./poll.js";

const SIGNATURE = /^0x(?:[0-9a-f]{2}){65,1024}$/i;
// In milliseconds: no signature is accepted later than two minutes before its end.
const LEAST = 150_000;
const SENDING = { first: 2_000, most: 15_000 };
const FOLLOWING = { first: 3_000, most: 20_000 };

const kept = ({ token }) => `gasless:${token}`;

// ---- what is offered

/** Offers to pay the link by a signature; returns false if that is not possible and was not asked for by the payer. */
export async function offer(payment, isAsked) {
  const { app, address, turn } = payment;
  const path = `/pay?wallet=${encodeURIComponent(address)}&gasless=true`;
  const asked = app.ask(path).catch((trouble) => (isAsked ? Promise.reject(trouble) : null));
  const response = await asked;
  if (turn !== payment.turn || payment.isBusy) return true;
  if (response?.status === 200) return show(payment, readOffer(payment, response.body)), true;
  if (!isAsked) return false;
  await showRefusal(payment, response);
  return true;
}

/** What is offered is not the payment of the link to the service's account: nothing is offered to be signed. */
function refuse({ app, views }, { refusal, account }) {
  views.problem("unsafe", () => ({ text: app.t(`unsafe.${refusal}`), body: [app.el("p", {}, app.code(account))] }), true);
}

function show(payment, made) {
  if (made.refusal) return refuse(payment, made);
  const { app, chain, views } = payment;
  const { t, el, money, units, code, paragraph, button } = app;
  const { total, network, decimals, symbol } = made;
  const coin = clean(chain.nativeCurrency.symbol);
  const { balance } = payment.quote.metadata;
  const isShort = typeof balance === "string" && units(balance, decimals) < total;
  const line = (name, amount) => el("div", { class: "row" }, el("dt", {}, name), el("dd", {}, money(amount, decimals, symbol)));
  const time = () => new Intl.DateTimeFormat(app.language(), { timeStyle: "short" }).format(made.endsAt + Date.now() - app.now());
  app.show("gasless", () => {
    const amount = money(total, decimals, symbol);
    const [before, after = ""] = say(app, "signs", { amount, time: time(), account: "\u0000" }).split("\u0000");
    return {
      title: t("act.gasless", { token: symbol }),
      text: say(app, "text", { coin, token: symbol }),
      body: [
        isShort && paragraph(t("balance.short"), "note bad"),
        views.account(),
        el("dl", { class: "balances" }, line(t("gas"), network), line(say(app, "total"), total)),
        el("p", {}, before.replace(/\u2068$/, ""), code(made.account), after.replace(/^\u2069/, "")),
      ],
      acts: [
        isShort
          ? button("again", t("balance.again"), () => payment.readAgain())
          : button("sign", say(app, "sign", { amount }), () => payment.exclusively(() => sign(payment, made))),
        button("with-gas", say(app, "other", { coin }), () => payment.forgoSignature(), "quiet"),
      ],
    };
  });
}

/** Shows why the service refuses: the link has ended or is being paid, or else its words. */
async function showRefusal({ app, views }, { status, body }) {
  if (typeof body.status === "string") return void (await app.settle(app.outcomeOf({ status, body })));
  const message = typeof body.message === "string" ? clean(body.message.slice(0, 300)) : "";
  views.problem("unpayable", () => ({ body: [app.el("q", { lang: "en", dir: "ltr" }, message)] }));
}

// ---- signing

async function sign(payment, made) {
  const { app, session, chain } = payment;
  if (app.notes.own()) return payment.resumePayment();
  if (await app.refresh()) return;
  if (!isDue(app, made) || app.now() > made.endsAt - LEAST) return void (payment.next = "prepare");
  if ((await session.chainId()) !== chain.chainId) {
    tell(payment, "switching");
    await session.ensureChain(chain);
  }
  payment.views.preparing();
  await session.demand(chain);
  const note = { claim: await claim(payment, made.typed) };
  if (note.claim === "settled") return;
  try {
    const signature = await askWallet(payment, made, note);
    if (signature) return await send(payment, made, note, signature);
    payment.next = (await app.refresh()) ? null : "prepare";
  } finally {
    await giveBack(app, note);
  }
}

const isDue = ({ link }, { amount }) => link.payments[0].left === amount;

function tell(payment, state) {
  const { app, wallet, chain } = payment;
  const names = { wallet: clean(wallet.name), network: clean(chain.name) };
  app.show(state, () => ({
    title: app.t(`${state}.title`, names), text: app.t(`${state}.text`, names), tone: "busy",
    body: [payment.isStale && app.paragraph(app.t(payment.isStale), "note bad")],
  }));
}

/** The signature of the wallet; null if the link does not owe it any more, or another device is asked: it is sent to nobody then, as is one that comes too late. */
async function askWallet(payment, made, note) {
  const { app, session, address, views } = payment;
  tell(payment, "signing");
  const stands = (link) => isDue({ link }, made);
  const stop = watchLink(app, note, { stands, slow: () => tell(payment, "slow"), withdraw: () => views.withdrawn() });
  try {
    const ask = () => session.request("eth_signTypedData_v4", [address, JSON.stringify(made.typed)]);
    const signature = await within(SEND_MS, ask);
    believe(isLike(signature, SIGNATURE), "not a signature");
    return note.isWithdrawn ? null : signature;
  } catch (trouble) {
    if (trouble.code === "unsupported") session.signs = false;
    if (note.isWithdrawn) return null;
    throw trouble;
  } finally {
    stop();
  }
}

/** Sends the signature until the service answers, or it is too late for it; the same one again is the same payment. */
async function send(payment, made, note, signature) {
  const { app, follower } = payment;
  app.stored.set(kept(app), made.id);
  let why = null; // why there is no answer yet, as the prefix of a message
  const look = () => app.show("gasless-sends", () => ({
    title: why ? app.t(`${why}.title`) : say(app, "sending"), text: say(app, why ? "resend" : "keep"), tone: "busy",
  }));
  look();
  const stop = keepClaim(app, note);
  const ask = () => app.ask(`/gasless/${made.id}`, { signature }).catch((trouble) => {
    why = trouble.kind === "stopped" ? "stopped" : "away";
    look();
    app.renew();
    if (app.now() <= made.endsAt) throw trouble;
    return null;
  });
  const task = async () => (await ask()) ?? ((await app.refresh()) ? "settled" : "over"); // its answer may have got lost
  const end = await task().catch(() => follower.until(task, SENDING)).finally(stop);
  if (["settled", "left"].includes(end)) return;
  if (end.status === 200) return void (await follow(app, made.id));
  app.stored.set(kept(app), null);
  if (end === "over") return payment.views.problem("unpayable", () => ({ text: say(app, "free") }));
  await showRefusal(payment, end);
}

// ---- following

const follow = (app, id) => app.settle({ kind: "gasless", module: "gasless.js", body: { requestStatuses: [{ gaslessPaymentId: id }] } });

const stateOf = async (app, id) => {
  const { status, body } = await app.ask(`/gasless/${encodeURIComponent(id)}`);
  return status === 200 ? body : null;
};

const reasonOf = (app, state) => typeof state?.reason === "string" && app.el("q", { lang: "en", dir: "ltr" }, clean(state.reason.slice(0, 300)));

/** Shows that a payment is made until it has ended, whoever has signed it. */
export async function showEnd(app, { body }) {
  const id = gaslessIn(body);
  let state = null;
  if (app.link) app.summary(app.link);
  app.show("gasless-made", () => ({ title: say(app, "made"), text: say(app, "wait"), tone: "busy", body: [reasonOf(app, state)] }));
  app.stopWatch();
  app.stopWatch = poll(async () => {
    const outcome = await app.load();
    if (outcome.kind === "gasless" && gaslessIn(outcome.body) === id) {
      const before = state?.reason;
      state = await stateOf(app, id);
      if (state?.reason !== before) app.renew();
      return false;
    }
    if (outcome.kind === "open") return (await recall(app, id)) || (location.reload(), true); // it can be paid again
    Object.assign(app, { end: outcome.kind, endedAt: Date.now() });
    await (await app.asset(outcome.module ?? "outcomes.js")).showEnd(app, outcome);
    return true;
  }, FOLLOWING);
}

/** Whether the link, which is paid, was paid by what was signed in this browser. Asks until the service says so. */
export function isMadeHere(app) {
  return untilAnswered(app, async () => ["sending", "paid"].includes((await stateOf(app, app.stored.get(kept(app))))?.status));
}

/** Shows that a payment that was signed was not made, and why; returns whether it was not. Its link is open. */
export async function recall(app, id = app.stored.get(kept(app))) {
  const state = await untilAnswered(app, () => stateOf(app, id));
  if (["signed", "sending"].includes(state?.status)) return false; // what was read of the link is older
  const again = () => app.button("again", app.t("again"), () => location.reload());
  app.stored.set(kept(app), null);
  if (state?.status !== "failed") return false;
  app.show("gasless-failed", () => ({ title: say(app, "failed"), text: say(app, "free"), tone: "bad", body: [reasonOf(app, state), again()] }));
  return true;
}

/** What `task` returns once the service answers; until then the page says that it does not. */
function untilAnswered(app, task) {
  return task().catch((trouble) => {
    app.showTrouble(trouble, () => location.reload());
    return new Promise((resolve) => poll(async () => (resolve(await task()), true), FOLLOWING));
  });
}
