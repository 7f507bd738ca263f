// What every part of the page builds on: its words, its elements, menus and sheets, and how it asks the server.
// Whatever comes from a memory becomes a text node, and nothing else: no markup in it is ever read as markup.

const TOKEN = "old-friend-token";
const PERSON = "old-friend-person";
const LANGUAGE = "old-friend-language";
const SVG = "http://www.w3.org/2000/svg";
let words = {};

export class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

// -- words

export const language = () => document.documentElement.lang;

export async function speak(chosen) {
  words = await (await fetch(`/page/words/${chosen}.json`)).json();
  document.documentElement.lang = chosen;
  document.title = say("title");
  for (const one of document.querySelectorAll("[data-say]")) one.textContent = say(one.dataset.say);
  for (const one of document.querySelectorAll("[data-label]")) one.setAttribute("aria-label", say(one.dataset.label));
  for (const one of document.querySelectorAll("[data-hint]")) one.placeholder = say(one.dataset.hint);
  document.getElementById("language").lang = chosen === "zh" ? "en" : "zh";
}

export const preferredLanguage = () => (localStorage.getItem(LANGUAGE) === "zh" ? "zh" : localStorage.getItem(LANGUAGE) ? "en" : language());

export async function switchLanguage() {
  const other = language() === "zh" ? "en" : "zh";
  localStorage.setItem(LANGUAGE, other);
  await speak(other);
}

// "{count|one|many}" chooses by the number where a language has two forms.
export function say(key, details = {}) {
  const text = (words[key] ?? key).replace(/\{(\w+)\|([^|}]*)\|([^}]*)\}/g, (_, name, one, many) => (details[name] === 1 ? one : many));
  return text.replace(/\{(\w+)\}/g, (_, name) => String(details[name] ?? "?"));
}

// Whose words they are: by the names that the settings give, where they give any.
export const names = { user: "", assistant: "" };
export const speaker = (turn) => turn.speaker || names[turn.role] || say(`role.${turn.role}`);

// -- elements

export const at = (id) => document.getElementById(id);

export function make(tag, look, ...inside) {
  const made = document.createElement(tag);
  if (look) made.className = look;
  made.append(...inside.filter((one) => one !== null && one !== undefined && one !== ""));
  return made;
}

export function shape(tag, attributes) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) {
    made.setAttribute(name, typeof value === "number" ? value.toFixed(1) : value);
  }
  return made;
}

export function button(key, act, look = "small") {
  const made = make("button", look, say(key));
  made.type = "button";
  made.addEventListener("click", () => trying(() => act(made)));
  return made;
}

export function said(text) {
  const made = make("p", "words plain-words", text);
  made.dir = "auto";
  return made;
}

export function moment(text, withTime = true) {
  const when = new Date(text);
  if (Number.isNaN(when.getTime()) || text.length < 10) return document.createTextNode(text);
  const made = make("time", "", shown(when, text, withTime));
  made.dateTime = text;
  return made;
}

function shown(when, text, withTime) {
  const timed = withTime && text.length > 10;
  if (timed && when.toDateString() === new Date().toDateString()) {
    return new Intl.DateTimeFormat(language(), { timeStyle: "short" }).format(when);
  }
  const style = timed ? { dateStyle: "medium", timeStyle: "short" } : { dateStyle: "medium" };
  if (text.length === 10) style.timeZone = "UTC";
  return new Intl.DateTimeFormat(language(), style).format(when);
}

export const day = (text) => moment(text, false).textContent;

// -- menus: one is open at a time; arrows move in it, Escape and any click elsewhere close it

let opened = null;

// ``choices`` gives the entries when the menu opens: {key, act, danger}. Those without ``act`` are left out.
export function menu(label, choices) {
  const opener = make("button", "icon more");
  opener.type = "button";
  opener.append(dots());
  opener.setAttribute("aria-label", label);
  attachMenu(opener, choices);
  return make("span", "menu-place", opener);
}

export function attachMenu(opener, choices) {
  opener.setAttribute("aria-haspopup", "menu");
  opener.setAttribute("aria-expanded", "false");
  opener.addEventListener("click", (event) => {
    event.stopPropagation();
    const again = opened?.opener === opener;
    closeMenu();
    if (!again) openMenu(opener, choices());
  });
}

function dots() {
  const svg = shape("svg", { viewBox: "0 0 20 20", "aria-hidden": "true" });
  for (const x of [4, 10, 16]) svg.append(shape("circle", { cx: x, cy: 10, r: 1.4 }));
  return svg;
}

function openMenu(opener, choices) {
  const list = make("div", "menu");
  list.setAttribute("role", "menu");
  for (const choice of choices.filter((one) => one && one.act)) {
    const entry = make("button", choice.danger ? "danger-text" : "", say(choice.key));
    entry.type = "button";
    entry.dataset.does = choice.key;
    entry.setAttribute("role", "menuitem");
    entry.addEventListener("click", () => {
      closeMenu(true);
      trying(choice.act);
    });
    list.append(entry);
  }
  opener.setAttribute("aria-expanded", "true");
  document.body.append(list);
  place(list, opener.getBoundingClientRect());
  opened = { opener, list };
  list.firstChild?.focus();
}

function place(list, box) {
  const [width, height] = [list.offsetWidth, list.offsetHeight];
  const below = box.bottom + height + 8 < window.innerHeight;
  list.style.top = `${below ? box.bottom + 4 : Math.max(8, box.top - height - 4)}px`;
  list.style.left = `${Math.min(Math.max(8, box.right - width), window.innerWidth - width - 8)}px`;
}

export function closeMenu(back = false) {
  if (!opened) return false;
  opened.list.remove();
  opened.opener.setAttribute("aria-expanded", "false");
  if (back) opened.opener.focus();
  opened = null;
  return true;
}

export function watchMenus() {
  document.addEventListener("click", (event) => {
    if (opened && !opened.list.contains(event.target)) closeMenu();
  });
  document.addEventListener("scroll", () => closeMenu(), true);
  window.addEventListener("resize", () => closeMenu());
  document.addEventListener("keydown", (event) => {
    if (!opened) return;
    const entries = [...opened.list.children];
    const here = entries.indexOf(document.activeElement);
    const steps = { ArrowDown: here + 1, ArrowUp: here - 1, Home: 0, End: -1 };
    if (event.key === "Escape" || event.key === "Tab") closeMenu(true);
    else if (event.key in steps) entries.at(steps[event.key] % entries.length)?.focus();
    else return;
    if (event.key !== "Tab") event.preventDefault();
    event.stopImmediatePropagation();
  }, true);
}

// -- a sheet: a dialog over the page; ``closed`` is called when it is left with Escape, the cross or ``closeSheet``

let left = null;

export function openSheet(title, body, foot = [], closed = () => {}) {
  const back = document.activeElement;
  at("sheet-title").textContent = title;
  at("sheet-body").setAttribute("aria-label", title);
  at("sheet-body").replaceChildren(...body);
  at("sheet-foot").replaceChildren(...foot);
  left = () => {
    closed();
    if (back?.isConnected) back.focus();
  };
  if (!at("sheet").open) at("sheet").showModal();
  at("sheet-body").scrollTop = 0;
  (foot[0] ?? at("sheet-close")).focus();
}

export function closeSheet() {
  const then = left;
  left = null;
  if (at("sheet").open) at("sheet").close();
  then?.();
}

export function watchSheet() {
  at("sheet-close").addEventListener("click", closeSheet);
  at("sheet").addEventListener("cancel", (event) => {
    event.preventDefault();
    closeSheet();
  });
  at("sheet").addEventListener("click", (event) => {
    if (event.target === at("sheet")) closeSheet();
  });
}

// A question with two answers; true where the person agrees.
export function sure(title, body, yes, no) {
  return new Promise((resolve) => {
    const answer = (agreed) => () => {
      resolve(agreed);
      closeSheet();
    };
    openSheet(title, body, [button(no, answer(false), ""), button(yes, answer(true), "danger")], () => resolve(false));
  });
}

// -- telling

export function tell(text) {
  at("told").textContent = text;
}

export function trouble(text) {
  at("trouble-text").textContent = text;
  at("trouble").hidden = !text;
}

export async function trying(act) {
  trouble("");
  try {
    return await act();
  } catch (fault) {
    if (fault instanceof Refused) trouble(fault.message);
    else throw fault;
  }
  return undefined;
}

// -- asking

export const token = {
  get: () => sessionStorage.getItem(TOKEN) ?? "",
  set: (secret) => sessionStorage.setItem(TOKEN, secret),
  drop: () => sessionStorage.removeItem(TOKEN),
};

// Whose memory is meant, where the token is for many people.
export const person = {
  get: () => sessionStorage.getItem(PERSON) ?? "",
  set: (id) => sessionStorage.setItem(PERSON, id),
  drop: () => sessionStorage.removeItem(PERSON),
};

// A header carries bytes, and takes a text of one character each: ours are UTF-8.
const bytes = (text) => Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte)).join("");

export async function send(path, body, signal) {
  const headers = { "Accept-Language": language() };
  if (token.get()) headers.Authorization = `Bearer ${token.get()}`;
  if (person.get()) headers["X-User-Id"] = bytes(person.get());
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const options = { headers, signal, cache: "no-store", credentials: "omit" };
  if (body !== undefined) Object.assign(options, { method: "POST", body: JSON.stringify(body) });
  let answer;
  try {
    answer = await fetch(`/page/${path}`, options);
  } catch (fault) {
    if (signal?.aborted) throw fault;
    throw new Refused(0, say("trouble.away"));
  }
  if (!answer.ok) throw new Refused(answer.status, await reason(answer));
  return answer;
}

export const ask = async (path, body) => (await send(path, body)).json();

// Everything that happens in some work, as it happens; what breaks off before its end is an error.
export async function* follow(path, body, signal) {
  const answer = await send(path, body, signal);
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    const lines = (rest + part.value).split("\n");
    rest = lines.pop();
    for (const line of lines.map((one) => JSON.parse(one))) {
      if (line.is === "stopped") throw new DOMException("stopped", "AbortError");
      if (line.is === "failed") throw new Refused(0, line.text);
      yield line;
    }
  }
}

async function reason(answer) {
  if (answer.status === 401) {
    document.dispatchEvent(new CustomEvent("stranger"));
    return token.get() ? say("token.wrong") : "";
  }
  if (answer.status === 400) {
    document.dispatchEvent(new CustomEvent("unnamed"));
    return "";
  }
  if (answer.status === 409) return say("trouble.changed");
  if (answer.status === 404) return say("trouble.gone");
  const told = await answer.json().catch(() => ({}));
  return typeof told.detail === "string" ? told.detail : say("trouble.any", { status: answer.status });
}
