// Forgetting: shows what would go, asks, and shows the proof that it is gone.

import { ask, at, make, moment, said, say, speaker, tell, trouble, trying } from "./base.js";

let agree = null;

// Once somebody has agreed, whatever is shown elsewhere is asked for anew: the event "erased".
export async function forget(what, named) {
  const opener = document.activeElement;
  const scope = await ask("forget/scope", { what, named });
  if (scope.nothing) {
    tell(say("forget.nothing"));
    trouble(say("forget.nothing"));
    return;
  }
  if (!(await sure(scope))) {
    tell(say("forget.kept"));
    opener?.focus();
    return;
  }
  await erase({ what, named, mark: scope.mark });
}

export function begin() {
  at("sure-yes").addEventListener("click", () => close(true));
  at("sure-no").addEventListener("click", () => close(false));
  at("sure").addEventListener("cancel", (event) => {
    event.preventDefault();
    close(false);
  });
  at("forget-form").addEventListener("submit", (event) => {
    event.preventDefault();
    const holding = at("forget-words").value.trim();
    if (holding) trying(() => forget("words", holding));
  });
}

function sure(scope) {
  at("sure-what").replaceChildren(
    ...part("forget.messages", scope.turns.map(turnLine)),
    ...part("forget.known", scope.known.map((text) => make("li", "", said(text)))),
    ...(scope.more ? [make("p", "quiet", say("forget.more", { count: scope.more }))] : []),
    make("p", "", scope.counts),
  );
  at("sure").showModal();
  at("sure-no").focus();
  return new Promise((resolve) => {
    agree = resolve;
  });
}

const part = (key, items) => (items.length ? [make("h3", "", say(key)), make("ul", "plain", ...items)] : []);

function turnLine(turn) {
  return make("li", "", make("p", "quiet", `${speaker(turn)} · `, moment(turn.when)), said(turn.text));
}

function close(agreed) {
  at("sure").close();
  agree?.(agreed);
  agree = null;
}

async function erase(agreed) {
  location.hash = "#forget";
  at("proof").replaceChildren(make("p", "waiting", say("forget.busy")));
  try {
    const proof = await ask("forget", agreed);
    const told = [proof.done, proof.proof, proof.anew].filter(Boolean).map((text) => make("p", "", text));
    at("proof").replaceChildren(make("h3", "", say("forget.proof")), ...told);
    at("forget-words").value = "";
    document.dispatchEvent(new CustomEvent("erased"));
  } catch (fault) {
    at("proof").replaceChildren();
    throw fault;
  }
}
