// The two profiles: what the companion is and what it knows of the person, as text that can be edited, with its history.

import { ask, at, button, make, moment, say, tell } from "./base.js";

export async function showProfiles() {
  at("tab-profiles").replaceChildren(...(await ask("personas")).reverse().map(card));
}

function card(persona) {
  const made = make("section", "card profile");
  made.id = `profile-${persona.persona}`;
  draw(made, persona);
  return made;
}

function draw(made, persona, history = false) {
  const title = make("h3", "", say(`profile.${persona.persona}`));
  title.id = `profile-title-${persona.persona}`;
  const field = make("textarea", "");
  field.value = persona.text;
  field.rows = Math.min(16, Math.max(4, persona.text.split("\n").length + 1));
  field.placeholder = say("profile.empty");
  field.setAttribute("aria-labelledby", title.id);
  const save = button("profile.save", async () => {
    draw(made, await ask(`personas/${persona.persona}`, { text: field.value, base: persona.base }), history);
    tell(say("profile.saved"));
    made.querySelector("textarea").focus();
  }, "small primary");
  const reset = button("cancel", () => {
    field.value = persona.text;
    changed();
  });
  const row = make("div", "row", save, reset);
  const changed = () => {
    row.hidden = field.value === persona.text;
  };
  field.addEventListener("input", changed);
  changed();
  made.replaceChildren(title, make("p", "quiet", say(`profile.${persona.persona}_help`)), field, row, past(made, persona, history));
}

function past(made, persona, history) {
  const items = persona.versions.map((version) => versionItem(made, persona, version));
  const details = make("details", "history", make("summary", "", say("profile.history", { count: items.length })), make("ul", "plain-list lines", ...items));
  details.open = history;
  details.hidden = !items.length;
  return details;
}

function versionItem(made, persona, version) {
  const head = make("p", "quiet", say("profile.version", version), " · ", moment(version.when), ` · ${version.origin}`);
  const text = make("pre", "version", version.text || say("profile.empty"));
  const restore = button("profile.restore", async () => {
    draw(made, await ask(`personas/${persona.persona}/restore`, { version: version.version, base: persona.base }), true);
    tell(say("profile.restored", version));
    made.querySelector("summary").focus();
  });
  const current = version.version === persona.base;
  return make("li", "", head, text, current ? make("span", "mark", say("profile.current")) : restore);
}
