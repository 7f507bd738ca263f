// The timeline, the diary, and how what is known is connected, drawn.

import { ask, at, button, day, language, make, moment, said, say, shape } from "./base.js";

const WIDTH = 720;
const HEIGHT = 520;
const PULLS = 220;
const MOST_APART = 170;
const REACH = 10;

// -- the graph

export async function showGraph() {
  const relations = await ask("relations");
  const items = relations.map((one) => make("li", "", `${one.source} — ${one.relation} → ${one.target}`));
  at("graph-list").replaceChildren(...(items.length ? items : [make("li", "empty", say("graph.none"))]));
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
    make("ul", "days", ...one.sessions.map(sessionOfDay), ...one.facts.map(factOfDay)),
  ]);
  at("tab-timeline").replaceChildren(...(parts.length ? parts : [make("p", "empty", say("timeline.none"))]));
}

function sessionOfDay(session) {
  const link = make("a", "", session.title || say("sessions.untitled"));
  link.href = `#chat/${encodeURIComponent(session.id)}`;
  return make("li", "", make("span", "quiet", moment(session.began), ` · ${say("timeline.session")} · `), link);
}

const factOfDay = (fact) => make("li", fact.current ? "" : "past", said(dated(fact)));

function dated(fact) {
  const until = fact.until ? [say("fact.until", { day: day(fact.until) })] : [];
  return [fact.text, ...until, ...fact.marks].join(" · ");
}

// -- the diary

export async function showDiary(month = "") {
  const found = await ask(`diary?${new URLSearchParams({ month })}`);
  const shown = found.pages.at(-1)?.date.slice(0, 7);
  const months = found.months.map((one) => {
    const chosen = button("diary.month", () => showDiary(one));
    chosen.textContent = monthName(one);
    chosen.toggleAttribute("aria-pressed", one === shown);
    return chosen;
  });
  const parts = [make("div", "row", ...months, button("diary.print", () => window.print(), "small primary")), ...found.pages.map(diaryPage)];
  at("tab-diary").replaceChildren(...(months.length ? parts : [make("p", "empty", say("diary.none"))]));
}

const monthName = (month) => new Intl.DateTimeFormat(language(), { year: "numeric", month: "long", timeZone: "UTC" }).format(new Date(month));

function diaryPage(page) {
  const source = make("a", "quiet", say("diary.source"));
  source.href = `#chat/${encodeURIComponent(page.session)}`;
  return make("article", "page", make("h3", "", moment(page.date, false)), ...page.sentences.map((one) => said(one.text)), source);
}
