"use strict";
(() => {
  const form = document.forms.form;
  const { elements: fields, dataset: words } = form;
  const all = (css) => [...form.querySelectorAll(css)];
  const passages = all(".passage:has([required])");
  const [progress] = all("#progress");
  const button = form.querySelector("button"), send = button.textContent;
  // A group has no answer.
  const open = (part) => part.querySelector("input:invalid");
  const mark = (part) => part.classList.toggle("missing", open(part));

  if (fields.consent.disabled) return; // a preview

  // Answers outlast a reload.
  const key = fields.form.value + (fields.token ?? fields.assignmentId).value;
  const save = () => {
    const kept = Object.fromEntries(new FormData(form));
    try {
      history.replaceState({ [key]: kept }, "");
      sessionStorage[key] = JSON.stringify(kept);
    } catch { /* blocked */ }
  };
  let kept = history.state?.[key];
  try { kept = JSON.parse(sessionStorage[key]); } catch {}
  for (const name in kept) {
    const field = fields[name];
    if (field?.type === "checkbox") field.checked = true;
    else if (field) field.value ||= kept[name];
  }
  for (const part of all("details:has(:checked)")) part.open = true;

  // Seconds in view before each answer.
  const clocks = passages.map(() => ({}));
  const tick = (index, seen = clocks[index].seen) => {
    const clock = clocks[index], field = fields[`seconds-${index + 1}`], now = performance.now();
    if (clock.since) field.value = (+field.value + (now - clock.since) / 1000).toFixed(2);
    clock.seen = seen;
    clock.since = seen && !document.hidden && open(passages[index]) ? now : 0;
  };
  const tickAll = () => clocks.forEach((_, index) => tick(index));
  // A third, or much of it.
  const eye = new IntersectionObserver((entries) => {
    for (const { target, intersectionRatio: part, intersectionRect: { height } } of entries) {
      tick(passages.indexOf(target), part > 0.3 || height > 150);
    }
  }, { threshold: [0, .1, .2, .31, .5] });
  passages.forEach((one) => eye.observe(one));
  document.addEventListener("visibilitychange", () => { tickAll(); save(); });

  const left = () => passages.flatMap((one, index) => open(one) ? index + 1 : []);
  const tell = (text, values) => {
    progress.textContent = text.replace(/{(\w+)}/g, (_, name) => values[name]);
  };
  const say = () => tell(words.answered, { done: passages.length - left().length, total: passages.length });
  const on = form.addEventListener.bind(form);
  on("change", () => {
    tickAll();
    all(".missing").forEach(mark);
    save();
    say();
  });

  // Number keys choose.
  on("keydown", (event) => {
    const radio = [...fields].find(({ type, name, value }) =>
      type === "radio" && name === event.target.name && value === event.key);
    if (!radio?.checkVisibility() || event.ctrlKey || event.metaKey || event.altKey) return;
    radio.focus();
    radio.click();
    event.preventDefault();
  });

  // What appears gets the focus.
  on("toggle", ({ target }) => {
    if (target.firstChild === document.activeElement) target.querySelector("input")?.focus();
  }, true);

  let sent;
  const ready = () => { button.disabled = false; button.textContent = send; say(); };
  on("submit", async (event) => {
    event.preventDefault();
    all(".agree, .passage").forEach(mark);
    const [first] = all(".missing input:invalid");
    if (first) {
      first.focus();
      return tell(left()[0] ? words.open : words.tick, { stories: left().join(words.separator) });
    }
    save();
    sent = button.disabled = true;
    button.textContent = words.sending;
    setTimeout(() => button.disabled && ready(), 1e4);
    // Stay if nobody answers.
    if (!fields.token || (await fetch(form.action, { method: "HEAD" }).catch(() => 0)).ok) return form.submit();
    ready();
    tell(words.unsent);
    progress.scrollIntoView(false);
  });
  // Going back shows what became of it.
  addEventListener("pageshow", ({ persisted }) => (persisted && sent ? location.reload() : ready()));
  document.getElementById("errors")?.focus();
})();
