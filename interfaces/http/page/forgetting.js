// Forgetting: shows what would go, asks, erases it, and shows the proof that it is gone.

import { ask, button, closeSheet, make, moment, openSheet, said, say, speaker, sure, tell } from "./base.js";

// Once somebody has agreed, whatever is shown elsewhere is asked for again: the event "erased".
export async function forget(what, named) {
  const scope = await ask("forget/scope", { what, named });
  if (scope.nothing) {
    openSheet(say("forget.title"), [make("p", "", say("forget.nothing"))]);
    return;
  }
  const agreed = await sure(say("forget.would"), shownScope(scope), "forget.yes", "forget.no");
  if (agreed) await erase({ what, named, mark: scope.mark });
  else tell(say("forget.kept"));
}

function shownScope(scope) {
  return [
    make("p", "warning", say("forget.ask")),
    ...part("forget.messages", scope.turns.map(turnLine)),
    ...part("forget.known", scope.known.map((text) => make("li", "", said(text)))),
    ...(scope.more ? [make("p", "quiet", say("forget.more", { count: scope.more }))] : []),
    make("p", "quiet", scope.counts),
  ];
}

const part = (key, items) => (items.length ? [make("h3", "", say(key)), make("ul", "plain-list lines", ...items)] : []);

function turnLine(turn) {
  return make("li", "", make("p", "quiet", `${speaker(turn)} · `, moment(turn.when)), said(turn.text.replace(/<[^<>]{0,300}blockquote[^<>]{0,300}>/gi, " ")));
}

async function erase(agreed) {
  openSheet(say("forget.title"), [make("p", "waiting", say("forget.busy"))]);
  try {
    const proof = await ask("forget", agreed);
    const told = [proof.done, proof.proof, proof.rebuilt].filter(Boolean).map((text) => make("p", "", text));
    openSheet(say("forget.proof"), [make("div", "proof", ...told)], [button("close", closeSheet, "primary")]);
    tell([proof.done, proof.proof].join(" "));
    document.dispatchEvent(new CustomEvent("erased"));
  } catch (fault) {
    closeSheet();
    throw fault;
  }
}
