// What a payment on Tron takes of energy and bandwidth, what is burned in TRX, and why it cannot be paid; with its words.

const [COIN, DECIMALS] = ["TRX", 6];
const PROBLEMS = ["not_activated", "too_little_trx", "fee_limit"];

// They are here, and not with the others, as only wallets of Tron need them.
const WORDS = {
  ar: {
    lead: "تحتاج شبكة Tron إلى طاقة (energy) وعرض نطاق (bandwidth)، وتحرق TRX مقابل ما ينقص محفظتك. هذه تقديرات.",
    reset: "يحتاج إلغاء الإذن إلى",
    approve: "يحتاج الإذن إلى",
    pay: "يحتاج الدفع إلى",
    have: "لدى محفظتك",
    both: "{energy} طاقة، {bandwidth} عرض نطاق",
    some: "{bandwidth} عرض نطاق؛ الطاقة غير معروفة",
    energy: "يُحرق للطاقة",
    bandwidth: "يُحرق لعرض النطاق",
    not_activated: "حساب Tron هذا غير موجود بعد، لذلك لا يمكنه الدفع. أرسل إلى عنوانه {burned} على الأقل من محفظة أخرى أو من منصة تداول: بذلك يُنشأ الحساب، ويكلّف ذلك المرسل {activation}. ثم تحقق مرة أخرى.",
    too_little_trx: "لدى محفظتك {balance}، وتأخذ الشبكة حوالي {burned}: ستفشل الدفعة وتُحرق هذه العملات. أرسل إليها {missing} إضافية على الأقل، أو اجعل أحدًا يفوّض لها طاقة وعرض نطاق، ثم تحقق مرة أخرى.",
    fee_limit: "بسعر الطاقة الحالي تحتاج معاملة إلى أكثر مما يسمح به حد رسومها: ستفشل وتحرق TRX. انتظر حتى تصبح الطاقة أرخص، ثم تحقق مرة أخرى.",
    unknown: "لا يُعرف ما تأخذه الشبكة ولا ما إذا كانت الدفعة ستنجح، لذلك لا يُطلب توقيع شيء. تحقق مرة أخرى.",
  },
  de: {
    lead: "Tron braucht dafür Energie und Bandbreite und verbrennt TRX für das, was Ihrer Wallet fehlt. Das sind Schätzungen.",
    reset: "Das Zurücknehmen braucht",
    approve: "Die Erlaubnis braucht",
    pay: "Die Zahlung braucht",
    have: "Ihre Wallet hat",
    both: "{energy} Energie, {bandwidth} Bandbreite",
    some: "{bandwidth} Bandbreite; Energie nicht bekannt",
    energy: "Für Energie verbrannt",
    bandwidth: "Für Bandbreite verbrannt",
    not_activated: "Dieses Tron-Konto gibt es noch nicht, daher kann es nicht zahlen. Senden Sie mindestens {burned} von einer anderen Wallet oder einer Börse an seine Adresse: Das legt es an und kostet den Absender {activation}. Prüfen Sie dann erneut.",
    too_little_trx: "Ihre Wallet hat {balance}, und das Netzwerk nimmt etwa {burned}: Die Zahlung würde scheitern und sie verbrennen. Senden Sie ihr mindestens {missing} mehr oder lassen Sie ihr Energie und Bandbreite übertragen, und prüfen Sie dann erneut.",
    fee_limit: "Beim jetzigen Preis der Energie braucht eine Transaktion mehr, als ihre Gebührengrenze erlaubt: Sie würde scheitern und TRX verbrennen. Warten Sie, bis Energie billiger ist, und prüfen Sie dann erneut.",
    unknown: "Es ist nicht bekannt, was das Netzwerk nimmt und ob die Zahlung gelingen würde. Deshalb ist nichts zu signieren. Prüfen Sie erneut.",
  },
  en: {
    lead: "Tron takes energy and bandwidth for this, and burns TRX for what your wallet lacks. These are estimates.",
    reset: "Withdrawing takes",
    approve: "Approving takes",
    pay: "Paying takes",
    have: "Your wallet has",
    both: "{energy} energy, {bandwidth} bandwidth",
    some: "{bandwidth} bandwidth; energy not known",
    energy: "Burned for energy",
    bandwidth: "Burned for bandwidth",
    not_activated: "This Tron account does not exist yet, so it cannot pay. Send at least {burned} to its address from another wallet or an exchange: that creates it, and costs the sender {activation}. Then check again.",
    too_little_trx: "Your wallet has {balance}, and the network takes about {burned}: the payment would fail and burn them. Send it at least {missing} more, or have energy and bandwidth delegated to it, then check again.",
    fee_limit: "At the present price of energy a transaction takes more than its fee limit allows: it would fail and burn TRX. Wait until energy is cheaper, then check again.",
    unknown: "It is not known what the network takes, or whether the payment would succeed, so nothing is asked to be signed. Check again.",
  },
  es: {
    lead: "Tron necesita energía y ancho de banda para esto, y quema TRX por lo que le falta a su billetera. Son estimaciones.",
    reset: "Retirar el permiso necesita",
    approve: "Dar el permiso necesita",
    pay: "Pagar necesita",
    have: "Su billetera tiene",
    both: "{energy} de energía, {bandwidth} de ancho de banda",
    some: "{bandwidth} de ancho de banda; energía desconocida",
    energy: "Se quema por la energía",
    bandwidth: "Se quema por el ancho de banda",
    not_activated: "Esta cuenta de Tron aún no existe, así que no puede pagar. Envíe al menos {burned} a su dirección desde otra billetera o una plataforma de intercambio: eso la crea y le cuesta {activation} al remitente. Luego compruebe de nuevo.",
    too_little_trx: "Su billetera tiene {balance} y la red toma unos {burned}: el pago fallaría y los quemaría. Envíele al menos {missing} más, o haga que le deleguen energía y ancho de banda, y compruebe de nuevo.",
    fee_limit: "Al precio actual de la energía, una transacción necesita más de lo que permite su límite de comisión: fallaría y quemaría TRX. Espere a que la energía sea más barata y compruebe de nuevo.",
    unknown: "No se sabe qué toma la red ni si el pago tendría éxito, así que no se pide firmar nada. Compruebe de nuevo.",
  },
  fr: {
    lead: "Tron prend pour cela de l’énergie et de la bande passante, et brûle des TRX pour ce qui manque à votre portefeuille. Ce sont des estimations.",
    reset: "Le retrait de l’autorisation prend",
    approve: "L’autorisation prend",
    pay: "Le paiement prend",
    have: "Votre portefeuille a",
    both: "{energy} d’énergie, {bandwidth} de bande passante",
    some: "{bandwidth} de bande passante ; énergie inconnue",
    energy: "Brûlés pour l’énergie",
    bandwidth: "Brûlés pour la bande passante",
    not_activated: "Ce compte Tron n’existe pas encore et ne peut donc pas payer. Envoyez au moins {burned} à son adresse depuis un autre portefeuille ou une plateforme d’échange : cela le crée et coûte {activation} à l’expéditeur. Vérifiez ensuite à nouveau.",
    too_little_trx: "Votre portefeuille a {balance} et le réseau prend environ {burned} : le paiement échouerait et les brûlerait. Envoyez-lui au moins {missing} de plus, ou faites-lui déléguer de l’énergie et de la bande passante, puis vérifiez à nouveau.",
    fee_limit: "Au prix actuel de l’énergie, une transaction prend plus que sa limite de frais ne le permet : elle échouerait et brûlerait des TRX. Attendez que l’énergie soit moins chère, puis vérifiez à nouveau.",
    unknown: "On ne sait pas ce que prend le réseau, ni si le paiement réussirait : rien n’est donc à signer. Vérifiez à nouveau.",
  },
  hi: {
    lead: "Tron इसके लिए एनर्जी और बैंडविड्थ लेता है, और जो आपके वॉलेट में कम है उसके बदले TRX जलाता है। ये अनुमान हैं।",
    reset: "अनुमति वापस लेने में लगेगा",
    approve: "अनुमति देने में लगेगा",
    pay: "भुगतान में लगेगा",
    have: "आपके वॉलेट में है",
    both: "{energy} एनर्जी, {bandwidth} बैंडविड्थ",
    some: "{bandwidth} बैंडविड्थ; एनर्जी पता नहीं",
    energy: "एनर्जी के लिए जलेगा",
    bandwidth: "बैंडविड्थ के लिए जलेगा",
    not_activated: "यह Tron खाता अभी मौजूद नहीं है, इसलिए इससे भुगतान नहीं हो सकता। किसी दूसरे वॉलेट या एक्सचेंज से इसके पते पर कम से कम {burned} भेजें: इससे खाता बनता है और भेजने वाले का {activation} लगता है। फिर दोबारा जाँचें।",
    too_little_trx: "आपके वॉलेट में {balance} है और नेटवर्क लगभग {burned} लेता है: भुगतान विफल होगा और वे जल जाएँगे। वॉलेट में कम से कम {missing} और भेजें, या उसे एनर्जी और बैंडविड्थ सौंपवाएँ, फिर दोबारा जाँचें।",
    fee_limit: "एनर्जी की मौजूदा कीमत पर एक लेनदेन को उसकी शुल्क सीमा से ज़्यादा चाहिए: वह विफल होगा और TRX जलेगा। एनर्जी सस्ती होने तक रुकें, फिर दोबारा जाँचें।",
    unknown: "यह पता नहीं कि नेटवर्क क्या लेता है या भुगतान सफल होगा या नहीं, इसलिए कुछ भी साइन करने को नहीं कहा जाता। दोबारा जाँचें।",
  },
  it: {
    lead: "Tron richiede energia e banda e brucia TRX per ciò che manca al Suo wallet. Sono stime.",
    reset: "La revoca richiede",
    approve: "L’autorizzazione richiede",
    pay: "Il pagamento richiede",
    have: "Il Suo wallet ha",
    both: "{energy} di energia, {bandwidth} di banda",
    some: "{bandwidth} di banda; energia non nota",
    energy: "Bruciati per l’energia",
    bandwidth: "Bruciati per la banda",
    not_activated: "Questo account Tron non esiste ancora, quindi non può pagare. Invii almeno {burned} al suo indirizzo da un altro wallet o da un exchange: così viene creato, e al mittente costa {activation}. Poi controlli di nuovo.",
    too_little_trx: "Il Suo wallet ha {balance} e la rete prende circa {burned}: il pagamento fallirebbe e li brucerebbe. Gli invii almeno altri {missing}, o gli faccia delegare energia e banda, poi controlli di nuovo.",
    fee_limit: "Al prezzo attuale dell’energia una transazione richiede più di quanto consente il suo limite di commissione: fallirebbe e brucerebbe TRX. Aspetti che l’energia costi meno, poi controlli di nuovo.",
    unknown: "Non si sa che cosa prenda la rete né se il pagamento riuscirebbe, quindi non si chiede di firmare nulla. Controlli di nuovo.",
  },
  ja: {
    lead: "Tron ではこれにエネルギーと帯域幅が必要です。ウォレットに足りない分は TRX が焼却されます。数値は見積もりです。",
    reset: "許可の取り消しに必要",
    approve: "許可に必要",
    pay: "支払いに必要",
    have: "ウォレットの残り",
    both: "エネルギー {energy}、帯域幅 {bandwidth}",
    some: "帯域幅 {bandwidth}、エネルギーは不明",
    energy: "エネルギー分の焼却",
    bandwidth: "帯域幅分の焼却",
    not_activated: "この Tron アカウントはまだ存在しないため、支払えません。別のウォレットか取引所から、このアドレスに {burned} 以上を送ってください。それでアカウントが作成され、送信者に {activation} かかります。その後、もう一度確認してください。",
    too_little_trx: "ウォレットの残高は {balance} で、ネットワークは約 {burned} を必要とします。このままでは支払いは失敗し、その TRX は焼却されます。{missing} 以上を追加で送るか、エネルギーと帯域幅を委任してもらってから、もう一度確認してください。",
    fee_limit: "現在のエネルギー価格では、取引に手数料の上限を超える費用がかかり、失敗して TRX が焼却されます。エネルギーが安くなるのを待って、もう一度確認してください。",
    unknown: "ネットワークが何を必要とするか、支払いが成功するかが不明なため、署名は求めません。もう一度確認してください。",
  },
  ko: {
    lead: "Tron은 여기에 에너지와 대역폭이 필요하며, 지갑에 부족한 만큼 TRX를 소각합니다. 수치는 추정치입니다.",
    reset: "허용 철회에 필요",
    approve: "허용에 필요",
    pay: "결제에 필요",
    have: "지갑에 있음",
    both: "에너지 {energy}, 대역폭 {bandwidth}",
    some: "대역폭 {bandwidth}, 에너지는 알 수 없음",
    energy: "에너지로 소각",
    bandwidth: "대역폭으로 소각",
    not_activated: "이 Tron 계정은 아직 존재하지 않아 결제할 수 없습니다. 다른 지갑이나 거래소에서 이 주소로 {burned} 이상 보내세요. 그러면 계정이 만들어지며, 보내는 사람에게 {activation}이(가) 듭니다. 그런 다음 다시 확인하세요.",
    too_little_trx: "지갑에는 {balance}이(가) 있고 네트워크는 약 {burned}이(가) 필요합니다. 이대로면 결제가 실패하고 그만큼 소각됩니다. {missing} 이상을 더 보내거나 에너지와 대역폭을 위임받은 뒤 다시 확인하세요.",
    fee_limit: "현재 에너지 가격에서는 거래가 수수료 한도보다 많이 필요하여, 실패하고 TRX가 소각됩니다. 에너지가 저렴해질 때까지 기다렸다가 다시 확인하세요.",
    unknown: "네트워크에 무엇이 필요한지, 결제가 성공할지 알 수 없으므로 서명을 요청하지 않습니다. 다시 확인하세요.",
  },
  pt: {
    lead: "A Tron usa energia e largura de banda para isto e queima TRX pelo que falta na sua carteira. São estimativas.",
    reset: "Retirar a permissão usa",
    approve: "Dar a permissão usa",
    pay: "Pagar usa",
    have: "A sua carteira tem",
    both: "{energy} de energia, {bandwidth} de largura de banda",
    some: "{bandwidth} de largura de banda; energia desconhecida",
    energy: "Queimado pela energia",
    bandwidth: "Queimado pela largura de banda",
    not_activated: "Esta conta Tron ainda não existe, por isso não pode pagar. Envie pelo menos {burned} para o endereço dela, de outra carteira ou de uma corretora: isso cria a conta e custa {activation} ao remetente. Depois verifique de novo.",
    too_little_trx: "A sua carteira tem {balance} e a rede usa cerca de {burned}: o pagamento falharia e os queimaria. Envie a ela pelo menos mais {missing}, ou peça que deleguem energia e largura de banda a ela, e verifique de novo.",
    fee_limit: "Ao preço atual da energia, uma transação usa mais do que o limite de taxa dela permite: falharia e queimaria TRX. Espere até a energia ficar mais barata e verifique de novo.",
    unknown: "Não se sabe o que a rede usa nem se o pagamento teria sucesso, por isso não se pede nenhuma assinatura. Verifique de novo.",
  },
  ru: {
    lead: "Сеть Tron расходует на это энергию и пропускную способность и сжигает TRX за то, чего не хватает в кошельке. Это оценка.",
    reset: "На отзыв разрешения нужно",
    approve: "На разрешение нужно",
    pay: "На платёж нужно",
    have: "В кошельке есть",
    both: "энергия {energy}, пропускная способность {bandwidth}",
    some: "пропускная способность {bandwidth}; энергия неизвестна",
    energy: "Сжигается за энергию",
    bandwidth: "Сжигается за пропускную способность",
    not_activated: "Этого аккаунта Tron ещё нет, поэтому он не может платить. Отправьте на его адрес не менее {burned} с другого кошелька или с биржи: так он будет создан, отправителю это стоит {activation}. Затем проверьте снова.",
    too_little_trx: "В кошельке {balance}, а сеть возьмёт около {burned}: платёж не пройдёт, и они сгорят. Отправьте на него ещё не менее {missing} или попросите делегировать ему энергию и пропускную способность, затем проверьте снова.",
    fee_limit: "При нынешней цене энергии транзакции нужно больше, чем позволяет её предел комиссии: она не пройдёт и сожжёт TRX. Подождите, пока энергия подешевеет, и проверьте снова.",
    unknown: "Неизвестно, сколько возьмёт сеть и пройдёт ли платёж, поэтому подписывать ничего не предлагается. Проверьте снова.",
  },
  zh: {
    lead: "Tron 为此需要能量和带宽，钱包不足的部分会燃烧 TRX。以下为估算值。",
    reset: "撤回授权需要",
    approve: "授权需要",
    pay: "付款需要",
    have: "您的钱包有",
    both: "能量 {energy}，带宽 {bandwidth}",
    some: "带宽 {bandwidth}；能量未知",
    energy: "为能量燃烧",
    bandwidth: "为带宽燃烧",
    not_activated: "此 Tron 账户尚不存在，因此无法付款。请从其他钱包或交易所向其地址发送至少 {burned}：这会创建账户，发送方需付 {activation}。然后重新检查。",
    too_little_trx: "您的钱包有 {balance}，而网络约需 {burned}：付款会失败并燃烧这些 TRX。请再向它发送至少 {missing}，或让他人为它代理能量和带宽，然后重新检查。",
    fee_limit: "按当前的能量价格，有一笔交易所需超过其费用上限：它会失败并燃烧 TRX。请等能量便宜后再重新检查。",
    unknown: "不知道网络需要多少，也不知道付款能否成功，因此不请求签名。请重新检查。",
  },
};

// Energy and bandwidth are units, and amounts are in sun, of which a TRX has a million.
/** What the transactions of a payment take by the service's response: `facts` to show, and `refusal` if they must not be signed; null if it says nothing. */
export function energyOf({ app, quote: { metadata }, verdict: { steps } }) {
  const { resources, nativeBalance, hasEnoughBalance } = metadata;
  if (!resources) return null;
  const { el, units, need } = app;
  need(Array.isArray(resources.steps) && [0, steps.length].includes(resources.steps.length));
  const words = WORDS[document.documentElement.lang] ?? WORDS.en;
  const say = (key, values = {}) => app.t(words[key], values);
  const trx = (sun) => app.money(sun, DECIMALS, COIN);
  const [forEnergy, forBandwidth] = ["energyBurned", "bandwidthBurned"].map((name) =>
    resources.steps.reduce((sum, each) => sum + units(each[name], 0), 0n));
  const line = (key, value) => el("div", { class: "row" }, el("dt", {}, say(key)), el("dd", {}, value));
  const taken = (each, index) => line(steps[index].kind, say(each.energy === undefined ? "some" : "both", each));
  const lines = [
    ...resources.steps.map(taken),
    resources.activated && line("have", say("both", { energy: resources.energy, bandwidth: bandwidthOf(resources, app) })),
    forEnergy > 0n && line("energy", trx(forEnergy)),
    forBandwidth > 0n && line("bandwidth", trx(forBandwidth)),
  ];
  const facts = lines[0] && [app.paragraph(say("lead")), el("dl", { class: "balances" }, lines)];
  const [burned, balance] = [forEnergy + forBandwidth, units(nativeBalance, DECIMALS)];
  const amounts = { burned, balance, missing: burned - balance, activation: units(resources.activationPrice ?? "0", 0) };
  const values = Object.fromEntries(Object.entries(amounts).map(([key, sun]) => [key, trx(sun)]));
  const reason = PROBLEMS.includes(resources.problem) ? resources.problem : "unknown";
  // Transfers of tokens that the wallet does not have cannot be measured: that is said already.
  const isSaid = reason === "unknown" && hasEnoughBalance === false;
  const refusal = resources.canPay !== true && !isSaid && el("p", { class: "note bad", role: "alert" }, say(reason, values));
  return { facts, refusal };
}

/** What the wallet has by a stake or delegation, and of the free bandwidth of the day: a transaction takes it of one of them. */
function bandwidthOf({ bandwidth, freeBandwidth }, { language }) {
  const has = [bandwidth, freeBandwidth].filter(Boolean).map((each) => new Intl.NumberFormat(language()).format(each));
  return has.join(" + ") || "0";
}
