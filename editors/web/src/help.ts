/** The help on the page: the syntax on one card, what the semantics mean, keys, and where to read on. */

import { h } from "./dom";
import type { Directive } from "./language";

const SYNTAX: [string, string][] = [
  ["0.3::rain.", "a fact with a probability"],
  ["0.9::wet(X) :- rain, outside(X).", "a rule, with one choice for each X"],
  ["0.2::red; 0.8::blue.", "exactly one of several"],
  ["[0.2, 0.7]::f.", "a probability that is only known to lie in an interval"],
  ["a :- b, not c.", "a rule of answer set programming; all of clingo's are read"],
  ["{a}.  :- a, b.", "a choice without a probability; a constraint"],
  ["?::f.  0.3?::g.", "probabilities that the tab Learn finds from a table"],
  ["#query a, not b | e.", "a question, with evidence after the bar"],
  ["% a comment", ""],
];
const KEYS: [string, string][] = [
  ["Ctrl-Enter", "ask at once"],
  ["Ctrl-Space", "complete"],
  ["Ctrl-S", "save the program"],
  ["Ctrl-F", "find"],
];

/** All of it, for a dialog. */
export function helpView(semantics: Record<string, string>, directives: Directive[], links: Record<string, string>): HTMLElement {
  const ours = directives.filter((one) => one.form).map((one): [string, string] => [one.form, one.about]);
  return h(
    "div",
    { class: "help" },
    h("h2", { id: "helping-title", tabindex: -1, autofocus: true }, "Help"),
    card("A program", [...SYNTAX, ...ours]),
    card("The semantics", Object.entries(semantics)),
    card("Keys", KEYS),
    h("p", {}, "Read on: ", ...Object.entries(links).flatMap(([text, url], i) => [i ? ", " : "", link(text, url)])),
  );
}

function link(text: string, url: string): HTMLElement {
  return h("a", { href: url, target: "_blank", rel: "noopener noreferrer" }, text);
}

function card(title: string, rows: [string, string][]): HTMLElement {
  const entries = rows.flatMap(([form, about]) => [h("dt", {}, h("code", {}, form)), h("dd", {}, about)]);
  return h("section", {}, h("h3", {}, title), h("dl", {}, ...entries));
}
