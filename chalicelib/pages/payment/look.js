// The appearance of the page: language and theme that the payer selects.

/** Shows the page in the selected language and stores the choice. */
export async function language(app, speak) {
  const box = document.getElementById("language");
  await speak(box.value).catch(() => app.say(app.t("away.title"), true));
  app.stored.set("language", box.value);
  await app.fillManual();
}

/** Changes between the dark and the light theme and stores the choice. */
export function theme({ stored }) {
  const root = document.documentElement;
  const preferred = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  const isDark = (root.dataset.theme || preferred) === "dark";
  root.dataset.theme = isDark ? "light" : "dark";
  document.getElementById("theme").setAttribute("aria-pressed", String(!isDark));
  stored.set("theme", root.dataset.theme);
}
