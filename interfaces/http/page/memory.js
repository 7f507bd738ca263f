// Memory: what is known as a list that can be searched, corrected and erased; and the other views of it.

import { ask, at, button, day, make, menu, moment, said, say, speaker, tell, trying } from "./base.js";
import { forget } from "./forgetting.js";
import { showImport } from "./importing.js";
import { showDiary, showGraph, showTimeline } from "./pictures.js";
import { showProfiles } from "./profiles.js";

const TABS = { facts: showKnown, profiles: showProfiles, timeline: showTimeline, diary: showDiary, connections: showGraph, import: showImport };
const TYPING = 250;
let timer = 0;
let asked = 0;

export async function showMemory(wanted) {
  const tab = wanted in TABS ? wanted : "facts";
  at("title").textContent = say("memory.title");
  for (const name of Object.keys(TABS)) at(`tab-${name}`).hidden = name !== tab;
  for (const link of document.querySelectorAll(".tabs a")) {
    if (link.dataset.tab === tab) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  await TABS[tab]();
}

// -- what is known, by matter

export async function showKnown() {
  const number = ++asked;
  const holding = at("holding").value.trim();
  const query = new URLSearchParams({ holding, past: at("past").checked });
  const found = await ask(`facts?${query}`);
  if (number !== asked) return;
  const groups = ["person", "companion", "other"].map((about) => group(about, found.facts));
  const none = say(holding ? "known.none_with" : "known.none");
  at("known-list").replaceChildren(
    ...(found.facts.length ? groups.flat() : [make("p", "empty", none)]),
    ...(found.left ? [make("p", "quiet", say("known.left", { count: found.left }))] : []),
  );
  eraseWords(holding);
  tell(found.facts.length ? "" : none);
}

function eraseWords(holding) {
  at("erase-words").hidden = !holding;
  if (!holding) return;
  const act = button("known.erase", () => forget("words", holding), "link danger-text");
  act.textContent = say("known.erase", { words: holding });
  at("erase-words").replaceChildren(act);
}

function group(about, facts) {
  const matters = new Map();
  for (const fact of facts.filter((one) => one.about === about)) {
    matters.set(fact.matter, [...(matters.get(fact.matter) ?? []), fact]);
  }
  if (!matters.size) return [];
  const parts = [make("h2", "", say(`known.${about}`, { name: speaker({ role: "assistant" }) }))];
  for (const [matter, its] of matters) {
    parts.push(make("section", "card", make("h3", "", matter || say("known.matter")), make("ul", "plain-list lines", ...its.map(factItem))));
  }
  return parts;
}

function factItem(fact) {
  const item = make("li", "fact");
  drawFact(item, fact);
  return item;
}

function drawFact(item, fact, evidence = null) {
  item.className = fact.current ? "fact" : "fact past";
  item.id = `fact-${fact.number}`;
  const told = make("div", "grow", said(fact.text), make("p", "quiet", details(fact)));
  for (const one of fact.marks) told.lastChild.append(make("span", "mark", one));
  item.replaceChildren(make("div", "line", told, menu(say("fact.menu", { text: fact.text }), () => choices(item, fact, evidence))));
  if (evidence) item.append(rests(item, evidence));
}

function details(fact) {
  const told = [];
  if (fact.since) told.push(say("fact.since", { day: day(fact.since) }));
  if (fact.until) told.push(say("fact.until", { day: day(fact.until) }));
  if (fact.by_hand) told.push(say("fact.by_hand"));
  return `${told.join(" · ")} `;
}

function choices(item, fact, evidence) {
  const decide = (decision) => async () => {
    const told = await ask(`facts/${fact.number}`, { decision });
    drawFact(item, told.fact, evidence && told);
    item.querySelector(".more").focus();
    tell(say("fact.done", { text: fact.text }));
  };
  const look = async () => {
    drawFact(item, fact, await ask(`facts/${fact.number}`));
    item.querySelector(".evidence").focus();
  };
  return [
    { key: "fact.edit", act: fact.current ? () => edit(item, fact) : null },
    { key: "fact.evidence", act: evidence ? null : look },
    { key: "fact.keep", act: fact.current && !fact.kept ? decide("keep") : null },
    { key: "fact.let_go", act: fact.kept ? decide("let_go") : null },
    { key: "fact.right", act: fact.current && fact.basis !== "verified" ? decide("right") : null },
    { key: "fact.wrong", act: fact.current ? decide("wrong") : null },
    { key: "fact.undo", act: fact.by_hand ? decide("undo") : null },
    { key: "fact.forget", act: () => forget("fact", fact.id), danger: true },
  ];
}

// -- correcting

function edit(item, fact) {
  const field = make("textarea", "");
  field.value = fact.text;
  field.rows = 2;
  field.setAttribute("aria-label", say("fact.edit_label"));
  const leave = () => {
    drawFact(item, fact);
    item.querySelector(".more").focus();
  };
  const keep = button("fact.save", () => correct(fact, field.value.trim(), leave), "small primary");
  const form = make("div", "stack edit", field, make("div", "row", keep, button("cancel", leave)));
  form.addEventListener("keydown", (event) => {
    if (event.key === "Escape") leave();
    else if (event.key === "Enter" && !event.shiftKey && !event.isComposing && event.keyCode !== 229) keep.click();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  item.replaceChildren(form);
  field.focus();
  field.select();
}

async function correct(fact, text, leave) {
  if (!text || text === fact.text) {
    leave();
    return;
  }
  const told = await ask(`facts/${fact.number}`, { decision: "correct", text });
  await showKnown();
  tell(say("fact.done", { text: told.fact.text }));
  at(`fact-${told.fact.number}`)?.querySelector(".more").focus();
}

// -- what a fact rests on

function rests(item, evidence) {
  const events = evidence.history.map((one) => make("li", "", moment(one.when, false), ` · ${one.text}`));
  const hide = button("fact.hide", () => {
    drawFact(item, evidence.fact);
    item.querySelector(".more").focus();
  }, "link");
  const made = make(
    "div", "evidence",
    make("h4", "", say("fact.rests")), make("ul", "plain-list", ...evidence.turns.map(quote)),
    make("h4", "", say("fact.history")), make("ul", "days", ...events), hide,
  );
  made.tabIndex = -1;
  return made;
}

function quote(turn) {
  return make("li", "quotation", make("p", "quiet", `${speaker(turn)} · `, moment(turn.when)), said(turn.text));
}

export function watchMemory() {
  at("known-form").addEventListener("submit", (event) => {
    event.preventDefault();
    trying(showKnown);
  });
  at("holding").addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => trying(showKnown), TYPING);
  });
  at("past").addEventListener("change", () => trying(showKnown));
}
