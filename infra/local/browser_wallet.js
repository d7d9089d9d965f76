// A wallet as a page meets it: announced by EIP-6963, TIP-6963, as window.ethereum alone, or as Safe's app around it.
// What it answers comes from outside the page: askWallet(name, method, params) gives { result }, { error } or { hang: true };
// with `again` it answers that besides.
// Called with { name, rdns, how: "announced" | "injected" | "tron" | "framed", key } before any script of the page.

({ name, rdns, how, key }) => {
  if (how === "framed") {
    // No frame is there: what the page takes for its parent is a port that answers as Safe's app does.
    const { port1: parent } = new MessageChannel();
    parent.postMessage = async ({ id, method, params }) => {
      const { result } = await window.askWallet(name, method, [params]);
      const data = { id, success: true, data: result };
      window.dispatchEvent(new MessageEvent("message", { source: parent, origin: "https://app.safe.global", data }));
    };
    return void (window.parent = parent);
  }
  const heard = {};
  const provider = {
    async request({ method, params = [] }) {
      const { result, error, hang, again } = await window.askWallet(name, method, params);
      if (again) return { then: (answer) => void (answer(result), answer(again)) };
      if (hang) return new Promise(() => {});
      if (typeof error === "string") throw error; // some wallets refuse in words alone
      if (error) throw Object.assign(new Error(error.message), error);
      return result;
    },
    on: (event, handler) => (heard[event] ??= new Set()).add(handler),
    removeListener: (event, handler) => heard[event]?.delete(handler),
  };
  (window.wallets ??= {})[name] = (event, value) => heard[event]?.forEach((handler) => handler(value));
  if (how === "injected") return void (window.ethereum = provider);
  if (how === "tron") {
    // npm tronweb as it is, but for how its requests leave the page: through the wallet, as an extension's may.
    const { TronWeb, providers } = window.TronWeb;
    const node = new providers.HttpProvider("http://node.invalid");
    node.request = (url, payload = {}, method = "get") => provider.request({ method: "node", params: [url, payload, method] });
    provider.tronWeb = new TronWeb({ fullNode: node, solidityNode: node, privateKey: key });
  }
  const icon = "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 2 2'%3E%3Ccircle cx='1' cy='1' r='1' fill='%23864'/%3E%3C/svg%3E";
  const standard = how === "tron" ? "TIP6963" : "eip6963";
  const info = Object.freeze({ uuid: `${rdns}-uuid`, name, icon, rdns });
  const detail = Object.freeze({ info, provider });
  const announce = () => window.dispatchEvent(new CustomEvent(`${standard}:announceProvider`, { detail }));
  window.addEventListener(`${standard}:requestProvider`, announce);
  announce();
};
