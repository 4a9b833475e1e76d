// Marks blanks in the text by mouse and keyboard, asks for candidates, and shows them in place.
"use strict";

const $ = (id) => document.getElementById(id);
const NAMES = { word: "word", ngram: "words", sentence: "sentence", paragraph: "paragraph", document: "text" };
const ONE = { word: "a word", ngram: "several words", sentence: "a sentence", paragraph: "a paragraph", document: "the whole text" };
const form = $("ask"), box = $("units"), said = $("said"), area = $("text");

const state = {
  chars: [], // the whole text by characters of Unicode, as the server counts them
  units: {}, // by type: [start, end] of what can become a blank
  blanks: [], // {start, end, type}, in order
  picked: null, // the candidate that is shown in place
  anchor: null, // where a range of words begins, while it is being chosen
};

const mode = () => form.elements.mode.value;
const slice = (start, end) => state.chars.slice(start, end).join("");
const say = (text) => { said.textContent = text; };

async function ask(address, values) {
  const response = await fetch(address, {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(values),
  }).catch(() => { throw new Error("The server does not answer. Your text is still here."); });
  const told = await response.json().catch(() => ({}));
  if (!response.ok) throw new Error(sentence(told.error || `the server answers ${response.status}`) + (told.hint ? ` ${told.hint}` : ""));
  return told;
}

const sentence = (text) => text.charAt(0).toUpperCase() + text.slice(1) + (/[.!?]$/.test(text) ? "" : ".");

async function load(text) {
  const told = await ask("read", { text });
  Object.assign(state, { chars: Array.from(told.text), units: told.units, blanks: told.blanks, picked: null, anchor: null });
  draw(0);
}

// The text as options of a listbox: blanks, and between them the units of the mode, with what lies between as it is.

function items() {
  const spans = state.units[mode()] || [];
  const free = spans.filter(([start, end]) => !state.blanks.some((blank) => inside(blank, start, end)));
  const found = [
    ...state.blanks.map((blank, number) => ({ ...blank, number })),
    ...free.map(([start, end]) => ({ start, end })),
  ];
  return found.sort((a, b) => a.start - b.start || a.end - b.end);
}

const inside = (blank, start, end) =>
  blank.start < blank.end ? blank.start < end && start < blank.end : start < blank.start && blank.start < end;

function draw(focus, hold = false) {
  box.replaceChildren();
  const picked = state.picked;
  let at = 0;
  const found = items();
  found.forEach((item, place) => {
    box.append(slice(at, item.start));
    box.append(option(item, place, picked));
    at = item.end;
  });
  box.append(slice(at, state.chars.length));
  const options = box.querySelectorAll("[role=option]");
  const chosen = options[Math.max(0, Math.min(focus, options.length - 1))];
  if (chosen) {
    chosen.tabIndex = 0;
    if (hold) chosen.focus();
  }
  $("keep").hidden = $("back").hidden = !picked;
  $("clear").hidden = !state.blanks.length;
}

function option(item, place, picked) {
  const node = document.createElement("span");
  node.setAttribute("role", "option");
  node.tabIndex = -1;
  Object.assign(node.dataset, { place, start: item.start, end: item.end });
  const blank = item.number !== undefined;
  node.setAttribute("aria-selected", String(blank));
  if (!blank) {
    node.textContent = slice(item.start, item.end);
    return node;
  }
  node.dataset.number = item.number;
  const was = slice(item.start, item.end);
  if (picked) {
    node.className = "filling";
    node.textContent = picked.fillings[item.number].text || "(nothing)";
    return node;
  }
  node.className = "blank";
  const small = document.createElement("small");
  small.textContent = NAMES[item.type] || item.type;
  node.append("____ ", small);
  node.setAttribute("aria-label", `blank for ${ONE[item.type] || item.type}${was ? `, was: ${was}` : ""}`);
  node.title = was;
  return node;
}

function take(start, end, type, focus) {
  const crossed = state.blanks.filter((blank) => inside(blank, start, end));
  for (const blank of crossed) { start = Math.min(start, blank.start); end = Math.max(end, blank.end); }
  state.blanks = state.blanks.filter((blank) => !crossed.includes(blank));
  state.blanks.push({ start, end, type });
  state.blanks.sort((a, b) => a.start - b.start);
  changed();
  const place = items().findIndex((item) => item.start === start && item.number !== undefined);
  draw(place < 0 ? focus : place, true);
  say(`Taken out: a blank for ${ONE[type]}.`);
}

function putBack(number, focus) {
  state.blanks.splice(number, 1);
  changed();
  draw(focus, true);
  say("Put back.");
}

function changed() { state.picked = null; state.anchor = null; }

function press(first, last) {
  const [a, b] = [first, last].sort((one, other) => one.dataset.place - other.dataset.place);
  const focus = Number(last.dataset.place);
  if (first === last && first.dataset.number !== undefined) {
    if (state.picked) { state.picked = null; draw(focus, true); return; }
    putBack(Number(first.dataset.number), focus);
    return;
  }
  const several = a !== b && mode() === "word";
  const [from, to] = several ? [a, b] : [last, last];
  take(Number(from.dataset.start), Number(to.dataset.end), several ? "ngram" : mode(), focus);
}

function showRange(node) {
  for (const each of box.children) {
    const place = Number(each.dataset.place), ends = [state.anchor, node].map((one) => Number(one.dataset.place));
    each.classList.toggle("range", place >= Math.min(...ends) && place <= Math.max(...ends));
  }
}

const optionAt = (event) => event.target.closest && event.target.closest("[role=option]");

function listen() {
  let held = null;
  box.addEventListener("pointerdown", (event) => {
    const node = optionAt(event);
    if (!node || event.button) return;
    held = event.shiftKey && state.anchor && state.anchor.isConnected ? state.anchor : node;
    if (box.hasPointerCapture(event.pointerId)) box.releasePointerCapture(event.pointerId);
  });
  box.addEventListener("pointerover", (event) => {
    const node = optionAt(event);
    if (held && node && mode() === "word") { state.anchor = held; showRange(node); }
  });
  document.addEventListener("pointerup", (event) => {
    const node = optionAt(event), first = held;
    held = null;
    if (first && node && box.contains(node)) press(first, node);
  });
  document.addEventListener("pointercancel", () => { held = null; draw(0); });
  box.addEventListener("keydown", onKey);
  for (const radio of form.elements.mode) radio.addEventListener("change", () => { state.anchor = null; draw(0); });
  $("clear").addEventListener("click", () => { state.blanks = []; changed(); draw(0, true); say("Nothing is taken out."); });
  $("edit").addEventListener("click", edit);
  $("done").addEventListener("click", mark);
  $("keep").addEventListener("click", keep);
  $("back").addEventListener("click", () => { unpick(); draw(0, true); });
  $("again").addEventListener("click", () => { form.elements.seed.value = Number(form.elements.seed.value) + 1; fill(); });
  form.addEventListener("submit", (event) => { event.preventDefault(); fill(); });
}

function onKey(event) {
  const node = optionAt(event);
  if (!node || event.altKey || event.ctrlKey || event.metaKey) return;
  const options = [...box.querySelectorAll("[role=option]")];
  const at = options.indexOf(node);
  const to = {
    ArrowRight: at + 1, ArrowDown: at + 1, ArrowLeft: at - 1, ArrowUp: at - 1, Home: 0, End: options.length - 1,
  }[event.key];
  if (to !== undefined) {
    event.preventDefault();
    const next = options[Math.max(0, Math.min(to, options.length - 1))];
    if (event.shiftKey && mode() === "word") state.anchor ??= node;
    else state.anchor = null;
    options.forEach((one) => { one.tabIndex = -1; one.classList.remove("range"); });
    next.tabIndex = 0;
    next.focus();
    if (state.anchor) showRange(next);
  } else if (event.key === " " || event.key === "Enter") {
    event.preventDefault();
    press(state.anchor && state.anchor.isConnected ? state.anchor : node, node);
  } else if (event.key === "Escape" && state.anchor) {
    draw(at, true);
    state.anchor = null;
  }
}

// Between the two views of the text.

const ranged = () => ({ text: state.chars.join(""), blanks: state.blanks });

async function edit() {
  try {
    area.value = (await ask("write", ranged())).text;
    show(false);
    area.focus();
  } catch (error) { say(error.message); }
}

async function mark() {
  try {
    await load(area.value);
    show(true);
    const first = box.querySelector("[tabindex='0']");
    if (first) first.focus();
  } catch (error) { say(error.message); }
}

function show(marking) {
  $("marking").hidden = $("modes").hidden = !marking;
  $("plain").hidden = marking;
  $("done-row").hidden = marking;
}

async function keep() {
  try {
    // What a model wrote may look like a mark: it goes as a text without blanks.
    area.value = (await ask("write", { text: state.picked.text, blanks: [] })).text;
    await load(area.value);
    unpick();
    draw(0, true);
    say("The candidate is your text now. Take something else out.");
  } catch (error) { say(error.message); }
}

// Candidates.

let busy = false;

async function fill() {
  if (busy || !form.reportValidity()) return;
  const chosen = [...form.querySelectorAll("input[name=generator]:checked")];
  try {
    if (!$("plain").hidden) await load(area.value);
    if (!state.blanks.length) throw new Error("There is no blank yet: take out a word or a sentence first.");
    if (!chosen.length) throw new Error("Choose a generator.");
  } catch (error) { say(error.message); return; }
  show(true);
  unpick();
  draw(0);
  const columns = $("results").querySelector(".columns");
  columns.replaceChildren();
  $("results").hidden = false;
  const values = { ...ranged() };
  for (const name of ["samples", "temperature", "nucleus", "seed"]) values[name] = Number(form.elements[name].value);
  work(true);
  let count = 0;
  for (const input of chosen) {
    const card = column(input.dataset.name);
    columns.append(card);
    const types = input.dataset.types.split(" ").filter(Boolean); // none are known of what is not open yet
    const strange = types.length && state.blanks.find((blank) => !types.includes(blank.type));
    if (strange) {
      card.append(note(`It does not fill ${ONE[strange.type] || strange.type}.`, "quiet"));
      continue;
    }
    try {
      const told = await ask("fill", { ...values, generator: input.value });
      const list = document.createElement("ol");
      told.candidates.forEach((candidate, number) => list.append(row(candidate, number, input.dataset.name)));
      count += told.candidates.length;
      card.append(list);
      if (told.candidates.length < values.samples) card.append(note(`${told.candidates.length} of ${values.samples}: it has no others.`, "quiet"));
    } catch (error) {
      card.append(note(error.message, "error"));
    }
  }
  work(false);
  say(count ? `${count === 1 ? "1 candidate. Choose it" : `${count} candidates. Choose one`} to see it in your text.` : "Nothing was written.");
  $("again").hidden = false;
}

function note(text, kind) {
  return Object.assign(document.createElement("p"), { className: kind, textContent: text });
}

function column(name) {
  const card = document.createElement("article");
  card.className = "card result";
  const heading = document.createElement("h3");
  heading.textContent = name;
  card.append(heading);
  return card;
}

function row(candidate, number, name) {
  const line = document.createElement("li"), label = document.createElement("label");
  line.className = "candidate";
  const input = Object.assign(document.createElement("input"), { type: "radio", name: "candidate" });
  const body = document.createElement("span"), text = document.createElement("span"), told = document.createElement("span");
  text.className = "text";
  candidate.pieces.forEach((piece, at) => {
    text.append(piece);
    if (at < candidate.fillings.length) {
      const mark = document.createElement("mark");
      mark.textContent = candidate.fillings[at].text;
      text.append(mark);
    }
  });
  told.className = "quiet";
  told.textContent = candidate.told;
  body.append(text, told);
  label.append(input, body);
  line.append(label);
  input.addEventListener("change", () => {
    state.picked = candidate;
    draw(0);
    say(`Candidate ${number + 1} of ${name} is in your text.`);
  });
  return line;
}

function unpick() {
  state.picked = null;
  for (const input of document.querySelectorAll("input[name=candidate]:checked")) input.checked = false;
}

let timer = 0;

function work(on) {
  busy = on;
  $("working").hidden = !on;
  for (const id of ["go", "again"]) $(id).setAttribute("aria-disabled", String(on)); // disabled would lose the focus
  clearInterval(timer);
  $("doing").textContent = "";
  if (!on) return;
  const look = async () => {
    const told = await fetch("progress").then((response) => response.json()).catch(() => null);
    if (busy && told && told.doing) $("doing").textContent = `${told.doing} … ${Math.round(told.seconds)} s`;
  };
  timer = setInterval(look, 700);
  look();
}

listen();
mark().then(() => document.activeElement === document.body || document.activeElement.blur());
