"use strict";
(() => {
  const form = document.getElementById("form");
  const { elements: fields, dataset: words } = form;
  const passages = [...form.querySelectorAll(".passage:has([required])")];
  const progress = document.getElementById("progress");
  const button = form.querySelector("button");
  const send = button.textContent;
  const chosen = (passage) => passage.querySelector(":checked");

  if (fields.consent.disabled) return; // a preview

  // Answers outlast a reload, in the tab's history if storage is blocked.
  const key = fields.form.value + (fields.token ?? fields.assignmentId).value;
  const save = () => {
    const kept = Object.fromEntries(new FormData(form));
    try {
      history.replaceState({ [key]: kept }, "");
      sessionStorage[key] = JSON.stringify(kept);
    } catch { /* blocked */ }
  };
  let kept = history.state?.[key];
  try { kept = JSON.parse(sessionStorage[key]); } catch { /* new */ }
  for (const [name, value] of Object.entries(kept ?? {})) {
    const field = fields[name];
    if (field?.type === "checkbox") field.checked = true;
    else if (field && !field.value) field.value = value;
  }

  // Seconds in view before the first choice.
  const clocks = passages.map(() => ({}));
  const tick = (index, seen = clocks[index].seen) => {
    const clock = clocks[index], field = fields[`seconds-${index + 1}`];
    if (clock.since) field.value = (Number(field.value) + (performance.now() - clock.since) / 1000).toFixed(2);
    clock.seen = seen;
    clock.since = seen && !document.hidden && !chosen(passages[index]) ? performance.now() : 0;
  };
  // A third in view, or much of a small window.
  const watcher = new IntersectionObserver((entries) => {
    for (const { target, intersectionRatio: part, intersectionRect: { height } } of entries) {
      tick(passages.indexOf(target), part > 0.3 || height > 150);
    }
  }, { threshold: [0, 0.1, 0.2, 0.31, 0.5] });
  for (const passage of passages) watcher.observe(passage);
  document.addEventListener("visibilitychange", () => { passages.forEach((_, index) => tick(index)); save(); });

  const tell = (text, values) => { progress.textContent = text.replace(/{(\w+)}/g, (_, name) => values[name]); };
  const say = () => tell(words.answered, { done: passages.filter(chosen).length, total: passages.length });
  form.addEventListener("change", ({ target }) => {
    const index = passages.indexOf(target.closest(".passage"));
    if (index >= 0) tick(index);
    target.closest(".missing")?.classList.remove("missing");
    save();
    say();
  });

  // Keys 1 to 5 choose in the story with the focus.
  form.addEventListener("keydown", (event) => {
    const radio = event.target.closest(".passage")?.querySelectorAll("input")[event.key - 1];
    if (!radio || event.ctrlKey || event.metaKey || event.altKey) return;
    radio.focus();
    radio.click();
    event.preventDefault();
  });

  let sent;
  const ready = () => { button.disabled = false; button.textContent = send; say(); };
  form.addEventListener("submit", async (event) => {
    for (const group of [form.querySelector(".agree"), ...passages]) group.classList.toggle("missing", !chosen(group));
    const first = form.querySelector(".missing input");
    if (first) {
      event.preventDefault();
      first.focus();
      const open = passages.flatMap((passage, index) => (chosen(passage) ? [] : index + 1));
      return tell(open[0] ? words.open : words.tick, { stories: open.join(words.separator) });
    }
    save();
    sent = button.disabled = true;
    button.textContent = words.sending;
    setTimeout(() => button.disabled && ready(), 10000);
    if (!fields.token) return;
    event.preventDefault(); // stay if nobody answers
    if ((await fetch(form.action, { method: "HEAD" }).catch(() => 0)).ok) return form.submit();
    ready();
    tell(words.unsent);
    progress.scrollIntoView(false);
  });
  // Going back shows what became of it.
  addEventListener("pageshow", ({ persisted }) => (persisted && sent ? location.reload() : ready()));
  document.getElementById("errors")?.focus();
})();
