// Markdown as elements: built node by node from text, never from markup, so that nothing in it can run or load.
//
//   rendered(text, {quoted, note})     quoted: the day of each outermost <blockquote>, "" for one in no memory
//
// Promises: any text is shown in time that grows with its length; a link has a safe scheme and opens apart; an image is
// a link; tags of quotations are never shown, and any other tag is shown as the words it is.

import { make } from "./base.js";

const TAG = /<\s{0,8}(\/?)\s{0,8}blockquote(?:\s[^<>]{0,256})?\s{0,8}\/?>/gi;
const UNFINISHED_TAG = /<\s{0,8}\/?\s{0,8}[a-z]{0,10}(?:\s[^<>]{0,256})?$/i;
const DEEPEST = 6;
const MOST_OPEN = 24;
const LONGEST_ADDRESS = 2000;
const SAFE = /^(?:https?:\/\/|mailto:)/i;
const MARKS = { "**": "strong", __: "strong", "*": "em", _: "em", "~~": "del" };

// -- quotations

// A text that is still being written may end within a tag, and in a quotation that nobody closed yet.
export function rendered(text, { quoted = null, note = () => null, open = false } = {}) {
  const whole = document.createDocumentFragment();
  const shown = open ? text.replace(UNFINISHED_TAG, "") : text;
  let done = 0;
  spans(shown, open).forEach(([start, end], number) => {
    whole.append(...blocks(untagged(shown.slice(done, start))));
    const quotation = make("blockquote", "memory", ...blocks(untagged(shown.slice(start, end))));
    const told = quoted ? note(quoted[number] ?? "") : null;
    if (told) quotation.append(make("footer", "", told));
    if (quotation.childNodes.length) whole.append(quotation);
    done = end;
  });
  whole.append(...blocks(untagged(shown.slice(done))));
  return whole;
}

const untagged = (text) => text.replace(TAG, "\n");

function spans(text, open) {
  const opened = [];
  const found = [];
  for (const tag of text.matchAll(TAG)) {
    if (!tag[1]) opened.push(tag.index);
    else if (opened.length) {
      const start = opened.pop();
      while (found.length && found.at(-1)[0] > start) found.pop();
      found.push([start, tag.index + tag[0].length]);
    }
  }
  if (open && opened.length) {
    while (found.length && found.at(-1)[0] > opened[0]) found.pop();
    found.push([opened[0], text.length]);
  }
  return found;
}

// -- blocks

const FENCE = /^ {0,3}(`{3,}|~{3,})\s*([\w+#.-]{0,40})/;
const HEADING = /^ {0,3}(#{1,6})\s+(.*)$/;
const RULE = /^ {0,3}(?:(?:\*\s*){3,}|(?:-\s*){3,}|(?:_\s*){3,})$/;
const QUOTE = /^ {0,3}> ?(.*)$/;
const ITEM = /^(\s{0,40})([-*+•]|\d{1,9}[.)、])(\s+|$)(.*)$/;
const ROW = /^\s*\|.*\|\s*$/;
const ALIGN = /^\s*\|(?:\s*:?-+:?\s*\|)+\s*$/;

function blocks(text, depth = 0) {
  const lines = text.replace(/\t/g, "    ").split("\n");
  const made = [];
  let paragraph = [];
  const flush = () => {
    if (paragraph.length) made.push(make("p", "", ...inline(paragraph.join("\n"))));
    paragraph = [];
  };
  for (let here = 0; here < lines.length;) {
    const read = depth < DEEPEST ? block(lines, here, depth) : null;
    if (read) {
      flush();
      made.push(...read.made);
      here = read.next;
    } else {
      if (lines[here].trim()) paragraph.push(lines[here].trim());
      else flush();
      here += 1;
    }
  }
  flush();
  return made;
}

function block(lines, here, depth) {
  const line = lines[here];
  if (FENCE.test(line)) return fence(lines, here);
  if (RULE.test(line)) return { made: [make("hr")], next: here + 1 };
  const heading = HEADING.exec(line);
  if (heading) return { made: [make(`h${Math.min(6, heading[1].length + 2)}`, "", ...inline(heading[2].replace(/\s#{1,6}$/, "")))], next: here + 1 };
  if (QUOTE.test(line)) return quote(lines, here, depth);
  if (ROW.test(line) && ALIGN.test(lines[here + 1] ?? "")) return table(lines, here);
  if (ITEM.test(line)) return list(lines, here, depth);
  return null;
}

function fence(lines, here) {
  const [, mark] = FENCE.exec(lines[here]);
  let end = here + 1;
  while (end < lines.length && !(lines[end].trim().startsWith(mark) && !lines[end].trim().replaceAll(mark[0], ""))) end += 1;
  const pre = make("pre", "", make("code", "", lines.slice(here + 1, end).join("\n")));
  pre.tabIndex = 0;
  return { made: [pre], next: end + 1 };
}

function quote(lines, here, depth) {
  const inside = [];
  while (here < lines.length && QUOTE.test(lines[here])) inside.push(QUOTE.exec(lines[here++])[1]);
  return { made: [make("blockquote", "", ...blocks(inside.join("\n"), depth + 1))], next: here };
}

function table(lines, here) {
  const cells = (line) => line.trim().slice(1, -1).split("|").map((cell) => cell.trim());
  const row = (line, tag) => make("tr", "", ...cells(line).map((cell) => make(tag, "", ...inline(cell))));
  const head = make("thead", "", row(lines[here], "th"));
  const body = make("tbody");
  for (here += 2; here < lines.length && ROW.test(lines[here]); here += 1) body.append(row(lines[here], "td"));
  return { made: [make("div", "table", make("table", "", head, body))], next: here };
}

// Items of one indent are a list; whatever is indented further belongs to the item above it.
function list(lines, here, depth) {
  const first = ITEM.exec(lines[here]);
  const [indent, numbered] = [first[1].length, /\d/.test(first[2])];
  const made = make(numbered ? "ol" : "ul");
  if (numbered) made.start = Number.parseInt(first[2], 10);
  while (here < lines.length) {
    const item = ITEM.exec(lines[here]);
    if (!item || item[1].length > indent + 1 || item[1].length + 1 < indent || /\d/.test(item[2]) !== numbered || RULE.test(lines[here])) break;
    const inside = [item[4]];
    here += 1;
    while (here < lines.length && (indented(lines[here], indent) || loose(lines, here, indent))) {
      inside.push(lines[here].slice(Math.min(indent + 2, lines[here].search(/\S|$/))));
      here += 1;
    }
    made.append(make("li", "", ...tight(blocks(inside.join("\n"), depth + 1))));
    while (here + 1 < lines.length && !lines[here].trim() && ITEM.exec(lines[here + 1])?.[1].length === indent) here += 1;
  }
  return { made: [made], next: here };
}

const indented = (line, indent) => Boolean(line.trim()) && line.search(/\S/) > indent + 1;
const loose = (lines, here, indent) => !lines[here].trim() && indented(lines[here + 1] ?? "", indent);

function tight(made) {
  return made.length && made[0].tagName === "P" ? [...made[0].childNodes, ...made.slice(1)] : made;
}

// -- inline: one pass from left to right; what never closes is the words it is

function inline(text) {
  const open = [{ mark: "", inside: [] }];
  const unclosed = new Set();
  let words = "";
  const put = (node) => {
    if (words) open.at(-1).inside.push(...withBreaks(words));
    words = "";
    if (node) open.at(-1).inside.push(node);
  };
  for (let here = 0; here < text.length;) {
    const sign = text[here];
    const read = sign === "\\" && /[\\`*_~[\]()#>!|-]/.test(text[here + 1] ?? "") ? { words: text[here + 1], next: here + 2 }
      : sign === "`" ? code(text, here, unclosed)
      : sign === "!" && text[here + 1] === "[" ? link(text, here + 1)
      : sign === "[" ? link(text, here)
      : sign === "h" ? address(text, here)
      : null;
    if (read) {
      if (read.node) put(read.node);
      else words += read.words;
      here = read.next;
      continue;
    }
    const mark = MARKS[text.slice(here, here + 2)] ? text.slice(here, here + 2) : MARKS[sign] ? sign : "";
    if (!mark) {
      words += sign;
      here += 1;
      continue;
    }
    const [before, after] = [text[here - 1] ?? " ", text[here + mark.length] ?? " "];
    const within = mark[0] === "_" && /[\p{L}\p{N}]/u.test(before) && /[\p{L}\p{N}]/u.test(after);
    const last = within || /\s/.test(before) ? -1 : open.findLastIndex((one) => one.mark === mark);
    if (last > 0) {
      put();
      while (open.length - 1 > last) flatten(open);
      const closed = open.pop();
      put(make(MARKS[mark], "", ...closed.inside));
    } else if (!within && !/\s/.test(after) && open.length < MOST_OPEN) {
      put();
      open.push({ mark, inside: [] });
    } else words += mark;
    here += mark.length;
  }
  put();
  while (open.length > 1) flatten(open);
  return open[0].inside;
}

function flatten(open) {
  const one = open.pop();
  open.at(-1).inside.push(document.createTextNode(one.mark));
  for (const node of one.inside) open.at(-1).inside.push(node);
}

function withBreaks(words) {
  return words.split("\n").flatMap((line, number) => (number ? [make("br"), document.createTextNode(line)] : [document.createTextNode(line)]));
}

function code(text, here, unclosed) {
  let length = 1;
  while (text[here + length] === "`") length += 1;
  const mark = "`".repeat(length);
  const end = unclosed.has(length) ? -1 : text.indexOf(mark, here + length);
  if (end < 0) {
    unclosed.add(length);
    return { words: mark, next: here + length };
  }
  return { node: make("code", "", text.slice(here + length, end).trim() || " "), next: end + length };
}

function link(text, here) {
  const found = /^\[([^\[\]\n]{0,500})\]\(\s{0,4}<?([^()\s<>]{1,2000})>?(?:\s{1,4}"[^"\n]{0,200}")?\s{0,4}\)/.exec(text.slice(here, here + LONGEST_ADDRESS + 800));
  if (!found) return null;
  const next = here + found[0].length;
  return SAFE.test(found[2]) ? { node: anchor(found[2], found[1] || found[2]), next } : { words: found[1] || found[2], next };
}

function address(text, here) {
  if (/[\p{L}\p{N}]/u.test(text[here - 1] ?? " ")) return null;
  const found = /^https?:\/\/[^\s<>"'`，。；：！？、（）【】《》「」]{1,2000}/.exec(text.slice(here, here + LONGEST_ADDRESS));
  if (!found) return null;
  const whole = found[0].replace(/[.,;:!?*_~)\]}]{1,20}$/, "");
  return { node: anchor(whole, whole), next: here + whole.length };
}

function anchor(to, text) {
  const made = make("a", "", text);
  made.href = to;
  made.target = "_blank";
  made.rel = "noopener noreferrer nofollow";
  return made;
}
