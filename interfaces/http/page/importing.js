// Importing: a file is dropped or chosen, sent in parts, and read into the memory; each import can be taken back.

import { Refused, ask, at, button, follow, make, moment, say, sure, tell, trying } from "./base.js";
import { showSessions } from "./sessions.js";

const PART = 3 << 20;
let busy = false;

export async function showImport() {
  const imports = await ask("import");
  const items = imports.map((one) => make(
    "li", "",
    make("div", "line", make("div", "grow", make("p", "", one.name), make("p", "quiet", details(one), moment(one.when))),
      button("import.undo", () => undo(one))),
  ));
  at("import-list").replaceChildren(...(items.length ? [make("h2", "", say("import.list")), make("ul", "plain-list lines card", ...items)] : []));
}

const details = (one) => `${one.source} · ${one.done ? say("sessions.messages", { count: one.messages }) : say("import.unfinished")} · `;

async function undo(one) {
  if (!(await sure(say("import.undo"), [make("p", "", say("import.undo_ask", one))], "import.undo_yes", "cancel"))) return;
  const { size } = await ask(`import/${one.number}/undo`, {});
  state(make("p", "", say("import.undone", { count: size })));
  await showImport();
  await showSessions();
}

function state(...parts) {
  at("import-state").replaceChildren(...parts);
}

async function bring(file) {
  if (busy) return;
  busy = true;
  try {
    await upload(file);
    await read("");
  } catch (fault) {
    state();
    throw fault;
  } finally {
    busy = false;
  }
}

async function upload(file) {
  const bar = make("progress");
  bar.max = Math.max(1, file.size);
  state(make("p", "", say("import.uploading", { name: file.name })), bar);
  for (let from = 0; from === 0 || from < file.size; from += PART) {
    const content = await encoded(file.slice(from, from + PART));
    bar.value = (await ask("import/parts", { name: file.name.slice(-200), at: from, content })).size;
  }
}

function encoded(part) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result.slice(reader.result.indexOf(",") + 1));
    reader.onerror = () => reject(new Refused(0, say("import.unreadable")));
    reader.readAsDataURL(part);
  });
}

async function read(me) {
  const bar = make("progress");
  const told = make("p", "", say("import.reading"));
  state(told, bar);
  const done = [];
  for await (const line of follow("import", { me })) {
    if (line.is === "names") return askWho(line.names);
    if (line.is === "progress") {
      bar.value = line.share;
      told.textContent = say("import.reading_at", { count: line.messages });
    } else if (line.is === "imported") done.push(line);
  }
  state(...done.flatMap((one) => [
    make("p", "done", say(one.messages ? "import.done" : "import.nothing_new", one)),
    ...(one.erased ? [make("p", "", say("import.erased", one))] : []),
  ]));
  tell(at("import-state").textContent);
  await showImport();
  return showSessions();
}

function askWho(names) {
  const choose = (name) => {
    const made = button("import.who", () => read(name));
    made.textContent = name;
    return made;
  };
  state(make("p", "", say("import.who")), make("div", "row", ...names.map(choose)));
  at("import-state").querySelector("button").focus();
}

// A file may be dropped anywhere on the page.
export function watchImport() {
  const over = (event) => {
    if (![...event.dataTransfer.types].includes("Files")) return;
    event.preventDefault();
    document.body.classList.add("dropping");
  };
  document.addEventListener("dragenter", over);
  document.addEventListener("dragover", over);
  document.addEventListener("dragleave", (event) => event.relatedTarget || document.body.classList.remove("dropping"));
  document.addEventListener("drop", (event) => {
    document.body.classList.remove("dropping");
    const [file] = event.dataTransfer.files;
    if (!file) return;
    event.preventDefault();
    location.hash = "#memory/import";
    trying(() => bring(file));
  });
  at("file").addEventListener("change", () => {
    const [file] = at("file").files;
    at("file").value = "";
    if (file) trying(() => bring(file));
  });
}
