// The conversation: what was said, a reply as it comes, and what can be done with each message.

import {
  Refused, ask, at, attachMenu, button, follow, make, menu, moment, names, openSheet, said, say, speaker, tell, trouble, trying,
} from "./base.js";
import { forget } from "./forgetting.js";
import { rendered } from "./markdown.js";
import { mark, showSessions } from "./sessions.js";

const DRAFT = "old-friend-draft";
const REDRAW = 60;
const NEAR = 120;
// The longest pause between two looks at whether a stopped reply is stored: about five minutes in all.
const SETTLED = 50_000;
// The session that is shown: its id, "" for one that has not begun, null where the server is to choose.
let session = null;
let open = null;
let working = null;
// What the companion said first and nobody has answered yet: its session, and its element once there are words.
let first = null;
// What was recalled for a reply, by the id of the reply.
const recalls = new Map();

// -- opening

export async function showTalk(wanted) {
  if (working && (wanted === session || wanted === null)) {
    at("title").textContent = open?.title || say("chat.new");
    actions();
    return;
  }
  working?.abort();
  const now = await ask("now");
  Object.assign(names, { user: now.user, assistant: now.companion });
  at("demo").hidden = !now.demo;
  const id = wanted === null ? now.session || null : wanted;
  const read = id ? await ask(`sessions/${encodeURIComponent(id)}`) : null;
  session = id;
  draw(read);
  if (first?.session !== session) first?.speaking?.abort();
  if (!first && !at("say").disabled && (!open || open.active)) sayFirst(read?.turns.at(-1)?.id);
  if (read?.turns.length) await lastRecalled(read.turns.at(-1).id);
}

// Once in the life of a page; typing ends it, and what fails is no trouble.
// ``after``: the last message before it. Once there is another, what was said first is stored or void.
async function sayFirst(after) {
  const said = { session, after, speaking: new AbortController(), item: null };
  first = said;
  try {
    for await (const line of follow("greeting", { session }, said.speaking.signal)) {
      if (line.is !== "greeting" || said.speaking.signal.aborted) continue;
      const before = said.item;
      said.item = turnItem({ role: "assistant", when: new Date().toISOString(), text: line.text, first: true });
      said.item.append(make("div", "below", whyLink(line)));
      said.found = line;
      if (before) before.replaceWith(said.item);
      else at("talk").append(said.item);
      hello(false);
      toEnd();
    }
  } catch {
    // What was said stays.
  }
  if (said.item && first === said) tell(`${speaker({ role: "assistant" })}: ${said.item.querySelector(".words").textContent}`);
}

export function dropFirst() {
  if (!first) return;
  first.speaking?.abort();
  first.item?.remove();
  first = { session: null };
}

async function lastRecalled(id) {
  const found = await ask(`recalled?session=${encodeURIComponent(session)}`);
  if (found.memories.length) recalls.set(id, found);
}

function draw(read) {
  open = read?.session ?? null;
  const title = open?.title || say("chat.new");
  at("title").textContent = title;
  const turns = read?.turns ?? [];
  if (first?.item && first.session === session && turns.at(-1)?.id !== first.after) dropFirst();
  const unanswered = first?.item && first.session === session ? [first.item] : [];
  at("talk").replaceChildren(...earlier(read), ...turns.map((turn, number) => turnItem(turn, number === turns.length - 1)), ...unanswered);
  hello(!turns.length && !unanswered.length);
  const elsewhere = Boolean(open?.active && open.client);
  const note = elsewhere ? say("chat.elsewhere", open) : open && !open.active ? say("chat.archived") : "";
  at("say-note").textContent = note;
  at("say-note").hidden = !note;
  at("say").disabled = elsewhere;
  at("send").disabled = elsewhere;
  if (read?.unanswered && !at("say").value) at("say").value = read.unanswered;
  grow();
  actions();
  mark(session);
  toEnd(true);
}

function earlier(read) {
  const parts = [];
  if (read?.left) parts.push(make("li", "note quiet", say("chat.left", { count: read.left })));
  if (read?.summary && !read.session.active) {
    parts.push(make("li", "note", make("details", "", make("summary", "", say("chat.summary")), prose(read.summary))));
  }
  return parts;
}

function prose(text) {
  const made = make("div", "words md", rendered(text));
  made.dir = "auto";
  return made;
}

function hello(empty, ...inside) {
  at("hello").hidden = !empty;
  if (!empty) return;
  const greeting = make("p", "greeting", say("chat.hello", { name: speaker({ role: "assistant" }) }));
  at("hello").replaceChildren(...(inside.length ? inside : [greeting, make("p", "quiet", say("chat.hello_more"))]));
}

function actions() {
  const can = Boolean(open?.active && !open.client && at("talk").querySelector(".turn"));
  at("chat-actions").hidden = !open;
  at("save").hidden = !can;
  at("save").disabled = Boolean(working);
}

// -- a message

function turnItem(turn, last = false) {
  const item = make("li", `turn ${turn.role}${turn.first ? " first" : ""}`);
  const head = make("p", "head", make("span", "who", speaker(turn)), " ", moment(turn.when));
  for (const state of states(turn)) head.append(make("span", "mark", state));
  const place = make("div", "line", body(turn));
  item.append(head, place);
  if (turn.id) {
    item.dataset.turn = turn.id;
    const acts = menu(say("turn.menu"), () => choices(turn, item, last));
    if (turn.role === "user") place.prepend(acts);
    else head.append(acts);
  }
  return item;
}

function states(turn) {
  const told = [];
  if (turn.finish === "interrupted") told.push(say("chat.stopped"));
  if (turn.finish === "length") told.push(say("chat.cut"));
  if (turn.hidden) told.push(say("chat.hidden"));
  return told;
}

function body(turn) {
  if (turn.role === "user") return plain(turn.text);
  const made = make("div", "words md", rendered(turn.text, { quoted: turn.quoted ?? [], note: source }));
  made.dir = "auto";
  return made;
}

const source = (when) => (when ? make("span", "", say("quote.said"), " ", moment(when, false)) : say("quote.unknown"));

// What a person typed stays as it was typed, but for the tags of a quotation.
function plain(text) {
  const made = said(text);
  if (/<\s{0,8}blockquote/i.test(text)) made.replaceChildren(rendered(text));
  return made;
}

function choices(turn, item, last) {
  const found = recalls.get(turn.id);
  const theirs = turn.role === "assistant";
  const before = item.previousElementSibling;
  const again = theirs && last && open?.active && !working && before?.matches(".turn.user");
  return [
    { key: "turn.copy", act: () => copy(turn.text) },
    { key: "turn.why", act: theirs && (found || last) ? () => showWhy(found) : null },
    { key: "turn.again", act: again ? () => sayAgain(before, item) : null },
    { key: turn.hidden ? "turn.unhide" : "turn.hide", act: () => hide([turn.id], !turn.hidden) },
    { key: "turn.forget", act: () => forget("turn", turn.id), danger: true },
  ];
}

// Whether something is to be kept out of future conversations: two buttons below the question.
function doubt(messages) {
  if (!messages.length) return [];
  return [true, false].map((hidden) => button(hidden ? "turn.hide" : "turn.unhide", () => hide(messages, hidden)));
}

async function hide(messages, hidden) {
  await ask("hide", { messages, hidden });
  tell(say(hidden ? "turn.is_hidden" : "turn.is_unhidden"));
  document.dispatchEvent(new CustomEvent("erased"));
}

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    tell(say("turn.copied"));
  } catch {
    throw new Refused(0, say("turn.not_copied"));
  }
}

// -- why

function showWhy(found) {
  const memories = found?.memories ?? [];
  const list = make("ul", "plain-list lines", ...memories.map(memoryItem));
  openSheet(say("why.title"), [
    make("p", "quiet", say(memories.length ? "why.help" : "why.none")),
    ...(found?.lacking ? [make("p", "warning", found.lacking)] : []),
    ...(memories.length ? [list] : []),
  ]);
}

function memoryItem(memory) {
  const named = memory.kind === "turn" ? speaker(memory) : say(`why.${memory.kind}`, memory);
  const item = make("li", "", make("p", "head", make("span", "who", named), " ", moment(memory.when, false)), plain(memory.text));
  for (const one of memory.marks) item.append(make("span", "mark", one));
  if (memory.reasons?.length) item.append(make("p", "reasons", memory.reasons.join(" · ")));
  return item;
}

// -- saying something

export async function talk() {
  const text = at("say").value;
  if (working || at("send").disabled || !text.trim()) return;
  first?.speaking?.abort();
  write("");
  await converse(text, false);
}

async function sayAgain(before, reply) {
  const text = (await ask(`sessions/${encodeURIComponent(session)}`)).turns.findLast((turn) => turn.id === before.dataset.turn)?.text;
  if (!text) return;
  reply.remove();
  before.remove();
  await converse(text, true);
}

async function converse(text, again) {
  const shown = begin(text);
  const started = session;
  busy(new AbortController());
  let faulty = null;
  try {
    for await (const line of follow("chat", { text, session, again }, working.signal)) hear(line, shown);
    if (!shown.whole) throw new Refused(0, say("chat.broken"));
  } catch (fault) {
    faulty = fault;
  }
  busy(null);
  clearTimeout(shown.timer);
  if (faulty) await ended(text, shown, faulty, again);
  else if (started !== session || !open) await reopen();
  if (document.activeElement === document.body || document.activeElement === at("stop")) at("say").focus();
}

// What can be known only afterwards: the title, what can be done, the side list.
async function reopen() {
  await trying(async () => {
    open = (await ask(`sessions/${encodeURIComponent(session)}`)).session;
    at("title").textContent = open.title;
    at("say-note").hidden = true;
    actions();
    await showSessions();
  });
}

function begin(text) {
  trouble("");
  hello(false);
  const now = new Date().toISOString();
  const mine = turnItem({ role: "user", when: now, text });
  const theirs = turnItem({ role: "assistant", when: now, text: "" });
  const waiting = make("p", "waiting", make("span", "unseen", say("chat.thinking")));
  theirs.append(waiting);
  theirs.setAttribute("aria-busy", "true");
  at("talk").append(mine, theirs);
  toEnd(true);
  return { mine, theirs, waiting, words: theirs.querySelector(".words"), text: "", recalled: null, whole: false, timer: 0 };
}

function hear(line, shown) {
  if (line.is === "begun") begun(line.session);
  else if (line.is === "text") {
    shown.text += line.text;
    shown.timer ||= setTimeout(() => redraw(shown), REDRAW);
  } else if (line.is === "recalled") shown.recalled = line;
  else if (line.is === "notice") shown.theirs.append(make("p", "notice", line.text, ...doubt(line.doubted ?? [])));
  else if (line.is === "retrying") notice(shown, say("chat.retrying", line));
  else if (line.is === "replied") replied(line, shown);
}

function begun(id) {
  const resumed = open && !open.active;
  if (session !== id || resumed) {
    if (resumed) open = null;
    if (first?.session === session) first.session = id;
    session = id;
    history.replaceState(null, "", `#chat/${encodeURIComponent(id)}`);
    mark(id);
  }
}

function notice(shown, text) {
  shown.waiting.replaceChildren(text);
  tell(text);
}

function redraw(shown) {
  shown.timer = 0;
  const near = atEnd();
  shown.waiting.replaceChildren(make("span", "unseen", say("chat.thinking")));
  shown.words.replaceChildren(rendered(shown.text, { open: true }));
  if (near) toEnd();
}

function replied(line, shown) {
  const near = atEnd();
  clearTimeout(shown.timer);
  shown.whole = true;
  if (shown.recalled) recalls.set(line.assistant.id, shown.recalled);
  for (const old of document.querySelectorAll("#talk .turn")) if (old !== shown.mine && old !== shown.theirs) settle(old);
  const theirs = turnItem(line.assistant, true);
  theirs.append(...shown.theirs.querySelectorAll(".notice"));
  if (shown.recalled?.memories.length) theirs.append(make("div", "below", whyLink(shown.recalled)));
  shown.theirs.replaceWith(theirs);
  if (line.greeting) answered(line.greeting, shown.mine);
  else if (first?.session === session) dropFirst();
  shown.mine.replaceWith(turnItem(line.user));
  tell(`${speaker({ role: "assistant" })}: ${theirs.querySelector(".words").textContent}`);
  if (near) toEnd();
}

// What the companion said first is stored with the answer to it.
function answered(greeting, mine) {
  const before = mine.previousElementSibling;
  const item = turnItem(greeting);
  if (before?.matches(".first")) before.replaceWith(item);
  else mine.before(item);
  if (first?.found) recalls.set(greeting.id, first.found);
  first = { session: null };
}

function whyLink(found) {
  const link = button("chat.recalled", () => showWhy(found), "link");
  link.textContent = say("chat.recalled", { count: found.memories.length });
  return link;
}

// Only the last reply can be tried again, and only it says what came to mind.
function settle(item) {
  item.querySelector(".below")?.remove();
}

// It was stopped, or it failed: what was shown of it stays, and what was not stored can be sent again.
async function ended(text, shown, fault, again) {
  const stopped = fault.name === "AbortError";
  if (!shown.mine.isConnected) return; // another conversation is shown by now
  if (stopped && shown.text && !again) {
    redraw(shown);
    shown.waiting.remove();
    shown.theirs.removeAttribute("aria-busy");
    shown.theirs.querySelector(".head").append(make("span", "mark", say("chat.stopped")));
  } else {
    shown.mine.remove();
    shown.theirs.remove();
    if (!again) giveBack(text);
    if (!at("talk").children.length) hello(true);
  }
  if (stopped) tell(say("chat.stopped"));
  else trouble(fault instanceof Refused ? fault.message : say("chat.broken"));
  if (again || (stopped && shown.text)) settled();
}

// The server ends a turn that nobody listens to a moment later, a slow one much later: what it stored is asked for ever
// more seldom until it is there, and is drawn as it is after some minutes; unless the next message was sent meanwhile.
async function settled() {
  const here = session;
  for (let wait = 100; here; wait *= 1.2) {
    const read = await ask(`sessions/${encodeURIComponent(here)}`).catch(() => null);
    if (working || session !== here) return;
    if (read && (!read.unanswered || wait > SETTLED)) {
      draw(read);
      return;
    }
    if (wait > SETTLED) return;
    await new Promise((done) => setTimeout(done, wait));
  }
}

// In front of whatever was typed meanwhile.
function giveBack(text) {
  const typed = at("say").value;
  write(typed.trim() && typed !== text ? `${text}\n${typed}` : text);
}

function busy(controller) {
  working = controller;
  at("send").hidden = Boolean(controller);
  at("stop").hidden = !controller;
  actions();
}

// -- saving

async function save() {
  const started = session;
  const state = make("li", "note waiting", say("save.begins"));
  at("talk").append(state);
  toEnd(true);
  busy(new AbortController());
  let saved = null;
  try {
    for await (const line of follow(`sessions/${encodeURIComponent(started)}/save`, {}, working.signal)) {
      if (line.is === "stage" && !line.done) state.textContent = say(`save.${line.name}`);
      if (line.is === "saved") saved = line;
    }
  } catch (fault) {
    if (fault.name !== "AbortError") throw fault;
    tell(say("save.stopped"));
  } finally {
    busy(null);
    state.remove();
  }
  if (saved) await showSaved(saved);
}

async function showSaved(saved) {
  history.replaceState(null, "", "#new");
  session = "";
  draw(null);
  const told = say(saved.facts ? "save.done_facts" : "save.done", { count: saved.facts });
  const back = make("a", "", say("save.open"));
  back.href = `#chat/${encodeURIComponent(saved.session)}`;
  const known = make("a", "", say("save.memory"));
  known.href = "#memory";
  hello(true, make("p", "greeting", told), make("p", "", back, " · ", known));
  tell(told);
  at("say").focus();
  await showSessions();
}

// -- the composer

function write(text) {
  at("say").value = text;
  keepDraft();
  grow();
}

function keepDraft() {
  sessionStorage.setItem(DRAFT, at("say").value);
}

function grow() {
  at("say").style.height = "auto";
  at("say").style.height = `${at("say").scrollHeight}px`;
}

const atEnd = () => at("talk-scroll").scrollHeight - at("talk-scroll").scrollTop - at("talk-scroll").clientHeight < NEAR;

function toEnd(always = false) {
  if (always || atEnd() || working) at("talk-scroll").scrollTop = at("talk-scroll").scrollHeight;
}

// On a touch screen Enter begins a line, as everywhere there.
function typed(event) {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing || event.keyCode === 229) return;
  if (matchMedia("(pointer: coarse)").matches) return;
  event.preventDefault();
  talk();
}

export const stop = () => working?.abort();

export function watchChat() {
  write(sessionStorage.getItem(DRAFT) ?? "");
  at("say-form").addEventListener("submit", (event) => {
    event.preventDefault();
    talk();
  });
  at("say").addEventListener("keydown", typed);
  at("say").addEventListener("input", () => {
    first?.speaking?.abort();
    keepDraft();
    grow();
  });
  at("stop").addEventListener("click", stop);
  at("save").addEventListener("click", () => trying(save));
  attachMenu(at("chat-menu"), () => [
    { key: "save.menu", act: at("save").hidden || working ? null : save },
    { key: "sessions.forget", act: open ? () => forget("session", open.id) : null, danger: true },
  ]);
}
