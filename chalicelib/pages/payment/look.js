// How the page looks: its language and its theme as chosen by hand.

/** Writes the page in the language that was chosen, and remembers it. */
export async function language(app, speak) {
  const box = document.getElementById("language");
  await speak(box.value).catch(() => app.say(app.t("away.title"), true));
  app.stored.set("language", box.value);
  await app.fillManual();
}

/** Dark when it is light, and light when it is dark. */
export function theme({ stored }) {
  const root = document.documentElement;
  const wished = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  const isDark = (root.dataset.theme || wished) === "dark";
  root.dataset.theme = isDark ? "light" : "dark";
  document.getElementById("theme").setAttribute("aria-pressed", String(!isDark));
  stored.set("theme", root.dataset.theme);
}
