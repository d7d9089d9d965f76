// Pays without gas: the wallet signs a transfer of the token (ERC-3009), and the service makes the payment. Loaded for those
// alone who ask for it, or whose wallet has no coin.

import { SEND_MS, believe, clean, gaslessIn, isLike, within } from "./link.js";
import { poll } from "./poll.js";

// They are here, and not with the others, as few payers need them.
const WORDS = {
  ar: {
    text: "لا تحتاج إلى {coin}: وقّع مرة واحدة، وتنفّذ خدمة الدفع الدفعة وتأخذ تكلفة الشبكة من {token}.",
    network: "للشبكة",
    total: "يُخصم إجمالاً",
    signs: "تعرض محفظتك تحويل {amount} إلى حساب خدمة الدفع {account}، وهو صالح حتى {time}.",
    sign: "التوقيع ودفع {amount}",
    other: "الدفع برسوم الغاز",
    sending: "يجري إرسال التوقيع",
    keep: "أبقِ هذه الصفحة مفتوحة.",
    late: "خدمة الدفع لا تستجيب. تعيد هذه الصفحة إرسال التوقيع من تلقاء نفسها: أبقها مفتوحة.",
    made: "يجري الدفع بدون رسوم غاز",
    wait: "تم توقيع الدفعة ويجري تنفيذها، ويستغرق ذلك دقيقة أو دقيقتين. لا تدفع مرة أخرى. لا حاجة إلى توقيع آخر، ويمكنك إغلاق هذه الصفحة.",
    failed: "لم يُدفع شيء",
    free: "لم تُنفَّذ الدفعة الموقّعة، ولم يُخصم شيء من المحفظة. يمكنك الدفع بطريقة أخرى.",
  },
  de: {
    text: "Sie brauchen keine {coin}: Sie unterschreiben einmal, und der Zahlungsdienst führt die Zahlung aus. Was das Netzwerk kostet, nimmt er in {token}.",
    network: "Für das Netzwerk",
    total: "Wird insgesamt abgebucht",
    signs: "Ihre Wallet zeigt eine Überweisung von {amount} an das Konto des Zahlungsdienstes, {account}. Sie gilt bis {time}.",
    sign: "Unterschreiben und {amount} bezahlen",
    other: "Mit Gas bezahlen",
    sending: "Die Unterschrift wird gesendet",
    keep: "Lassen Sie diese Seite geöffnet.",
    late: "Der Zahlungsdienst antwortet nicht. Diese Seite sendet die Unterschrift von selbst noch einmal: Lassen Sie sie geöffnet.",
    made: "Wird ohne Gas bezahlt",
    wait: "Die Zahlung ist unterschrieben und wird ausgeführt; das dauert ein bis zwei Minuten. Bezahlen Sie nicht noch einmal. Es ist nichts mehr zu unterschreiben, und Sie können diese Seite schließen.",
    failed: "Es wurde nichts bezahlt",
    free: "Die unterschriebene Zahlung wurde nicht ausgeführt, und aus der Wallet wurde nichts entnommen. Sie können anders bezahlen.",
  },
  en: {
    text: "You need no {coin}: you sign once, and the payment service makes the payment. It takes what the network costs in {token}.",
    network: "For the network",
    total: "Taken in all",
    signs: "Your wallet shows a transfer of {amount} to the account of the payment service, {account}. It is valid until {time}.",
    sign: "Sign and pay {amount}",
    other: "Pay with gas",
    sending: "The signature is being sent",
    keep: "Keep this page open.",
    late: "The payment service does not answer. This page sends the signature again by itself: keep it open.",
    made: "Being paid without gas",
    wait: "The payment was signed and is being made, which takes a minute or two. Do not pay again. Nothing more is to be signed, and you can close this page.",
    failed: "Nothing was paid",
    free: "The payment that was signed was not made, and nothing was taken from the wallet. You can pay in another way.",
  },
  es: {
    text: "No necesita {coin}: firma una vez y el servicio de pago hace el pago. Lo que cuesta la red lo toma en {token}.",
    network: "Para la red",
    total: "Se cobra en total",
    signs: "Su billetera muestra una transferencia de {amount} a la cuenta del servicio de pago, {account}. Es válida hasta las {time}.",
    sign: "Firmar y pagar {amount}",
    other: "Pagar con gas",
    sending: "Se está enviando la firma",
    keep: "Mantenga esta página abierta.",
    late: "El servicio de pago no responde. Esta página vuelve a enviar la firma por sí sola: manténgala abierta.",
    made: "Pagándose sin gas",
    wait: "El pago está firmado y se está haciendo; tarda uno o dos minutos. No pague otra vez. No hay nada más que firmar y puede cerrar esta página.",
    failed: "No se pagó nada",
    free: "El pago firmado no se hizo y no se tomó nada de la billetera. Puede pagar de otra manera.",
  },
  fr: {
    text: "Vous n’avez pas besoin de {coin} : vous signez une fois, et le service de paiement effectue le paiement. Il prend ce que coûte le réseau en {token}.",
    network: "Pour le réseau",
    total: "Prélevé en tout",
    signs: "Votre portefeuille montre un transfert de {amount} vers le compte du service de paiement, {account}. Il est valable jusqu’à {time}.",
    sign: "Signer et payer {amount}",
    other: "Payer avec du gas",
    sending: "Envoi de la signature",
    keep: "Gardez cette page ouverte.",
    late: "Le service de paiement ne répond pas. Cette page renvoie la signature d’elle-même : gardez-la ouverte.",
    made: "Paiement sans gas en cours",
    wait: "Le paiement est signé et s’effectue, en une ou deux minutes. Ne payez pas une seconde fois. Il n’y a plus rien à signer, et vous pouvez fermer cette page.",
    failed: "Rien n’a été payé",
    free: "Le paiement signé n’a pas été effectué, et rien n’a été pris du portefeuille. Vous pouvez payer autrement.",
  },
  hi: {
    text: "आपको {coin} की ज़रूरत नहीं: आप एक बार हस्ताक्षर करते हैं, और भुगतान सेवा भुगतान कर देती है। नेटवर्क की लागत वह {token} में लेती है।",
    network: "नेटवर्क के लिए",
    total: "कुल कटौती",
    signs: "आपका वॉलेट भुगतान सेवा के खाते {account} में {amount} का ट्रांसफ़र दिखाता है। यह {time} तक मान्य है।",
    sign: "हस्ताक्षर करके {amount} चुकाएँ",
    other: "गैस के साथ भुगतान करें",
    sending: "हस्ताक्षर भेजा जा रहा है",
    keep: "यह पेज खुला रखें।",
    late: "भुगतान सेवा जवाब नहीं दे रही। यह पेज हस्ताक्षर अपने आप फिर भेजता है: इसे खुला रखें।",
    made: "बिना गैस भुगतान हो रहा है",
    wait: "भुगतान पर हस्ताक्षर हो चुका है और वह किया जा रहा है, इसमें एक-दो मिनट लगते हैं। दोबारा भुगतान न करें। अब कुछ और हस्ताक्षर नहीं करना है, और आप यह पेज बंद कर सकते हैं।",
    failed: "कुछ भी भुगतान नहीं हुआ",
    free: "हस्ताक्षरित भुगतान नहीं किया गया, और वॉलेट से कुछ नहीं लिया गया। आप दूसरे तरीके से भुगतान कर सकते हैं।",
  },
  it: {
    text: "Non Le servono {coin}: firma una volta, e il servizio di pagamento esegue il pagamento. Trattiene il costo della rete in {token}.",
    network: "Per la rete",
    total: "Addebitato in tutto",
    signs: "Il Suo wallet mostra un trasferimento di {amount} al conto del servizio di pagamento, {account}. È valido fino alle {time}.",
    sign: "Firmare e pagare {amount}",
    other: "Pagare con gas",
    sending: "Invio della firma in corso",
    keep: "Tenga aperta questa pagina.",
    late: "Il servizio di pagamento non risponde. Questa pagina invia di nuovo la firma da sola: la tenga aperta.",
    made: "Pagamento senza gas in corso",
    wait: "Il pagamento è firmato e viene eseguito in uno o due minuti. Non paghi di nuovo. Non c’è altro da firmare, e può chiudere questa pagina.",
    failed: "Non è stato pagato nulla",
    free: "Il pagamento firmato non è stato eseguito, e dal wallet non è stato preso nulla. Può pagare in un altro modo.",
  },
  ja: {
    text: "{coin} は必要ありません。一度署名すると、決済サービスが支払いを実行します。ネットワークの費用は {token} で差し引かれます。",
    network: "ネットワーク費用",
    total: "引き落とし合計",
    signs: "ウォレットには、決済サービスのアカウント {account} への {amount} の送金が表示されます。{time} まで有効です。",
    sign: "署名して {amount} を支払う",
    other: "ガスを使って支払う",
    sending: "署名を送信しています",
    keep: "このページを開いたままにしてください。",
    late: "決済サービスが応答しません。このページが自動的に署名を再送します。開いたままにしてください。",
    made: "ガスなしで支払い中",
    wait: "支払いは署名され、実行中です。一、二分かかります。もう一度支払わないでください。これ以上の署名は不要で、このページは閉じてかまいません。",
    failed: "支払いは行われませんでした",
    free: "署名された支払いは実行されず、ウォレットからは何も引き落とされていません。別の方法で支払えます。",
  },
  ko: {
    text: "{coin}이(가) 필요 없습니다. 한 번 서명하면 결제 서비스가 결제를 실행합니다. 네트워크 비용은 {token}(으)로 가져갑니다.",
    network: "네트워크 비용",
    total: "총 출금액",
    signs: "지갑에 결제 서비스 계정 {account}(으)로 {amount}을(를) 보내는 전송이 표시됩니다. {time}까지 유효합니다.",
    sign: "서명하고 {amount} 결제",
    other: "가스로 결제",
    sending: "서명을 보내는 중",
    keep: "이 페이지를 열어 두세요.",
    late: "결제 서비스가 응답하지 않습니다. 이 페이지가 서명을 다시 보내니 열어 두세요.",
    made: "가스 없이 결제되는 중",
    wait: "결제가 서명되어 실행되는 중이며 1~2분 걸립니다. 다시 결제하지 마세요. 더 서명할 것이 없으며 이 페이지를 닫아도 됩니다.",
    failed: "결제된 것이 없습니다",
    free: "서명된 결제가 실행되지 않았고 지갑에서 출금된 것이 없습니다. 다른 방법으로 결제할 수 있습니다.",
  },
  pt: {
    text: "Não precisa de {coin}: assina uma vez, e o serviço de pagamento faz o pagamento. O custo da rede é retirado em {token}.",
    network: "Para a rede",
    total: "Retirado no total",
    signs: "A sua carteira mostra uma transferência de {amount} para a conta do serviço de pagamento, {account}. É válida até às {time}.",
    sign: "Assinar e pagar {amount}",
    other: "Pagar com gas",
    sending: "A assinatura está a ser enviada",
    keep: "Mantenha esta página aberta.",
    late: "O serviço de pagamento não responde. Esta página volta a enviar a assinatura sozinha: mantenha-a aberta.",
    made: "A ser pago sem gas",
    wait: "O pagamento está assinado e está a ser feito, o que demora um ou dois minutos. Não pague de novo. Não há mais nada para assinar, e pode fechar esta página.",
    failed: "Nada foi pago",
    free: "O pagamento assinado não foi feito, e nada foi retirado da carteira. Pode pagar de outra forma.",
  },
  ru: {
    text: "{coin} не нужны: вы подписываете один раз, и платёжный сервис проводит платёж. Стоимость сети он берёт в {token}.",
    network: "За сеть",
    total: "Всего спишется",
    signs: "Кошелёк покажет перевод {amount} на счёт платёжного сервиса, {account}. Он действует до {time}.",
    sign: "Подписать и оплатить {amount}",
    other: "Оплатить с газом",
    sending: "Подпись отправляется",
    keep: "Не закрывайте эту страницу.",
    late: "Платёжный сервис не отвечает. Эта страница сама отправит подпись ещё раз: не закрывайте её.",
    made: "Оплачивается без газа",
    wait: "Платёж подписан и выполняется, это займёт одну-две минуты. Не платите ещё раз. Больше ничего подписывать не нужно, страницу можно закрыть.",
    failed: "Ничего не оплачено",
    free: "Подписанный платёж не был выполнен, и из кошелька ничего не списано. Вы можете оплатить иначе.",
  },
  zh: {
    text: "您不需要 {coin}：签名一次，由支付服务完成付款。网络费用以 {token} 收取。",
    network: "网络费用",
    total: "合计扣除",
    signs: "您的钱包会显示向支付服务账户 {account} 转账 {amount}，有效期至 {time}。",
    sign: "签名并支付 {amount}",
    other: "自付燃料费付款",
    sending: "正在发送签名",
    keep: "请保持本页面打开。",
    late: "支付服务没有响应。本页面会自动再次发送签名：请保持打开。",
    made: "正在付款，无需自付燃料费",
    wait: "付款已签名，正在执行，需要一两分钟。请勿再次付款。无需再签名，您可以关闭本页面。",
    failed: "没有付款",
    free: "已签名的付款没有执行，钱包未被扣款。您可以用其他方式付款。",
  },
};

const TYPES = [
  { name: "from", type: "address" }, { name: "to", type: "address" }, { name: "value", type: "uint256" },
  { name: "validAfter", type: "uint256" }, { name: "validBefore", type: "uint256" }, { name: "nonce", type: "bytes32" },
];
const DOMAIN = [
  { name: "name", type: "string" }, { name: "version", type: "string" }, { name: "chainId", type: "uint256" },
  { name: "verifyingContract", type: "address" },
];
const NAME = "ReceiveWithAuthorization";
const ADDRESS = /^0x[0-9a-f]{40}$/i;
const SIGNATURE = /^0x(?:[0-9a-f]{2}){65,1024}$/i;
// In milliseconds: no signature is accepted later than two minutes before its end, nor is one asked for that ends so late.
const [LEAST, LONGEST] = [150_000, 1_800_000];
const SENDING = { first: 2_000, most: 15_000 };
const FOLLOWING = { first: 3_000, most: 20_000 };

const say = (app, key, values) => app.t((WORDS[document.documentElement.lang] ?? WORDS.en)[key], values);
const kept = ({ token }) => `gasless:${token}`;

// ---- what is offered

const same = (one, other) => String(one).toLowerCase() === String(other).toLowerCase();

// The nonce is the hash of the service's own terms, and the receiver its account: both are believed.
/** What the service offers to be signed, made anew of what was checked; throws Trouble if it is not the link's payment. */
function readOffer({ app, chain, address }, raw) {
  const { need, units, link } = app;
  const [{ left, fee, token, decimals, symbol, id }] = link.payments;
  const [amount, platform, network, total] = ["amount", "platformFee", "networkFee", "total"].map((name) => units(raw[name], decimals));
  need(raw.currency === id && amount === left && platform === fee && network <= amount && total === amount + platform + network);
  need(isLike(raw.gaslessPaymentId, /^[0-9A-Z]{10,64}$/) && isLike(raw.typedData, /^\{/));
  const { domain, types, values } = parse(app, raw.typedData);
  need(JSON.stringify(types) === JSON.stringify({ [NAME]: TYPES }));
  need(domain.chainId === chain.chainId && same(domain.verifyingContract, token));
  need([domain.name, domain.version].every((each) => isLike(each, /^.{1,50}$/u)) && isLike(values.nonce, /^0x[0-9a-f]{64}$/));
  need(same(values.from, address) && isLike(values.to, ADDRESS) && ![address, token].some((each) => same(values.to, each)));
  need(values.value === String(total) && values.validAfter === "0" && isLike(values.validBefore, /^\d{10}$/));
  const endsAt = 1_000 * values.validBefore;
  need(endsAt > app.now() && endsAt < app.now() + LONGEST);
  const { name, version, chainId, verifyingContract } = domain;
  const { from, to, value, validAfter, validBefore, nonce } = values;
  const typed = {
    types: { EIP712Domain: DOMAIN, [NAME]: TYPES }, primaryType: NAME,
    domain: { name, version, chainId, verifyingContract }, message: { from, to, value, validAfter, validBefore, nonce },
  };
  return { id: raw.gaslessPaymentId, amount, network, total, decimals, symbol, account: to, endsAt, typed };
}

function parse(app, text) {
  try {
    const read = JSON.parse(text);
    app.need(read.domain && read.types && read.values);
    return read;
  } catch {
    throw new app.Trouble("odd");
  }
}

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

function show(payment, made) {
  const { app, chain, views } = payment;
  const { t, el, money, units, code, paragraph, button } = app;
  const { total, network, decimals, symbol } = made;
  const { balance } = payment.quote.metadata;
  const isShort = typeof balance === "string" && units(balance, decimals) < total;
  const line = (name, amount) => el("div", { class: "row" }, el("dt", {}, say(app, name)), el("dd", {}, money(amount, decimals, symbol)));
  const time = () => new Intl.DateTimeFormat(app.language(), { timeStyle: "short" }).format(made.endsAt + Date.now() - app.now());
  app.show("gasless", () => {
    const amount = money(total, decimals, symbol);
    const [before, after = ""] = say(app, "signs", { amount, time: time(), account: "\u0000" }).split("\u0000");
    return {
      title: t("act.gasless"),
      text: say(app, "text", { coin: clean(chain.nativeCurrency.symbol), token: symbol }),
      body: [
        isShort && paragraph(t("balance.short"), "note bad"),
        views.account(),
        el("dl", { class: "balances" }, line("network", network), line("total", total)),
        el("p", {}, before.replace(/\u2068$/, ""), code(made.account), after.replace(/^\u2069/, "")),
      ],
      acts: [
        isShort
          ? button("again", t("balance.again"), () => payment.readAgain())
          : button("sign", say(app, "sign", { amount }), () => payment.exclusively(() => sign(payment, made))),
        button("with-gas", say(app, "other"), () => payment.forgoSignature(), "quiet"),
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
  const { app, session, chain, address } = payment;
  if (app.notes.own()) return payment.resumePayment();
  if (await app.refresh()) return;
  if (app.link.payments[0].left !== made.amount || app.now() > made.endsAt - LEAST) return void (payment.next = "prepare");
  const names = { wallet: clean(payment.wallet.name), network: clean(chain.name) };
  const tell = (state) => app.show(state, () => ({ title: app.t(`${state}.title`, names), text: app.t(`${state}.text`, names), tone: "busy" }));
  if ((await session.chainId()) !== chain.chainId) {
    tell("switching");
    await session.ensureChain(chain);
  }
  await session.demand(chain);
  tell("signing");
  const ask = () => session.request("eth_signTypedData_v4", [address, JSON.stringify(made.typed)]);
  // A signature that comes later is sent to nobody.
  const signature = await within(SEND_MS, ask).catch((trouble) => {
    if (trouble.code === "unsupported") payment.session.signs = false;
    throw trouble;
  });
  believe(isLike(signature, SIGNATURE), "not a signature");
  await send(payment, made, signature);
}

/** Sends the signature until the service answers; the same one again is the same payment. */
async function send(payment, made, signature) {
  const { app } = payment;
  app.stored.set(kept(app), made.id);
  let isLate = false;
  const look = () => app.show("gasless-sends", () => ({ title: say(app, "sending"), text: say(app, isLate ? "late" : "keep"), tone: "busy" }));
  look();
  const ask = () => app.ask(`/gasless/${made.id}`, { signature });
  const late = (trouble) => {
    isLate = true;
    look();
    app.renew();
    if (trouble.wait) throw trouble;
  };
  let response = await ask().catch(() => null);
  const isOver = () => app.now() > made.endsAt;
  if (!response) await payment.follower.until(async () => (response = await ask().catch(late)) || isOver(), SENDING);
  if (response?.status === 200) return void (await follow(app, made.id));
  if (!response && (await app.refresh())) return; // it was accepted, and its answer got lost
  app.stored.set(kept(app), null);
  if (response) return showRefusal(payment, response);
  payment.views.problem("unpayable", () => ({ text: say(app, "free") }));
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
    Object.assign(app, { paidHere: await isMadeHere(app, id), end: outcome.kind });
    await (await app.asset(outcome.module ?? "outcomes.js")).showEnd(app, outcome);
    return true;
  }, FOLLOWING);
}

/** Whether it is the payment that was signed in this browser, and was made: somebody else may have paid the link. */
export async function isMadeHere(app, id = app.stored.get(kept(app))) {
  const state = app.stored.get(kept(app)) === id && (await stateOf(app, id));
  return ["sending", "paid"].includes(state?.status);
}

/** Shows that a payment that was signed was not made, and why; returns whether it was not. Its link is open. */
export async function recall(app, id = app.stored.get(kept(app))) {
  const state = await stateOf(app, id);
  if (["signed", "sending"].includes(state?.status)) return false; // what was read of the link is older
  const again = () => app.button("again", app.t("again"), () => location.reload());
  app.stored.set(kept(app), null);
  if (state?.status !== "failed") return false;
  app.show("gasless-failed", () => ({ title: say(app, "failed"), text: say(app, "free"), tone: "bad", body: [reasonOf(app, state), again()] }));
  return true;
}
