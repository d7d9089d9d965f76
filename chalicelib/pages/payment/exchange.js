// For payers from an exchange, which only transfers a token to an address: the address of this payment, with its words.

import { copyField } from "./outcomes.js";
import { chainOf } from "./identity.js";

// They are here, and not with the others, as few links need them.
const WORDS = {
  ar: {
    title: "من منصة تداول",
    text: "اسحب {token} على الشبكة {network} إلى هذا العنوان، وهو لهذه الدفعة وحدها. تخصم المنصة رسومها: اختر المبلغ بحيث يصل {amount}.",
    amount: "يجب أن يصل",
    address: "العنوان على {network}",
    only: "أرسل {token} فقط وعلى {network} فقط. أي شيء آخر ليس دفعة، وبعضه لا يمكن استرداده.",
    after: "بعد وصول المبلغ بدقائق تقول هذه الصفحة ذلك. تكتمل الدفعة بعد صرف ما وصل للمستفيد. إذا أرسلت فلا ترسل مرة أخرى. يمكنك إغلاق الصفحة.",
    arrived: "وصل {amount} إلى العنوان. يُحتسب بعد صرفه للمستفيد: لا ترسله مرة أخرى.",
  },
  de: {
    title: "Von einer Börse",
    text: "Heben Sie {token} im Netzwerk {network} an diese Adresse ab, die nur für diese Zahlung da ist. Ihre Börse zieht ihre Gebühr ab: Wählen Sie den Betrag so, dass {amount} ankommen.",
    amount: "Muss ankommen",
    address: "Adresse im Netzwerk {network}",
    only: "Senden Sie nur {token} und nur im Netzwerk {network}. Alles andere ist keine Zahlung, und manches davon lässt sich nicht zurückholen.",
    after: "Einige Minuten nach der Ankunft zeigt diese Seite sie an. Bezahlt ist es, sobald das Angekommene an den Empfänger ausgezahlt ist. Wenn Sie gesendet haben, senden Sie nicht noch einmal. Sie können die Seite schließen.",
    arrived: "{amount} sind an der Adresse angekommen. Das zählt, sobald es an den Empfänger ausgezahlt ist: Senden Sie es nicht noch einmal.",
  },
  en: {
    title: "From an exchange",
    text: "Withdraw {token} on the network {network} to this address, which is for this payment alone. Your exchange deducts its fee: choose the amount so that {amount} arrives.",
    amount: "Has to arrive",
    address: "Address on {network}",
    only: "Send only {token}, and only on {network}. Anything else is not a payment, and some of it cannot be returned.",
    after: "Some minutes after it has arrived, this page says so. It is paid once what arrived is paid out to the payee. If you have sent it, do not send again. You can close the page.",
    arrived: "{amount} arrived at the address. It counts once it is paid out to the payee: do not send it again.",
  },
  es: {
    title: "Desde una plataforma de intercambio",
    text: "Retire {token} en la red {network} a esta dirección, que es solo para este pago. La plataforma descuenta su comisión: elija el importe para que lleguen {amount}.",
    amount: "Debe llegar",
    address: "Dirección en {network}",
    only: "Envíe solo {token} y solo en {network}. Cualquier otra cosa no es un pago, y una parte no se puede recuperar.",
    after: "Unos minutos después de que llegue, esta página lo indica. Estará pagado cuando lo recibido se pague al beneficiario. Si ya lo ha enviado, no lo envíe otra vez. Puede cerrar la página.",
    arrived: "Han llegado {amount} a la dirección. Cuentan cuando se paguen al beneficiario: no los envíe otra vez.",
  },
  fr: {
    title: "Depuis une plateforme d’échange",
    text: "Retirez des {token} sur le réseau {network} vers cette adresse, réservée à ce paiement. La plateforme déduit ses frais : choisissez le montant pour que {amount} arrivent.",
    amount: "Doit arriver",
    address: "Adresse sur {network}",
    only: "Envoyez seulement des {token}, et seulement sur {network}. Tout autre envoi n’est pas un paiement, et une partie est irrécupérable.",
    after: "Quelques minutes après l’arrivée, cette page l’indique. Le paiement est fait dès que ce qui est arrivé est versé au bénéficiaire. Si vous avez déjà envoyé, n’envoyez pas une seconde fois. Vous pouvez fermer la page.",
    arrived: "{amount} sont arrivés à l’adresse. Ils comptent dès qu’ils sont versés au bénéficiaire : ne les envoyez pas une seconde fois.",
  },
  hi: {
    title: "एक्सचेंज से",
    text: "{network} नेटवर्क पर {token} इस पते पर निकालें, जो केवल इस भुगतान के लिए है। एक्सचेंज अपना शुल्क काटता है: राशि ऐसी चुनें कि {amount} पहुँचे।",
    amount: "इतना पहुँचना चाहिए",
    address: "{network} पर पता",
    only: "केवल {token} भेजें, और केवल {network} पर। और कुछ भी भुगतान नहीं है, और उसका कुछ हिस्सा वापस नहीं मिल सकता।",
    after: "पहुँचने के कुछ मिनट बाद यह पेज यह दिखाता है। जब आई हुई राशि प्राप्तकर्ता को दे दी जाती है, तब भुगतान पूरा होता है। अगर आप भेज चुके हैं, तो दोबारा न भेजें। आप पेज बंद कर सकते हैं।",
    arrived: "{amount} पते पर पहुँच गया है। प्राप्तकर्ता को भुगतान होने पर यह गिना जाएगा: इसे दोबारा न भेजें।",
  },
  it: {
    title: "Da un exchange",
    text: "Prelevi {token} sulla rete {network} verso questo indirizzo, che serve solo per questo pagamento. L’exchange trattiene la sua commissione: scelga l’importo in modo che arrivino {amount}.",
    amount: "Deve arrivare",
    address: "Indirizzo su {network}",
    only: "Invii solo {token} e solo su {network}. Tutto il resto non è un pagamento, e in parte non si può recuperare.",
    after: "Alcuni minuti dopo l’arrivo, questa pagina lo indica. È pagato quando ciò che è arrivato è versato al beneficiario. Se ha già inviato, non invii di nuovo. Può chiudere la pagina.",
    arrived: "Sono arrivati {amount} all’indirizzo. Contano quando sono versati al beneficiario: non li invii di nuovo.",
  },
  ja: {
    title: "取引所から",
    text: "ネットワーク {network} で {token} をこのアドレスに出金してください。このアドレスはこの支払い専用です。取引所の手数料が引かれるため、{amount} が届くように金額を指定してください。",
    amount: "届く必要がある額",
    address: "{network} のアドレス",
    only: "{network} で {token} だけを送ってください。それ以外は支払いにならず、取り戻せないものもあります。",
    after: "届いてから数分後に、このページに表示されます。届いた額が受取人に払い出されると、支払いが完了します。送金済みの場合は、もう一度送らないでください。このページは閉じてかまいません。",
    arrived: "{amount} がアドレスに届きました。受取人に払い出されると支払いとして数えられます。もう一度送らないでください。",
  },
  ko: {
    title: "거래소에서",
    text: "{network} 네트워크에서 {token}을(를) 이 주소로 출금하세요. 이 주소는 이 결제에만 쓰입니다. 거래소가 수수료를 떼므로 {amount}이(가) 도착하도록 금액을 정하세요.",
    amount: "도착해야 하는 금액",
    address: "{network} 주소",
    only: "{network}에서 {token}만 보내세요. 그 밖의 것은 결제가 아니며 일부는 되찾을 수 없습니다.",
    after: "도착하고 몇 분 뒤 이 페이지에 표시됩니다. 도착한 금액이 받는 분에게 지급되면 결제가 완료됩니다. 이미 보냈다면 다시 보내지 마세요. 이 페이지를 닫아도 됩니다.",
    arrived: "{amount}이(가) 주소에 도착했습니다. 받는 분에게 지급되면 결제로 인정됩니다. 다시 보내지 마세요.",
  },
  pt: {
    title: "De uma corretora",
    text: "Levante {token} na rede {network} para este endereço, que serve só para este pagamento. A corretora desconta a taxa dela: escolha o valor para que cheguem {amount}.",
    amount: "Tem de chegar",
    address: "Endereço em {network}",
    only: "Envie apenas {token} e apenas em {network}. Qualquer outra coisa não é um pagamento, e parte dela não pode ser recuperada.",
    after: "Alguns minutos depois de chegar, esta página indica-o. Fica pago quando o que chegou for pago ao beneficiário. Se já enviou, não envie de novo. Pode fechar a página.",
    arrived: "Chegaram {amount} ao endereço. Contam quando forem pagos ao beneficiário: não os envie de novo.",
  },
  ru: {
    title: "С биржи",
    text: "Выведите {token} в сети {network} на этот адрес: он только для этого платежа. Биржа удержит комиссию: укажите сумму так, чтобы пришло {amount}.",
    amount: "Должно прийти",
    address: "Адрес в сети {network}",
    only: "Отправляйте только {token} и только в сети {network}. Всё остальное не считается платежом, и часть этого вернуть нельзя.",
    after: "Через несколько минут после поступления эта страница сообщит о нём. Платёж выполнен, когда то, что пришло на адрес, выплачено получателю. Если вы уже отправили, не отправляйте ещё раз. Страницу можно закрыть.",
    arrived: "На адрес пришло {amount}. Это будет зачтено, когда сумма будет выплачена получателю: не отправляйте её ещё раз.",
  },
  zh: {
    title: "从交易所付款",
    text: "在 {network} 网络上将 {token} 提现到此地址，该地址仅用于这笔付款。交易所会扣除手续费：请设置金额，使到账为 {amount}。",
    amount: "须到账",
    address: "{network} 上的地址",
    only: "只发送 {token}，且只在 {network} 上。其他任何东西都不算付款，其中有些无法取回。",
    after: "到账几分钟后，本页面会显示。到账金额支付给收款方后，付款即完成。如果您已发送，请勿再次发送。您可以关闭本页面。",
    arrived: "{amount} 已到达该地址。支付给收款方后才计入付款：请勿再次发送。",
  },
};

/** The address for plain transfers of a link, if it is of the link's own network and token; null if it is not. */
function addressOf({ own, network, payments, ...link }) {
  const isOurs = own.network === network && own.chainId === chainOf({ network, ...link }).chainId && own.tokenAddress === payments[0].token;
  return isOurs ? own : null;
}

/** Says under the summary of a link what has arrived at its address and is not paid out, if anything has. */
export function showArrived({ t, el, money, units, link }) {
  document.getElementById("arrived")?.remove();
  const [{ decimals, symbol }] = link.payments;
  const amount = units(addressOf(link)?.arrivedAmount ?? "0", decimals);
  if (amount === 0n) return;
  const text = t(wordsOfPage().arrived, { amount: money(amount, decimals, symbol) });
  document.getElementById("facts").append(el("p", { id: "arrived", class: "note", role: "status" }, text));
}

const wordsOfPage = () => WORDS[document.documentElement.lang] ?? WORDS.en;

// The address itself cannot be computed here: it is believed to be the payment's as the service says so.
/** Shows the address for plain transfers before a section, with a `figure` of manual.js; not if it does not agree with the link. */
export function show(app, section, figure) {
  document.getElementById("exchange")?.remove();
  const { t, el, money, units, clean, paragraph, link } = app;
  const own = addressOf(link);
  const [{ left, decimals, symbol }] = link.payments;
  if (!own || !/^0x[0-9a-fA-F]{40}$/.test(own.address)) return;
  const due = units(own.amount, decimals);
  if (due !== left + units(own.feeAmount, decimals)) return;
  const words = wordsOfPage();
  const values = { token: symbol, network: clean(chainOf(link).name), amount: money(due, decimals, symbol) };
  const say = (key) => t(words[key], values);
  const amount = el("dl", {}, el("div", { class: "row" }, el("dt", {}, say("amount")), el("dd", {}, values.amount)));
  const address = copyField(app, say("address"), own.address, "exchange-address");
  const shown = figure(app, "step=address", say("title"), paragraph(say("text")), amount, address);
  const box = el("div", { id: "exchange" }, shown, paragraph(say("only"), "note bad"), paragraph(say("after"), "note"));
  Object.assign(box.style, { display: "grid", gap: "1rem", marginBlock: "0.6rem" });
  section.before(box);
}
