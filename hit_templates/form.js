"use strict";
(() => {
  const form = document.getElementById("form");
  const fields = form.elements;
  const passages = [...form.querySelectorAll(".passage:has([required])")];
  const progress = document.getElementById("progress");
  const button = form.querySelector("button");
  const send = button.textContent, words = form.dataset;
  // In some group nothing is chosen.
  const open = (part) => part.querySelector("input:invalid");

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
  try { kept = JSON.parse(sessionStorage[key]); } catch { /* blocked, or new */ }
  for (const [name, value] of Object.entries(kept ?? {})) {
    const field = fields[name];
    if (field?.type === "checkbox") field.checked = true;
    else if (field && !field.value) field.value = value;
  }
  for (const part of form.querySelectorAll("details:has(:checked)")) part.open = true;

  // Seconds each passage was in view before it was answered.
  const clocks = passages.map(() => ({ seen: false, since: 0 }));
  const tick = (index, seen = clocks[index].seen) => {
    const clock = clocks[index], field = fields[`seconds-${index + 1}`];
    if (clock.since) field.value = (+field.value + (performance.now() - clock.since) / 1000).toFixed(2);
    clock.seen = seen;
    clock.since = seen && !document.hidden && open(passages[index]) ? performance.now() : 0;
  };
  // A third in view, or much of a small window.
  const eye = new IntersectionObserver((entries) => {
    for (const { target, intersectionRatio: part, intersectionRect: { height } } of entries) {
      tick(passages.indexOf(target), part > 0.3 || height > 150);
    }
  }, { threshold: [0, .1, .2, .31, .5] });
  passages.forEach((passage) => eye.observe(passage));
  document.addEventListener("visibilitychange", () => { clocks.forEach((_, index) => tick(index)); save(); });

  const left = () => passages.flatMap((passage, index) => (open(passage) ? index + 1 : []));
  const tell = (text, values) => { progress.textContent = text.replace(/{(\w+)}/g, (_, name) => values[name]); };
  const say = () => tell(words.answered, { done: passages.length - left().length, total: passages.length });
  form.addEventListener("change", ({ target }) => {
    passages.forEach((passage, index) => passage.contains(target) && tick(index));
    const part = target.closest(".missing");
    part?.classList.toggle("missing", open(part));
    save();
    say();
  });

  // A number chooses, if in sight, in the group with the focus.
  form.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const radio = [...fields].find(({ type, name, value }) =>
      type === "radio" && name === event.target.name && value === event.key);
    if (!radio?.checkVisibility()) return;
    radio.focus();
    radio.click();
    event.preventDefault();
  });

  let sent = false;
  const ready = () => { button.disabled = false; button.textContent = send; say(); };
  form.addEventListener("submit", (event) => {
    for (const group of [form.querySelector(".agree"), ...passages]) group.classList.toggle("missing", open(group));
    const first = form.querySelector(".missing input:invalid");
    if (first) {
      event.preventDefault();
      first.focus();
      return tell(left()[0] ? words.open : words.tick, { stories: left().join(words.separator) });
    }
    save();
    sent = button.disabled = true;
    button.textContent = words.sending;
    setTimeout(ready, 10000);
  });
  // Going back shows what became of the work.
  addEventListener("pageshow", ({ persisted }) => (persisted && sent ? location.reload() : ready()));
  document.getElementById("errors")?.focus();
})();
