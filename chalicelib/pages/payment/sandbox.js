// For a link of test mode, which no wallet can pay: says so, and pays it on the service's virtual chain.

// They are here, and not with the others, as few links need them.
const WORDS = {
  ar: {
    title: "دفعة تجريبية",
    text: "هذا الرابط في وضع الاختبار: لا تُنقل أي أموال ولا حاجة إلى محفظة.",
    pay: "ادفع {amount} بأموال تجريبية",
    paying: "جارٍ الدفع على سلسلة تجريبية",
    failed: "لم تتم الدفعة التجريبية. حاول مرة أخرى.",
  },
  de: {
    title: "Testzahlung",
    text: "Dieser Link ist im Testmodus: Es wird kein Geld bewegt, und es braucht keine Wallet.",
    pay: "{amount} mit Testgeld bezahlen",
    paying: "Zahlung auf einer Test-Blockchain",
    failed: "Die Testzahlung hat nicht geklappt. Versuchen Sie es noch einmal.",
  },
  en: {
    title: "Test payment",
    text: "This link is in test mode: no money moves, and no wallet is needed.",
    pay: "Pay {amount} with test money",
    paying: "Paying on a test chain",
    failed: "The test payment was not made. Please try again.",
  },
  es: {
    title: "Pago de prueba",
    text: "Este enlace está en modo de prueba: no se mueve dinero y no hace falta ninguna cartera.",
    pay: "Pagar {amount} con dinero de prueba",
    paying: "Pagando en una cadena de prueba",
    failed: "El pago de prueba no se ha hecho. Inténtelo de nuevo.",
  },
  fr: {
    title: "Paiement de test",
    text: "Ce lien est en mode test : aucun argent n’est transféré et aucun portefeuille n’est nécessaire.",
    pay: "Payer {amount} avec de l’argent de test",
    paying: "Paiement sur une chaîne de test",
    failed: "Le paiement de test n’a pas été effectué. Veuillez réessayer.",
  },
  hi: {
    title: "परीक्षण भुगतान",
    text: "यह लिंक परीक्षण मोड में है: कोई पैसा नहीं भेजा जाता और किसी वॉलेट की ज़रूरत नहीं है।",
    pay: "परीक्षण राशि से {amount} का भुगतान करें",
    paying: "परीक्षण चेन पर भुगतान हो रहा है",
    failed: "परीक्षण भुगतान नहीं हुआ। कृपया फिर से कोशिश करें।",
  },
  it: {
    title: "Pagamento di prova",
    text: "Questo link è in modalità di prova: non si sposta denaro e non serve alcun wallet.",
    pay: "Paga {amount} con denaro di prova",
    paying: "Pagamento su una catena di prova",
    failed: "Il pagamento di prova non è stato eseguito. Riprova.",
  },
  ja: {
    title: "テスト支払い",
    text: "このリンクはテストモードです。お金は動かず、ウォレットも必要ありません。",
    pay: "テスト用資金で {amount} を支払う",
    paying: "テストチェーンで支払っています",
    failed: "テスト支払いは行われませんでした。もう一度お試しください。",
  },
  ko: {
    title: "테스트 결제",
    text: "이 링크는 테스트 모드입니다. 돈이 이동하지 않으며 지갑이 필요하지 않습니다.",
    pay: "테스트 자금으로 {amount} 결제",
    paying: "테스트 체인에서 결제하는 중",
    failed: "테스트 결제가 이루어지지 않았습니다. 다시 시도하세요.",
  },
  pt: {
    title: "Pagamento de teste",
    text: "Este link está em modo de teste: nenhum dinheiro é movimentado e nenhuma carteira é necessária.",
    pay: "Pagar {amount} com dinheiro de teste",
    paying: "A pagar numa cadeia de teste",
    failed: "O pagamento de teste não foi feito. Tente novamente.",
  },
  ru: {
    title: "Тестовый платёж",
    text: "Эта ссылка в тестовом режиме: деньги не переводятся, кошелёк не нужен.",
    pay: "Оплатить {amount} тестовыми деньгами",
    paying: "Оплата в тестовой сети",
    failed: "Тестовый платёж не выполнен. Попробуйте ещё раз.",
  },
  zh: {
    title: "测试付款",
    text: "此链接处于测试模式：不会转移任何资金，也不需要钱包。",
    pay: "用测试资金支付 {amount}",
    paying: "正在测试链上付款",
    failed: "测试付款未完成。请重试。",
  },
};

/** Offers to pay the link; after a payment that failed with a `trouble`. */
export function offerPayment(app, trouble = false) {
  const { t, el, button, joinSums, totals } = app;
  const say = (key, values) => t((WORDS[document.documentElement.lang] ?? WORDS.en)[key], values);
  const total = () => joinSums(totals(app.link.payments), (each) => each.left + each.fee);
  const note = () => trouble && el("p", { class: "note bad" }, say("failed"));
  const offer = () => ({ title: say("title"), text: say("text"), body: [note()], acts: [button("pay-test", say("pay", { amount: total() }), pay)] });
  async function pay() {
    app.paying = true; // nothing else reads the link meanwhile
    app.show("paying-test", () => ({ title: say("paying"), tone: "busy" }));
    try {
      const { status } = await app.ask(`/v2/test/pay/${app.token}`, undefined, "POST");
      app.paidHere = status === 201;
      if (!(await app.refresh())) offerPayment(app);
    } catch {
      offerPayment(app, true);
    } finally {
      app.paying = false;
    }
  }
  app.show("test", offer);
}
