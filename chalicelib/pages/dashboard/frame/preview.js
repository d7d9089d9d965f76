// In the frame of the form that creates links, before the scripts of the payment page: answers in place of the API with what
// that says of the link to be. Only a page of this origin can have such a frame, and nothing can be pressed in it.

(() => {
  const { answer } = /** @type {HTMLElement} */ (frameElement).dataset;
  const others = fetch;
  window.fetch = async (url, options) => (String(url).includes("/v2/") ? new Response(answer) : others(url, options));
})();
