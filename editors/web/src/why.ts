/** The reasons of an answer: a tree that unfolds. */

import { track } from "./answers";
import { h } from "./dom";

export interface Reason {
  text: string;
  note: string;
  share: number | null;
  open: boolean;
  kind: string; // of a line of a derivation: fact, rule, choice, …
  below: Reason[];
}

export function whyView(root: Reason): HTMLElement {
  const head = h("p", { class: "why-head" }, h("code", {}, root.text), " = ", h("b", {}, root.note));
  return h("div", { class: "why" }, head, branch(root.below));
}

function branch(reasons: Reason[]): HTMLElement {
  return h("ul", { class: "tree" }, ...reasons.map((reason) => h("li", {}, leaf(reason))));
}

function leaf(reason: Reason): HTMLElement {
  const text = h("span", { class: reason.kind ? `reason told kind-${reason.kind}` : "reason" }, reason.text);
  const under =
    reason.note || reason.share !== null
      ? h(
          "div",
          { class: "under" },
          reason.share === null ? null : track([reason.share]),
          h("span", { class: "reason-note" }, reason.note),
        )
      : null;
  if (!reason.below.length) return h("div", { class: "leaf" }, text, under);
  return h("details", { open: reason.open }, h("summary", {}, text, under), branch(reason.below));
}
