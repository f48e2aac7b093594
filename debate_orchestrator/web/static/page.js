"use strict";

const GONE = "This page no longer follows the debate. What you typed stays here: load the page again, or open the link of the new start.";

// A double click sends a form once.
let underWay = null;
addEventListener("pageshow", () => { underWay = null; });
document.addEventListener("submit", (event) => {
  if (event.target.method !== "post") { return; }
  if (underWay === event.target) { event.preventDefault(); return; }
  underWay = event.target;
  setTimeout(() => { underWay = null; }, 10_000); // no answer has come: it may be sent again
});

// HTML of a stream, made by the server, where everything that was said is escaped.
const fragment = (html) => {
  const holder = document.createElement("template");
  holder.innerHTML = html;
  return holder.content;
};

// This page as the server would send it now; null if it doesn't.
const pageNow = async () => {
  const answer = await fetch(location.pathname, { headers: { accept: "text/html" } }).catch(() => null);
  return answer?.ok ? new DOMParser().parseFromString(await answer.text(), "text/html") : null;
};

// A stream of events, open while the page can be seen: a browser opens few connections to a server, and a form needs one
// too. Every stream begins with all that a page shows, so nothing is missed. `lost` is told whether the debate is gone.
const follow = (address, takers, lost) => {
  let stream = null;
  let isOver = false;
  const gone = async () => {
    const answer = await fetch(location.pathname).catch(() => null);
    return answer !== null && answer.status < 500 && !answer.ok && answer.status !== 429;
  };
  const see = () => {
    if (document.hidden || isOver) { stream?.close(); stream = null; return; }
    if (stream) { return; }
    const opened = stream = new EventSource(address);
    for (const [kind, take] of Object.entries(takers)) { opened.addEventListener(kind, take); }
    opened.addEventListener("error", async () => { // the browser tries again by itself, unless the stream is closed
      const isGone = opened.readyState === EventSource.CLOSED && await gone();
      if (stream !== opened) { return; }
      lost(isGone);
      if (isGone) { isOver = true; }
      if (opened.readyState === EventSource.CLOSED) { setTimeout(() => { if (stream === opened) { stream = null; see(); } }, 30_000); }
    });
  };
  document.addEventListener("visibilitychange", see);
  see();
  return () => { isOver = true; see(); };
};

// The live page of a debate: blocks as they come, and speeches while they are written.
const debate = document.querySelector("[data-stream]");
if (debate) {
  const writing = new Map();
  const status = document.getElementById("status");
  const takers = {};
  const listen = (kind, take) => { takers[kind] = take; };
  const place = (html) => {
    for (const block of [...fragment(html).children]) {
      const turn = block.id.replace(/^turn-/, "");
      if (writing.has(turn)) { writing.get(turn).article.remove(); writing.delete(turn); }
      const before = document.getElementById(block.id);
      if (before) { before.replaceWith(block); } else { debate.append(block); }
    }
  };
  listen("page", (event) => { debate.replaceChildren(); writing.clear(); place(JSON.parse(event.data)); });
  listen("block", (event) => place(JSON.parse(event.data)));
  listen("removed", (event) => { document.getElementById(JSON.parse(event.data))?.remove(); });
  const endEarly = document.querySelector("[data-end-early]");
  listen("status", (event) => {
    status.replaceChildren(fragment(JSON.parse(event.data)));
    if (endEarly) { endEarly.hidden = !status.querySelector("[data-can-end-early]"); }
  });
  listen("text", (event) => {
    const { turn, heading, side, start, text } = JSON.parse(event.data);
    if (!writing.has(turn)) {
      const article = document.createElement("article");
      article.className = `speech writing ${side}`;
      const title = document.createElement("h3");
      const words = document.createElement("div");
      words.className = "words";
      title.textContent = heading;
      article.append(title, words);
      debate.append(article);
      writing.set(turn, { article, words });
    }
    const { words } = writing.get(turn);
    words.textContent = [...words.textContent].slice(0, start).join("") + text; // whole characters, as the server counts
  });
  listen("moved", async () => { // the queue in which it waits
    const now = (await pageNow())?.getElementById("status");
    if (now) { status.replaceChildren(...now.childNodes); }
  });
  listen("over", () => {
    end();
    if (![...document.querySelectorAll("textarea")].some((field) => field.value.trim())) { location.reload(); return; }
    const link = document.createElement("a");
    link.href = location.pathname;
    link.textContent = "Load the page again.";
    status.replaceChildren("The debate has ended, or is paused. ", link);
  });
  const end = follow(debate.dataset.stream, takers, (isGone) => { status.textContent = isGone ? GONE : "Connection lost, trying again."; });
}

const late = document.getElementById("late") !== null; // what came too late is on its page, and in no form
let unsaved = late; // whether something was typed that this browser does not keep

// The page of a seat: it is loaded again when another turn waits, and never while something is typed for this one, or
// would be lost.
const changes = document.querySelector("[data-changes]");
if (changes) {
  const look = async () => {
    const page = await pageNow();
    if (!page) { return; }
    const there = page.querySelector("[data-changes]");
    if (there && there.dataset.turn === changes.dataset.turn) {
      document.getElementById("progress").textContent = page.getElementById("progress").textContent;
      return;
    }
    end();
    if (!unsaved) { location.replace(location.pathname); return; }
    const link = document.createElement("a");
    link.href = location.pathname;
    link.textContent = "Load the page again.";
    changes.setAttribute("role", "alert");
    changes.replaceChildren("The debate has moved on or is paused. What you typed is on this page alone: copy it first. ", link);
  };
  let failures = 0; // the stream of a paused debate ends at once, and is opened again: that is no failure
  const lost = (isGone) => {
    failures += 1;
    if (failures > 1 || document.querySelector("form")) { changes.textContent = "Connection lost, trying again."; }
    if (isGone) { changes.textContent = GONE; }
  };
  const connected = () => { failures = 0; changes.textContent = ""; return look(); };
  const end = follow(changes.dataset.changes, { connected, change: look }, lost);
}

// How long a speech is so far.
for (const field of document.querySelectorAll("textarea[data-counted]")) {
  const count = field.parentElement.querySelector("[data-count]");
  const show = () => { count.textContent = `About ${field.value.split(/\s+/).filter(Boolean).length} words.`; };
  field.addEventListener("input", show);
  setTimeout(show); // after a draft was put back
}

// Drafts: what is typed into a form is kept in this browser until it was handed in and taken. What was sent is kept beside.
const store = { get: (key) => { try { return localStorage.getItem(key); } catch { return null; } },
  set: (key, value) => { try { localStorage.setItem(key, value); return true; } catch { return false; } },
  remove: (key) => { try { localStorage.removeItem(key); } catch { /* this browser keeps nothing */ } },
  keys: () => { try { return Object.keys(localStorage); } catch { return []; } } };
const fieldsOf = (draft) => { try { return JSON.parse(draft) || {}; } catch { return {}; } }; // a damaged one is replaced by what is typed
const sent = (key) => key.replace("draft", "sent");
const drop = (key) => { store.remove(key); store.remove(sent(key)); };
if (late) { for (const key of store.keys()) { if (key.startsWith("debate sent ")) { store.remove(key); } } }

// Once a turn was taken, its draft goes if it was sent as it is. Any other is shown, to be copied.
const taken = document.querySelector("[data-taken]");
if (taken) {
  const over = JSON.parse(taken.dataset.taken).map((name) => `debate draft ${name}`); // a space ends a beginning of names
  for (const key of store.keys()) {
    if (!over.some((name) => key === name || (name.endsWith(" ") && key.startsWith(name)))) { continue; }
    const draft = store.get(key);
    const typed = Object.entries(fieldsOf(draft)).filter(([, value]) => String(value).trim());
    if (!typed.length || store.get(sent(key)) === draft) { drop(key); continue; }
    const left = taken.querySelector("template").content.cloneNode(true).firstElementChild;
    left.querySelector("textarea").value = typed.map(([name, value]) => name === "text" ? value : `${name.replace("field/", "")}: ${value}`).join("\n");
    left.querySelector("button").addEventListener("click", () => { drop(key); left.remove(); });
    taken.append(left);
  }
}

for (const form of document.querySelectorAll("form[data-draft]")) {
  const key = `debate draft ${form.dataset.draft}`;
  let kept = fieldsOf(store.get(key));
  store.remove(sent(key)); // this form waits: what was sent of it was not taken
  const typed = [...form.elements].filter((field) => field.name && !["hidden", "checkbox"].includes(field.type) && field.tagName !== "BUTTON");
  const valueOf = (field) => field.multiple ? [...field.selectedOptions].map((option) => option.value) : field.value;
  const isEmpty = (field) => !valueOf(field).toString().trim();
  for (const field of typed) {
    const before = kept[field.name];
    if (before === undefined || !(isEmpty(field) || "fresh" in form.dataset)) { continue; }
    if (!field.options) { field.value = before; continue; }
    const isChosen = (option) => [before].flat().includes(option.value);
    const options = [...field.options];
    if (options.some(isChosen)) { for (const option of options) { option.selected = isChosen(option); } }
  }
  const status = form.querySelector("[data-kept]");
  const keeps = status?.textContent;
  const keep = () => {
    kept = { ...kept, ...Object.fromEntries(typed.map((field) => [field.name, valueOf(field)])) }; // also of fields that are not shown yet
    const isKept = store.set(key, JSON.stringify(kept));
    unsaved = late || !isKept;
    if (status) { status.textContent = !isKept ? "This browser can't keep what you type: it is on this page alone. Copy it before you leave." : keeps; }
  };
  form.addEventListener("input", keep);
  form.addEventListener("submit", () => { keep(); store.set(sent(key), store.get(key)); });
  addEventListener("storage", (event) => { // another tab has typed into this form
    if (event.key !== key || event.newValue === null) { return; }
    unsaved ||= !typed.every(isEmpty);
    if (status) { status.textContent = "This form is open in another tab too, and this browser keeps what was typed there. What you typed here is on this page alone: copy it before you leave."; }
  });
  // A form that comes back from the server holds what was typed, and the browser may not.
  if (status && !typed.every(isEmpty)) { keep(); }
}
if (location.hash === "#begun") { // a debate was begun; once, for the page may be loaded again over the next form
  history.replaceState(null, "", location.pathname);
  drop("debate draft new");
}

// Sending a page: with the device's own menu, or else by copying its address.
const share = document.querySelector("[data-share]");
if (share && (navigator.share || navigator.clipboard)) {
  const address = document.querySelector("link[rel=canonical]").href;
  const status = document.querySelector("[data-shared]");
  share.hidden = false;
  share.addEventListener("click", async () => {
    try {
      if (navigator.share) { await navigator.share({ title: document.title, url: address }); return; }
      await navigator.clipboard.writeText(address);
      status.textContent = "The address is copied: paste it where you want to send it.";
    } catch (error) {
      if (error.name !== "AbortError") { status.textContent = address; }
    }
  });
}

// Links that are sent to people.
for (const link of document.querySelectorAll("[data-copy] a")) {
  if (!navigator.clipboard) { break; }
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "Copy link";
  button.addEventListener("click", async () => {
    try { await navigator.clipboard.writeText(link.href); button.textContent = "Copied"; } catch { button.textContent = "Not copied"; }
  });
  link.after(" ", button);
}
