/* Colours: as the system has them, or as the reader chooses. */
const themeButtons = [...document.querySelectorAll("[data-theme-choice]")];
themeButtons.forEach((button) => button.addEventListener("click", () => {
  const choice = button.dataset.themeChoice;
  if (choice === "auto") delete document.documentElement.dataset.theme; else document.documentElement.dataset.theme = choice;
  themeButtons.forEach((other) => other.setAttribute("aria-pressed", other === button));
}));
