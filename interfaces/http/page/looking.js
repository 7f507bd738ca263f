// What there is to look at: what was recalled, what is known, as lists and as a graph, the timeline, the sessions.

import { ask, at, button, day, make, moment, said, say, speaker, tell } from "./base.js";
import { forget } from "./forgetting.js";

const SVG = "http://www.w3.org/2000/svg";
const WIDTH = 720;
const HEIGHT = 520;
const PULLS = 220;
const MOST_APART = 170;
const REACH = 10;

// -- messages

export function turnItem(turn) {
  const item = make("li", `turn ${turn.role}`);
  const head = make("p", "quiet", `${speaker(turn)} · `, moment(turn.when));
  if (turn.finish === "interrupted") head.append(` · ${say("chat.stopped")}`);
  if (turn.finish === "length") head.append(` · ${say("chat.cut")}`);
  if (turn.withheld) head.append(` · ${say("chat.withheld")}`);
  item.append(head, said(turn.text));
  if (turn.id) item.append(button("turn.forget", () => forget("turn", turn.id)));
  return item;
}

// -- what was recalled

export async function showRecalled() {
  drawRecalled(await ask("recalled"));
}

export function drawRecalled(found) {
  const list = make("ul", "plain", ...found.memories.map(memoryItem));
  at("recalled-list").replaceChildren(
    ...(found.queries.length ? [make("p", "quiet", `${say("recalled.queries")}: ${found.queries.join(" / ")}`)] : []),
    ...(found.lacking ? [make("p", "quiet", found.lacking)] : []),
    found.memories.length ? list : make("p", "", say("recalled.none")),
  );
}

function memoryItem(memory) {
  const named = memory.kind === "turn" ? speaker(memory) : say(`recalled.${memory.kind}`, memory);
  const item = make("li", "item", make("p", "quiet", `${named} · `, moment(memory.when)), said(memory.text));
  for (const mark of memory.marks) item.append(make("span", "mark", mark));
  item.append(make("p", "quiet", `${say("recalled.why")}: ${memory.why}`));
  return item;
}

// -- what is known, by matter

export async function showKnown() {
  const holding = at("holding").value.trim();
  const query = new URLSearchParams({ holding, past: at("past").checked });
  const found = await ask(`facts?${query}`);
  const groups = ["person", "companion", "other"].map((about) => group(about, found.facts));
  const none = say(holding ? "known.none_with" : "known.none");
  at("known-list").replaceChildren(
    ...(found.facts.length ? groups.flat() : [make("p", "", none)]),
    ...(found.left ? [make("p", "quiet", say("known.left", { count: found.left }))] : []),
  );
  tell(found.facts.length ? "" : none);
}

function group(about, facts) {
  const matters = byMatter(facts.filter((fact) => fact.about === about));
  if (!matters.size) return [];
  const parts = [make("h3", "", say(`known.${about}`))];
  for (const [matter, its] of matters) {
    parts.push(make("h4", "", matter || say("known.matter")), make("ul", "plain", ...its.map(factItem)));
  }
  return parts;
}

function byMatter(facts) {
  const found = new Map();
  for (const fact of facts) found.set(fact.matter, [...(found.get(fact.matter) ?? []), fact]);
  return found;
}

function factItem(fact) {
  const item = make("li", "");
  drawFact(item, fact);
  return item;
}

function drawFact(item, fact, evidence = null) {
  item.className = fact.current ? "item" : "item past";
  item.id = `fact-${fact.number}`;
  item.replaceChildren(factHead(fact), said(fact.text), ...fact.marks.map((mark) => make("span", "mark", mark)));
  item.append(factButtons(item, fact, evidence));
  if (evidence) item.append(...rests(evidence));
}

function factHead(fact) {
  const told = [`${fact.number}`, fact.since && say("fact.since", { day: day(fact.since) })];
  if (fact.until) told.push(say("fact.until", { day: day(fact.until) }));
  if (fact.by_hand) told.push(say("fact.by_hand"));
  if (fact.replaced_by !== null) told.push(say("fact.instead", { number: fact.replaced_by }));
  return make("p", "quiet", told.filter(Boolean).join(" · "));
}

function factButtons(item, fact, evidence) {
  const look = async () => drawAgain(item, evidence ? fact : await ask(`facts/${fact.number}`), "evidence");
  const decide = (decision) => async () => {
    drawAgain(item, await ask(`facts/${fact.number}`, { decision }), decision);
    tell(say("fact.done", { text: fact.text }));
  };
  const row = make("div", "row", marked(button(evidence ? "fact.hide" : "fact.evidence", look), "evidence"));
  if (fact.current) row.append(marked(button("fact.wrong", decide("wrong")), "wrong"));
  if (fact.current && !fact.kept) row.append(marked(button("fact.keep", decide("keep")), "keep"));
  if (fact.kept) row.append(marked(button("fact.let_go", decide("let_go")), "let_go"));
  if (fact.by_hand) row.append(marked(button("fact.undo", decide("undo")), "undo"));
  row.append(button("fact.forget", () => forget("fact", fact.id)));
  return row;
}

function marked(made, what) {
  made.dataset.does = what;
  made.setAttribute("aria-expanded", "false");
  if (what !== "evidence") made.removeAttribute("aria-expanded");
  return made;
}

function drawAgain(item, told, does) {
  if (told.fact) drawFact(item, told.fact, told);
  else drawFact(item, told);
  const opener = item.querySelector("[data-does=evidence]");
  opener.setAttribute("aria-expanded", String(Boolean(told.fact)));
  (item.querySelector(`[data-does=${does}]`) ?? opener).focus();
}

function rests(evidence) {
  const events = evidence.history.map((one) => make("li", "", moment(one.when, false), ` · ${one.text}`));
  return [
    make("h4", "", say("fact.rests")), make("ol", "plain", ...evidence.turns.map(turnItem)),
    make("h4", "", say("fact.history")), make("ul", "", ...events),
  ];
}

// -- the graph

export async function showGraph() {
  const relations = await ask("relations");
  const items = relations.map((one) => make("li", "", `${one.source} — ${one.relation} → ${one.target}`));
  at("graph-list").replaceChildren(...(items.length ? items : [make("li", "", say("graph.none"))]));
  at("graph-picture").replaceChildren(...(items.length ? [picture(relations)] : []));
}

function picture(relations) {
  const places = placed(relations);
  const svg = shape("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": say("graph.picture", { count: relations.length }) });
  svg.append(arrowHead());
  for (const one of relations) svg.append(...arrow(one, places.get(one.source), places.get(one.target)));
  for (const [name, place] of places) {
    const left = place.x > WIDTH * 0.7;
    svg.append(shape("circle", { cx: place.x, cy: place.y, r: 6 }));
    svg.append(label(name, place.x + (left ? -10 : 10), place.y + 4, "", left ? "end" : "start"));
  }
  return svg;
}

function arrow(one, from, to) {
  const far = Math.max(1, Math.hypot(to.x - from.x, to.y - from.y));
  const end = { x2: to.x - ((to.x - from.x) / far) * REACH, y2: to.y - ((to.y - from.y) / far) * REACH };
  const line = shape("line", { x1: from.x, y1: from.y, ...end, "marker-end": "url(#arrow)" });
  return [line, label(one.relation, (from.x + to.x) / 2, (from.y + to.y) / 2, "relation", "middle")];
}

function arrowHead() {
  const head = shape("marker", { id: "arrow", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 8, markerHeight: 8, orient: "auto" });
  head.append(shape("path", { d: "M0 0 L8 4 L0 8 z" }));
  return head;
}

function label(text, x, y, look, anchor) {
  const made = shape("text", { x, y, class: look, "text-anchor": anchor });
  made.textContent = text.length > 24 ? `${text.slice(0, 23)}…` : text;
  return made;
}

function shape(tag, attributes) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) {
    made.setAttribute(name, typeof value === "number" ? value.toFixed(1) : value);
  }
  return made;
}

// Things begin on a circle; then those that belong together are pulled together and all others pushed apart.
function placed(relations) {
  const names = [...new Set(relations.flatMap((one) => [one.source, one.target]))];
  const places = new Map(names.map((name, number) => {
    const angle = (2 * Math.PI * number) / names.length;
    return [name, { x: WIDTH / 2 + 200 * Math.cos(angle), y: HEIGHT / 2 + 180 * Math.sin(angle) }];
  }));
  const all = [...places.values()];
  const room = Math.min(MOST_APART, Math.sqrt((WIDTH * HEIGHT) / Math.max(1, all.length)) * 0.8);
  for (let step = 0; step < PULLS; step += 1) {
    const heat = 12 * (1 - step / PULLS);
    for (const one of all) Object.assign(one, { dx: 0, dy: 0 });
    all.forEach((one, number) => all.slice(number + 1).forEach((other) => move(one, other, (far) => (room * room) / far)));
    for (const one of relations) move(places.get(one.source), places.get(one.target), (far) => -(far * far) / room);
    for (const one of all) settle(one, heat);
  }
  return places;
}

function move(one, other, force) {
  const [dx, dy] = [one.x - other.x, one.y - other.y];
  const far = Math.max(1, Math.hypot(dx, dy));
  const push = force(far) / far;
  one.dx += dx * push;
  one.dy += dy * push;
  other.dx -= dx * push;
  other.dy -= dy * push;
}

function settle(one, heat) {
  const far = Math.max(1, Math.hypot(one.dx, one.dy));
  one.x = Math.min(WIDTH - 30, Math.max(30, one.x + (one.dx / far) * Math.min(far, heat)));
  one.y = Math.min(HEIGHT - 20, Math.max(30, one.y + (one.dy / far) * Math.min(far, heat)));
}

// -- the timeline

export async function showTimeline() {
  const days = await ask("timeline");
  const parts = days.flatMap((one) => [
    make("h3", "", one.day ? moment(one.day, false) : say("timeline.undated")),
    make("ul", "", ...one.sessions.map(sessionOfDay), ...one.facts.map(factOfDay)),
  ]);
  at("timeline-list").replaceChildren(...(parts.length ? parts : [make("p", "", say("timeline.none"))]));
}

function sessionOfDay(session) {
  const title = session.title || say("sessions.untitled");
  return make("li", "", moment(session.began), ` · ${say("timeline.session")} · ${title}`);
}

const factOfDay = (fact) => make("li", fact.current ? "" : "past", said(dated(fact)));

function dated(fact) {
  const until = fact.until ? [say("fact.until", { day: day(fact.until) })] : [];
  return [fact.text, ...until, ...fact.marks].join(" · ");
}

// -- sessions

export async function showSessions() {
  at("session-read").replaceChildren();
  at("sessions-list").replaceChildren();
  await moreSessions();
}

export async function moreSessions() {
  const list = at("sessions-list");
  const found = await ask(`sessions?skip=${list.querySelectorAll(".item").length}`);
  list.append(...found.map(sessionItem));
  at("sessions-more").hidden = found.length < 50;
  if (!list.children.length) list.append(make("li", "", say("sessions.none")));
}

function sessionItem(session) {
  const told = [say("sessions.messages", { count: session.messages })];
  if (session.active) told.push(say("sessions.open"));
  if (session.door) told.push(session.door);
  const open = button("sessions.untitled", () => readSession(session.id, open));
  if (session.title) open.textContent = session.title;
  return make("li", "item", open, make("p", "quiet", moment(session.began), ` · ${told.join(" · ")}`));
}

async function readSession(id, opener) {
  const found = await ask(`sessions/${encodeURIComponent(id)}`);
  const close = button("sessions.close", () => {
    at("session-read").replaceChildren();
    opener.focus();
  });
  at("session-read").replaceChildren(
    make("h3", "", moment(found.session.began)), make("div", "row", close, button("sessions.forget", () => forget("session", id))),
    ...(found.summary ? [make("p", "quiet", say("sessions.summary")), said(found.summary)] : []),
    ...(found.left ? [make("p", "quiet", say("sessions.left", { count: found.left }))] : []),
    make("ol", "plain", ...found.turns.map(turnItem)),
  );
  at("session-read").focus();
  at("session-read").scrollIntoView();
}
