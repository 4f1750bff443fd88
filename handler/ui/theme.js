// Runs before the page is drawn, so that it never shows in the wrong colours.
(() => {
  try {
    const kept = localStorage.getItem("hermesfake.theme");
    if (kept === "light" || kept === "dark") document.documentElement.dataset.theme = kept;
  } catch {
    // Storage is switched off: the colours are the system's.
  }
})();
