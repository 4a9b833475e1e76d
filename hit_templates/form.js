"use strict";
(() => {
  const form = document.getElementById("form");
  if (!form) return;
  const places = Number(form.dataset.places);
  const passages = [...form.querySelectorAll(".passage")];
  const progress = document.getElementById("progress");
  const button = form.querySelector("button[type=submit]");
  const chosen = (passage) => passage.querySelector("input:checked");

  // Static pages only: the platform puts the assignment into the address; before it is accepted nothing can be sent.
  if ("static" in form.dataset) {
    const id = new URLSearchParams(location.search).get("assignmentId") || "";
    const accepted = id && id !== "ASSIGNMENT_ID_NOT_AVAILABLE";
    form.elements.assignmentId.value = accepted ? id : "";
    if (!accepted) {
      for (const field of form.elements) field.disabled = true;
      progress.textContent = "Accept the HIT to begin.";
    }
  }

  // Seconds that each passage was on screen before its first choice.
  const seen = passages.map(() => ({ total: 0, since: null }));
  const settle = (index, visible) => {
    const clock = seen[index];
    const now = performance.now();
    if (clock.since !== null) clock.total += now - clock.since;
    clock.since = visible && !document.hidden && !chosen(passages[index]) ? now : null;
    form.elements[`seconds-${index + 1}`].value = (clock.total / 1000).toFixed(2);
  };
  const onScreen = passages.map(() => true);
  if ("IntersectionObserver" in window) {
    const observer = new IntersectionObserver((entries) => {
      for (const entry of entries) {
        const index = passages.indexOf(entry.target);
        onScreen[index] = entry.isIntersecting;
        settle(index, entry.isIntersecting);
      }
    }, { threshold: 0.3 });
    passages.forEach((passage) => observer.observe(passage));
  } else {
    passages.forEach((_, index) => settle(index, true));
  }
  document.addEventListener("visibilitychange", () => passages.forEach((_, index) => settle(index, onScreen[index])));

  // A reload in the same tab keeps the choices. Storage may be blocked in a frame: then they are chosen again.
  const key = `choices ${form.elements.form.value}`;
  const remember = () => {
    try { sessionStorage.setItem(key, JSON.stringify(passages.map((passage) => chosen(passage)?.value || ""))); } catch { /* blocked */ }
  };
  try {
    JSON.parse(sessionStorage.getItem(key) || "[]").forEach((value, index) => {
      const radio = value && passages[index].querySelector(`input[value="${Number(value)}"]`);
      if (radio && !chosen(passages[index])) radio.checked = true;
    });
  } catch { /* blocked */ }

  const count = () => {
    const done = passages.filter(chosen).length;
    if (button && !button.disabled) progress.textContent = `${done} of ${places} answered`;
  };
  form.addEventListener("change", (event) => {
    const index = passages.findIndex((passage) => passage.contains(event.target));
    if (index >= 0) settle(index, false);
    remember();
    count();
  });
  count();

  // 1–5 choose within a story, only while the focus is in it.
  form.addEventListener("keydown", (event) => {
    const passage = event.target.closest(".passage");
    if (!passage || event.ctrlKey || event.metaKey || event.altKey || !/^[1-5]$/.test(event.key)) return;
    const radio = passage.querySelector(`input[value="${event.key}"]`);
    radio.focus();
    radio.click();
    event.preventDefault();
  });

  form.addEventListener("submit", (event) => {
    const open = passages.filter((passage) => !chosen(passage));
    const consent = form.elements.consent;
    const first = consent.checked ? open[0]?.querySelector("input") : consent;
    if (first) {
      event.preventDefault();
      first.focus();
      progress.textContent = consent.checked
        ? `Still open: ${open.map((passage) => `story ${passage.id.replace("story-", "")}`).join(", ")}.`
        : "Please tick the box that says you agree.";
      return;
    }
    passages.forEach((_, index) => settle(index, onScreen[index]));
    button.disabled = true;
    progress.textContent = "Sending…";
    setTimeout(() => { button.disabled = false; count(); }, 10000);
  });
  addEventListener("pageshow", () => { if (button && form.elements.consent && !form.elements.consent.disabled) { button.disabled = false; count(); } });
  document.getElementById("errors")?.focus();
})();
