// The page: which view is open, who is there, and the chat.

import { Refused, ask, at, make, names, person, preferredLanguage, say, send, speak, speaker, switchLanguage, tell, token, trying } from "./base.js";
import { begin as beginForgetting } from "./forgetting.js";
import { drawRecalled, moreSessions, showGraph, showKnown, showRecalled, showSessions, showTimeline, turnItem } from "./looking.js";

const VIEWS = {
  chat: showTalk, recalled: showRecalled, known: showKnown, graph: showGraph, timeline: showTimeline, sessions: showSessions,
  forget: async () => {},
};
let replying = null;

// -- views

const present = () => (location.hash.slice(1) in VIEWS ? location.hash.slice(1) : "chat");

async function open({ moved = false } = {}) {
  const view = present();
  for (const name of [...Object.keys(VIEWS), "token", "person"]) at(`view-${name}`).hidden = name !== view;
  for (const link of document.querySelectorAll("nav a")) {
    if (link.dataset.view === view) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  if (moved) at("main").focus({ preventScroll: true });
  if (!(view === "chat" && replying)) await trying(VIEWS[view]);
}

function askFor(what) {
  for (const name of [...Object.keys(VIEWS), "token", "person"]) at(`view-${name}`).hidden = name !== what;
  at(what).focus();
}

async function comeIn(event) {
  event.preventDefault();
  token.set(at("token").value.trim());
  person.drop();
  at("token").value = "";
  await open();
}

async function namePerson(event) {
  event.preventDefault();
  person.set(at("person").value.trim());
  await open();
}

// -- the chat

async function showTalk() {
  const now = await ask("now");
  Object.assign(names, { user: now.user, assistant: now.companion });
  const items = now.turns.map(turnItem);
  at("talk").replaceChildren(...(items.length ? items : [make("li", "quiet", say("chat.nothing"))]));
  at("standin").hidden = !now.standin;
  if (now.unanswered && !at("say").value) at("say").value = now.unanswered;
  toEnd();
}

async function talk() {
  const text = at("say").value;
  if (replying || !text.trim()) return;
  replying = new AbortController();
  const shown = begun(text);
  working(true);
  await trying(() => converse(text, shown)).finally(() => {
    replying = null;
    working(false);
  });
  at("say").focus();
}

function begun(text) {
  at("talk").querySelector(".quiet:only-child")?.remove();
  const mine = turnItem({ role: "user", when: new Date().toISOString(), text });
  const theirs = turnItem({ role: "assistant", when: new Date().toISOString(), text: "" });
  const waiting = make("p", "quiet waiting", "");
  theirs.append(waiting);
  at("talk").append(mine, theirs);
  at("say").value = "";
  toEnd();
  return { mine, theirs, waiting, words: theirs.querySelector(".words"), whole: false };
}

async function converse(text, shown) {
  try {
    const answer = await send("chat", { text }, replying.signal);
    for await (const line of linesOf(answer.body)) hear(line, shown);
    if (!shown.whole) throw new Refused(0, say("chat.broken"));
  } catch (fault) {
    if (fault.name === "AbortError") stopped(text, shown);
    else broken(text, shown, fault);
  }
  shown.waiting.remove();
}

async function* linesOf(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let held = "";
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    const lines = (held + part.value).split("\n");
    held = lines.pop();
    yield* lines.map((line) => JSON.parse(line));
  }
}

function hear(line, shown) {
  if (line.is === "text") {
    shown.words.append(line.text);
    toEnd();
  } else if (line.is === "recalled") {
    drawRecalled(line);
    if (line.memories.length) shown.theirs.append(recalledLink(line.memories.length));
  } else if (line.is === "notice") shown.theirs.append(make("p", "quiet", line.text));
  else if (line.is === "retrying") tell(say("chat.retrying", line));
  else if (line.is === "replied") replied(line, shown);
  else if (line.is === "stopped") throw new DOMException("stopped", "AbortError");
  else if (line.is === "failed") throw new Refused(0, line.text);
}

function recalledLink(count) {
  const link = make("a", "", say("chat.recalled", { count }));
  link.href = "#recalled";
  return make("p", "quiet", link);
}

function replied(line, shown) {
  shown.whole = true;
  const kept = [...shown.theirs.querySelectorAll("p.quiet:not(:first-child):not(.waiting)")];
  const theirs = turnItem(line.assistant);
  theirs.querySelector(".words").after(...kept);
  shown.theirs.replaceWith(theirs);
  shown.mine.replaceWith(turnItem(line.user));
  tell(`${speaker({ role: "assistant" })}: ${line.assistant.text}`);
  toEnd();
}

function stopped(text, shown) {
  if (shown.words.textContent) shown.theirs.firstChild.append(` · ${say("chat.stopped")}`);
  else takeBack(text, shown);
  tell(say("chat.stopped"));
}

// Nothing was stored: it can be said again.
function takeBack(text, shown) {
  shown.mine.remove();
  shown.theirs.remove();
  if (!at("say").value) at("say").value = text;
}

function broken(text, shown, fault) {
  takeBack(text, shown);
  throw fault instanceof Refused ? fault : new Refused(0, say("chat.broken"));
}

function working(on) {
  at("send").disabled = on;
  at("stop").hidden = !on;
}

function toEnd() {
  at("talk").scrollTop = at("talk").scrollHeight;
}

// -- keys

function typed(event) {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing || event.keyCode === 229) return;
  event.preventDefault();
  talk();
}

function escaped(event) {
  if (event.key === "Escape" && !at("sure").open) replying?.abort();
}

// -- the beginning

async function begin() {
  await speak(preferredLanguage());
  beginForgetting();
  at("language").addEventListener("click", async () => {
    await switchLanguage();
    if (at("view-token").hidden && at("view-person").hidden) await open();
  });
  at("token-form").addEventListener("submit", comeIn);
  at("person-form").addEventListener("submit", namePerson);
  at("say-form").addEventListener("submit", (event) => {
    event.preventDefault();
    talk();
  });
  at("say").addEventListener("keydown", typed);
  at("stop").addEventListener("click", () => replying?.abort());
  at("known-form").addEventListener("submit", (event) => {
    event.preventDefault();
    trying(showKnown);
  });
  at("sessions-more").addEventListener("click", () => trying(moreSessions));
  document.addEventListener("keydown", escaped);
  document.addEventListener("stranger", () => askFor("token"));
  document.addEventListener("unnamed", () => askFor("person"));
  document.addEventListener("erased", () => at("talk").replaceChildren());
  window.addEventListener("hashchange", () => open({ moved: true }));
  if (present() !== "chat") await trying(showTalk); // it tells the names
  await open();
  document.body.dataset.ready = "yes";
}

begin();
