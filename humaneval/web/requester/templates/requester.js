"use strict";
(() => {
  // Newer figures every ten seconds, while somebody looks.
  const live = document.querySelector("[data-live]");
  let timer;
  const renew = async () => {
    clearTimeout(timer);
    if (document.hidden) return;
    try {
      const answer = await fetch(live.dataset.live, { cache: "no-store" });
      if (answer.ok && !live.contains(document.activeElement)) live.innerHTML = await answer.text();
      live.classList.toggle("stale", !answer.ok);
    } catch {
      live.classList.add("stale");
    }
    timer = setTimeout(renew, 10000);
  };
  if (live) {
    document.addEventListener("visibilitychange", renew);
    timer = setTimeout(renew, 10000);
  }
  // Browsers copy only on secure pages.
  if (!navigator.clipboard) return;
  for (const code of document.querySelectorAll("code.command")) {
    const button = document.createElement("button");
    button.textContent = "Copy";
    button.title = code.textContent;
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(code.textContent);
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = "Copy"; }, 2000);
    });
    code.after(button);
  }
})();
