// What every part of the page stands on: its words, its elements, and how it asks the server.
// Whatever comes from a memory becomes a text node, and nothing else: no markup in it is ever read as markup.

const TOKEN = "old-friend-token";
const PERSON = "old-friend-person";
const LANGUAGE = "old-friend-language";
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

export function say(key, details = {}) {
  return (words[key] ?? key).replace(/\{(\w+)\}/g, (_, name) => String(details[name] ?? "?"));
}

// Whose words they are: by the names that the settings give, where they give any.
export const names = { user: "", assistant: "" };
export const speaker = (turn) => turn.speaker || names[turn.role] || say(`role.${turn.role}`);

// -- elements

export const at = (id) => document.getElementById(id);

export function make(tag, look, ...inside) {
  const made = document.createElement(tag);
  if (look) made.className = look;
  made.append(...inside.filter((one) => one !== null && one !== ""));
  return made;
}

export function button(key, act, look = "small") {
  const made = make("button", look, say(key));
  made.type = "button";
  made.addEventListener("click", () => trying(() => act(made)));
  return made;
}

export function said(text) {
  const made = make("p", "words", text);
  made.dir = "auto";
  return made;
}

export function moment(text, withTime = true) {
  const when = new Date(text);
  if (Number.isNaN(when.getTime()) || text.length < 10) return document.createTextNode(text);
  const style = withTime && text.length > 10 ? { dateStyle: "medium", timeStyle: "short" } : { dateStyle: "medium" };
  if (text.length === 10) style.timeZone = "UTC";
  const made = make("time", "", new Intl.DateTimeFormat(language(), style).format(when));
  made.dateTime = text;
  return made;
}

export const day = (text) => moment(text, false).textContent;

// -- telling

export function tell(text) {
  at("told").textContent = text;
}

export function trouble(text) {
  at("trouble").textContent = text;
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
  const told = await answer.json().catch(() => ({}));
  return typeof told.detail === "string" ? told.detail : say("trouble.any", { status: answer.status });
}
