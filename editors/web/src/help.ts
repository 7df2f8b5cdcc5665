/** The help on the page: the syntax on one card, what the semantics mean, keys, and where to read on. */

import { h } from "./dom";
import type { Directive } from "./language";
import { inline, pageView } from "./read";

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

const NOT_HERE = ["#script", "#python", "#include"]; // the playground refuses them

/** All of it, for a dialog; `pages` are the documentation that the server has, by title. */
export function helpView(
  semantics: Record<string, string>,
  directives: Directive[],
  links: Record<string, string>,
  pages: Record<string, string>,
): HTMLElement {
  const ours = new Map(directives.filter((one) => one.form && !NOT_HERE.includes(one.word)).map((one) => [one.form, one.about]));
  const titles = new Map(Object.entries(pages).map(([title, name]) => [name, title]));
  const view = h("div", { class: "help" });
  const scrolled = (...parts: Node[]) => {
    view.replaceChildren(...parts);
    view.parentElement?.scrollTo(0, 0);
  };
  const read = async (name: string) => {
    const found = await fetch(`docs/${name}.md`);
    const page = pageView(found.ok ? await found.text() : "This page cannot be read now.", (other) => (titles.has(other) ? () => void read(other) : null));
    scrolled(h("p", {}, h("button", { type: "button", class: "quiet", onclick: () => scrolled(...contents) }, "‹ Help")), page);
  };
  const opens = [...titles].map(([name, title]) => h("button", { type: "button", class: "quiet", onclick: () => void read(name) }, title));
  const elsewhere = Object.entries(links).map(([text, url]) => link(text, url));
  const among = (parts: Node[]) => parts.flatMap((part, i) => [i ? ", " : "", part]);
  const contents = [
    h("h2", { id: "helping-title", tabindex: -1, autofocus: true }, "Help"),
    opens.length ? h("p", {}, "Documentation: ", ...among(opens), ".") : h("span"),
    card("A program", SYNTAX),
    card("Statements", [...ours]),
    card("The semantics", Object.entries(semantics)),
    card("Keys", KEYS),
    h("p", {}, "Elsewhere: ", ...among(elsewhere), "."),
  ];
  scrolled(...contents);
  return view;
}

function link(text: string, url: string): HTMLElement {
  return h("a", { href: url, target: "_blank", rel: "noopener noreferrer" }, text);
}

function card(title: string, rows: [string, string][]): HTMLElement {
  const entries = rows.flatMap(([form, about]) => [h("dt", {}, h("code", {}, form)), h("dd", {}, ...inline(about))]);
  return h("section", {}, h("h3", {}, title), h("dl", {}, ...entries));
}
