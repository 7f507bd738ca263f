// The side list: every conversation, found by its words; a drawer where there is little room.

import { ask, at, make, say, trying } from "./base.js";

const AT_ONCE = 50;
const TYPING = 250;
const narrow = matchMedia("(max-width: 859px)");
let shown = "";
let asked = 0;
let timer = 0;
let count = 0;

export async function showSessions() {
  const number = ++asked;
  const found = await ask(`sessions?${query(0)}`);
  if (number !== asked) return;
  count = found.length;
  draw(found.filter((one) => one.messages));
}

async function moreSessions() {
  const found = await ask(`sessions?${query(count)}`);
  count += found.length;
  at("sessions-list").append(...groups(found.filter((one) => one.messages)));
  at("sessions-more").hidden = found.length < AT_ONCE;
  mark(shown);
}

function query(skip) {
  return new URLSearchParams({ skip, words: at("find").value.trim() });
}

function draw(sessions) {
  const searching = Boolean(at("find").value.trim());
  const none = make("p", "empty", say(searching ? "sessions.none_with" : "sessions.none"));
  at("sessions-list").replaceChildren(...(sessions.length ? groups(sessions) : [none]));
  at("sessions-more").hidden = searching || count < AT_ONCE;
  mark(shown);
}

function groups(sessions) {
  const found = new Map();
  for (const one of sessions) found.set(period(one.began), [...(found.get(period(one.began)) ?? []), one]);
  return [...found].flatMap(([name, its]) => [make("h2", "", name), make("ul", "plain-list", ...its.map(item))]);
}

function period(text) {
  const when = new Date(text);
  const days = Math.round((new Date().setHours(0, 0, 0, 0) - new Date(when).setHours(0, 0, 0, 0)) / 86_400_000);
  if (Number.isNaN(days) || days <= 0) return say("sessions.today");
  if (days === 1) return say("sessions.yesterday");
  if (days < 7) return say("sessions.week");
  return new Intl.DateTimeFormat(document.documentElement.lang, { year: "numeric", month: "long" }).format(when);
}

// As short as the heading above it allows.
function when(text) {
  const then = new Date(text);
  const recent = Date.now() - then < 2 * 86_400_000;
  const year = then.getFullYear() === new Date().getFullYear() ? {} : { year: "numeric" };
  const style = recent ? { timeStyle: "short" } : { ...year, month: "short", day: "numeric" };
  const made = make("time", "", Number.isNaN(then.getTime()) ? text : new Intl.DateTimeFormat(document.documentElement.lang, style).format(then));
  made.dateTime = text;
  return made;
}

function item(session) {
  const link = make("a", "session", make("span", "name", session.title || say("sessions.untitled")));
  link.href = `#chat/${encodeURIComponent(session.id)}`;
  link.dataset.session = session.id;
  if (session.found) link.append(make("span", "found", session.found));
  link.append(make("span", "quiet", when(session.began), ` · ${say("sessions.messages", { count: session.messages })}`, ...states(session)));
  return make("li", "", link);
}

function states(session) {
  const told = session.client ? [say("sessions.client", { client: session.client })] : [];
  if (session.active) told.push(say("sessions.open"));
  return told.map((one) => ` · ${one}`);
}

// Which conversation is open.
export function mark(id) {
  shown = id;
  for (const link of document.querySelectorAll("#sessions-list a")) {
    if (id && link.dataset.session === id) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

// -- the drawer

export function openSide(open, { back = false } = {}) {
  const covered = open && narrow.matches;
  at("side").classList.toggle("open", covered);
  at("side").inert = narrow.matches && !open;
  at("stage").inert = covered;
  at("shade").hidden = !covered;
  at("side-open").setAttribute("aria-expanded", String(covered));
  if (covered) at("find").focus();
  else if (back && narrow.matches) at("side-open").focus();
}

export const sideIsOpen = () => at("side").classList.contains("open");

export function watchSide() {
  openSide(false);
  narrow.addEventListener("change", () => openSide(false));
  at("side-open").addEventListener("click", () => openSide(true));
  at("side-close").addEventListener("click", () => openSide(false, { back: true }));
  at("shade").addEventListener("click", () => openSide(false, { back: true }));
  at("side").addEventListener("click", (event) => event.target.closest("a") && openSide(false));
  at("find-form").addEventListener("submit", (event) => {
    event.preventDefault();
    trying(showSessions);
  });
  at("find").addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => trying(showSessions), TYPING);
  });
  at("sessions-more").addEventListener("click", () => trying(moreSessions));
}
