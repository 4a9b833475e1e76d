"use strict";
// Stands before the scripts of a requester's page, and sends to this marketplace what the page sends to
// Mechanical Turk's address for answers, however the page made that address and whatever sends it.
(() => {
  const site = document.currentScript.dataset.site;
  const id = new URLSearchParams(location.search).get("assignmentId") ?? "";
  const hosts = [new URL(site).host, location.host];

  // The address here for one that takes answers; undefined for any other.
  const ours = (address) => {
    let url;
    try { url = new URL(address, document.baseURI); } catch { return undefined; }
    const there = hosts.includes(url.host) || /(^|\.)mturk\.com$/.test(url.hostname);
    if (!there || !url.pathname.endsWith("/mturk/externalSubmit")) return undefined;
    return site + "/mturk/externalSubmit" + url.search;
  };
  const changed = (address) => ours(address) ?? address;
  const tell = () => top.postMessage("submitted", "*");

  // Forms: those that people send, and those that scripts send. A field may hide a form's own properties.
  const owned = (form, name) => Element.prototype.getAttribute.call(form, name);
  const turn = (form, button) => {
    for (const [part, name] of [[form, "action"], [button, "formaction"]]) {
      const to = part && owned(part, name) && ours(owned(part, name));
      if (!to) continue;
      setAttribute.call(part, name, to);
      const named = [...form.elements].filter((field) => /^assignment_?id$/i.test(field.name));
      for (const field of named) field.value ||= id;
      if (named.length || new URLSearchParams(to.split("?")[1]).has("assignmentId")) continue;
      const field = document.createElement("input");
      Object.assign(field, { type: "hidden", name: "assignmentId", value: id });
      Element.prototype.append.call(form, field);
    }
  };
  const { setAttribute } = Element.prototype;
  const { submit, requestSubmit } = HTMLFormElement.prototype;
  HTMLFormElement.prototype.submit = function () { turn(this); submit.call(this); };
  HTMLFormElement.prototype.requestSubmit = function (button) { turn(this, button); requestSubmit.call(this, button); };
  const onSubmit = (event) => { if (!event.defaultPrevented) turn(event.target, event.submitter); };
  addEventListener("submit", onSubmit);
  addEventListener("submit", onSubmit, true);
  // A handler of the page may name the address last, and stop the event.
  Element.prototype.setAttribute = function (name, value) {
    const sends = this instanceof HTMLFormElement && /^action$/i.test(name);
    return setAttribute.call(this, name, sends ? changed(value) : value);
  };
  const action = Object.getOwnPropertyDescriptor(HTMLFormElement.prototype, "action");
  Object.defineProperty(HTMLFormElement.prototype, "action", { ...action, set(to) { action.set.call(this, changed(to)); } });

  // Scripts that send without leaving the page. Answers in an address go by POST, too.
  const { fetch: fetched } = window;
  const posted = (to) => [site + "/mturk/externalSubmit", new URLSearchParams(to.split("?")[1])];
  window.fetch = function (what, how) {
    const to = ours(what instanceof Request ? what.url : what);
    if (!to) return fetched.call(window, what, how);
    const method = how?.method ?? (what instanceof Request ? what.method : "GET");
    let sent;
    if (/^(GET|HEAD)$/i.test(method)) {
      const [address, body] = posted(to);
      sent = fetched.call(window, address, { method: "POST", body });
    } else if (what instanceof Request) {
      // Not new Request(to, what): its body would be a stream, which browsers do not send by every protocol.
      const { headers } = what;
      sent = what.blob().then((body) => fetched.call(window, to, { method, headers, body, ...how }));
    } else {
      sent = fetched.call(window, to, how);
    }
    return sent.then((reply) => { tell(); return reply; });
  };
  const { open, send } = XMLHttpRequest.prototype;
  const waiting = new WeakMap();
  XMLHttpRequest.prototype.open = function (method, address, ...rest) {
    const to = ours(address);
    waiting.delete(this);
    if (!to) return open.call(this, method, address, ...rest);
    this.addEventListener("load", tell);
    if (!/^GET$/i.test(method)) return open.call(this, method, to, ...rest);
    const [plain, body] = posted(to);
    waiting.set(this, body);
    return open.call(this, "POST", plain, ...rest);
  };
  XMLHttpRequest.prototype.send = function (body) { return send.call(this, waiting.get(this) ?? body); };
  const { sendBeacon } = Navigator.prototype;
  Navigator.prototype.sendBeacon = function (address, body) {
    setTimeout(tell, 1000);
    return sendBeacon.call(this, changed(address), body);
  };

  // Addresses that the page goes to.
  const { open: opened } = window;
  window.open = (address, ...rest) => opened.call(window, address && changed(address), ...rest);
  addEventListener("click", ({ target }) => {
    const link = target instanceof Element && target.closest("a[href], area[href]");
    const to = link && ours(link.href);
    if (to) link.href = to;
  }, true);
  window.navigation?.addEventListener("navigate", (event) => {
    const to = ours(event.destination.url);
    if (!to || to === event.destination.url || event.formData || !event.cancelable) return;
    event.preventDefault();
    location.href = to;
  });
})();
