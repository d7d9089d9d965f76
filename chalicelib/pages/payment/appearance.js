// The appearance of the page: language and theme that the payer selects.

/** Shows the page in the selected language and stores the choice. */
export async function chooseLanguage(app, speak) {
  const box = document.getElementById("language");
  app.stored.set("language", box.value); // first, as the page may be loaded again for its messages
  await speak(box.value).catch(() => app.say(app.t("away.title"), true));
  await app.fillManual();
}

/** Changes between the dark and the light theme and stores the choice. */
export function changeTheme({ stored }) {
  const root = document.documentElement;
  const preferred = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  const isDark = (root.dataset.theme || preferred) === "dark";
  root.dataset.theme = isDark ? "light" : "dark";
  document.getElementById("theme").setAttribute("aria-pressed", String(!isDark));
  stored.set("theme", root.dataset.theme);
}
