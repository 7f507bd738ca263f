// The page: which view is open, and who is there.

import { at, closeMenu, person, preferredLanguage, say, speak, switchLanguage, token, trouble, trying, watchMenus, watchSheet } from "./base.js";
import { dropFirst, showTalk, stop, watchChat } from "./chat.js";
import { watchImport } from "./importing.js";
import { showMemory, watchMemory } from "./memory.js";
import { openSide, showSessions, sideIsOpen, watchSide } from "./sessions.js";

const VIEWS = ["chat", "memory", "token", "person"];

// #chat, #chat/ID, #new; #memory, #memory/TAB
async function open({ moved = false } = {}) {
  const [name, rest = ""] = location.hash.slice(1).split("/");
  const view = name === "memory" ? "memory" : "chat";
  for (const one of VIEWS) at(`view-${one}`).hidden = one !== view;
  at("chat-actions").hidden = true;
  at("to-memory").toggleAttribute("aria-current", view === "memory");
  if (moved) at("main").focus({ preventScroll: true });
  if (view === "memory") await trying(() => showMemory(rest));
  else await trying(() => showTalk(name === "new" ? "" : decodeURIComponent(rest) || null));
}

// The view of the same name: "token" where nobody is known yet, "person" where the token is for many.
function askFor(what) {
  for (const one of VIEWS) at(`view-${one}`).hidden = one !== what;
  at("chat-actions").hidden = true;
  at("title").textContent = say("title");
  at(what).focus();
}

const asking = () => ["token", "person"].find((one) => !at(`view-${one}`).hidden);

async function comeIn(event) {
  event.preventDefault();
  token.set(at("token").value.trim());
  person.drop();
  at("token").value = "";
  await afresh();
}

async function namePerson(event) {
  event.preventDefault();
  person.set(at("person").value.trim());
  await afresh();
}

// Somebody else is there, or something is gone that the first words may rest on.
async function afresh() {
  dropFirst();
  await everything();
}

async function everything() {
  await open();
  if (!asking()) await trying(showSessions);
}

function escaped(event) {
  if (event.key !== "Escape" || at("sheet").open) return;
  if (closeMenu(true)) return;
  if (sideIsOpen()) openSide(false, { back: true });
  else stop();
}

// A keyboard on the screen takes from the height, and the composer stays above it.
function fit() {
  document.documentElement.style.setProperty("--height", `${visualViewport.height}px`);
}

async function begin() {
  await speak(preferredLanguage());
  watchMenus();
  watchSheet();
  watchSide();
  watchChat();
  watchMemory();
  watchImport();
  visualViewport?.addEventListener("resize", fit);
  at("language").addEventListener("click", async () => {
    await switchLanguage();
    if (asking()) askFor(asking());
    else await everything();
  });
  at("token-form").addEventListener("submit", comeIn);
  at("person-form").addEventListener("submit", namePerson);
  at("trouble-close").addEventListener("click", () => trouble(""));
  document.addEventListener("keydown", escaped);
  document.addEventListener("stranger", () => askFor("token"));
  document.addEventListener("unnamed", () => askFor("person"));
  document.addEventListener("erased", afresh);
  window.addEventListener("hashchange", () => open({ moved: true }));
  await everything();
  document.body.dataset.ready = "yes";
}

begin();
