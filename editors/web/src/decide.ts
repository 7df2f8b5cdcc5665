/** The best decisions: every alternative with its loss, and why the best is the best. */

import { track } from "./answers";
import { h } from "./dom";
import type { Diagnostic } from "./talk";

export interface Decision {
  best: string; // the strategy in words
  name: string; // what its number is
  ends: number[];
  criterion?: string;
  strategies?: Record<string, boolean>[]; // that a criterion leaves
  most?: number; // where a limit was reached: what no strategy exceeds
  asked: string; // what follows #decide
  questions: string[];
  criteria: string[];
  warnings: Diagnostic[];
  alternatives: { instead: string; ends: number[]; loss: number }[];
  contributions: { utility: string; probability: number[]; adds: number[] }[];
  left: number;
  turning?: { probability: string; now: number; low: number; high: number }[];
  note?: string;
  knowing?: { atom: string; worth: number }[];
  svg?: string;
}

export const NOTHING = "This program decides nothing. A decision and what it is worth are written like this:";
export const EXAMPLE = "0.3::rain.\n#decision {umbrella}.\nwet :- rain, not umbrella.\n#utility 100 : not wet.\n#utility -10 : umbrella.";

const CRITERIA: Record<string, string> = {
  maximin: "the largest lower value: the best of the worst cases",
  maximax: "the largest upper value: the best of the best cases",
  "interval dominance": "the strategies whose upper value no other one's lower value exceeds",
  maximality: "the strategies that no other one beats under every distribution",
  "E-admissibility": "the strategies that are the best under some distribution",
};

function number(value: number): string {
  return String(Number(value.toPrecision(6)));
}

function numbers(ends: number[]): string {
  const distinct = [...new Set(ends.map(number))];
  return distinct.length > 1 ? `[${distinct.join(", ")}]` : (distinct[0] ?? "");
}

/** Bars from 0 to each number (or between two), all on one scale. */
class Scale {
  private readonly low: number;
  private readonly high: number;

  constructor(every: number[]) {
    this.low = Math.min(0, ...every);
    this.high = Math.max(0, ...every);
  }

  bar(ends: number[], kind: string): HTMLElement {
    const [first = 0, last = first] = ends;
    const [from, to] = first === last ? [Math.min(0, first), Math.max(0, first)] : [first, last];
    const bar = h("span", { class: "bar" });
    bar.style.left = `${this.at(from)}%`;
    bar.style.width = `max(2px, ${this.at(to) - this.at(from)}%)`;
    const zero = h("span", { class: "zero" });
    zero.style.left = `${this.at(0)}%`;
    return h("span", { class: `track ${kind}`, "aria-hidden": "true" }, bar, zero);
  }

  private at(value: number): number {
    return this.high > this.low ? (100 * (value - this.low)) / (this.high - this.low) : 0;
  }
}

/** What is best, and what the alternatives lose. */
export function bestView(found: Decision): HTMLElement {
  const view = h("div", { class: "decision" }, headline(found));
  for (const one of found.warnings) view.append(h("p", { class: "note" }, "⚠ ", one.message, one.help && h("small", {}, ` ${one.help}`)));
  if (found.criterion) view.append(h("p", { class: "note" }, `${found.criterion}: ${CRITERIA[found.criterion] ?? ""}`));
  if (found.strategies) view.append(left(found));
  view.append(alternatives(found));
  return view;
}

/** Why it is the best, and what would change that. */
export function reasonsView(found: Decision): HTMLElement {
  const view = h("div", { class: "decision" }, contributions(found));
  if (found.knowing) view.append(knowing(found.knowing));
  if (found.turning) view.append(turning(found.turning, found.note ?? ""));
  else view.append(h("p", { class: "note" }, "Under credal there is no single number for what knowledge is worth and how far a probability may move; choose maxent for both."));
  return view;
}

function headline(found: Decision): HTMLElement {
  const most = found.most === undefined ? "" : `; no strategy has more than ${number(found.most)}`;
  return h("p", { class: "best", role: "status" }, h("b", {}, found.best), h("span", {}, `${found.name} = ${numbers(found.ends)}${most}`));
}

/** The strategies that a criterion for sets leaves. */
function left(found: Decision): HTMLElement {
  const words = (one: Record<string, boolean>) => Object.entries(one).map(([atom, taken]) => (taken ? atom : `not ${atom}`)).join(", ");
  const items = (found.strategies ?? []).map((one) => h("li", {}, h("code", {}, words(one))));
  return h("section", {}, h("h3", {}, `what ${found.criterion} leaves`), h("ul", { class: "kept-strategies" }, ...items));
}

function row(label: string, drawn: HTMLElement, ...texts: string[]): HTMLElement {
  const cells = texts.map((text) => h("span", { class: "number" }, text));
  return h("div", { class: "decide-row", role: "group", "aria-label": [label, ...texts].join(": ") }, h("code", {}, label), drawn, ...cells);
}

function section(title: string, rows: HTMLElement[], empty: string): HTMLElement {
  return h("section", {}, h("h3", {}, title), ...(rows.length ? rows : [h("p", { class: "note" }, empty)]));
}

function alternatives(found: Decision): HTMLElement {
  const every = [{ instead: found.best, ends: found.ends, loss: 0 }, ...found.alternatives];
  const scale = new Scale(every.flatMap((one) => one.ends));
  const rows = every.map((one, i) =>
    row(one.instead, scale.bar(one.ends, i ? "other" : "first"), numbers(one.ends), i ? `loses ${number(one.loss)}` : "the best"),
  );
  if (found.left) rows.push(h("p", { class: "note" }, `and ${found.left} more`));
  return section("every alternative, all else as in the best strategy", rows, "");
}

function contributions(found: Decision): HTMLElement {
  const scale = new Scale(found.contributions.flatMap((one) => one.adds));
  const rows = found.contributions.map((one) =>
    row(one.utility, scale.bar(one.adds, "other"), numbers(one.adds), `ℙ = ${numbers(one.probability)}`),
  );
  return section("what each utility contributes", rows, "There is no utility.");
}

function knowing(known: { atom: string; worth: number }[]): HTMLElement {
  const scale = new Scale(known.map((one) => one.worth));
  const rows = known.map((one) => row(one.atom, scale.bar([one.worth], "other"), number(one.worth)));
  return section("what it is worth to know before deciding", rows, "Nothing is open that does not depend on what is decided.");
}

function turning(points: NonNullable<Decision["turning"]>, note: string): HTMLElement {
  const rows = points.map((one) => {
    const now = h("span", { class: "tick ghost" });
    now.style.left = `${100 * one.now}%`;
    return row(one.probability, track([one.low, one.high], now), `${number(one.low)} to ${number(one.high)}`, `now ${number(one.now)}`);
  });
  const empty = "No probability alone changes what is best, wherever it goes.";
  const view = section("how far a probability may move, alone, before another strategy is better", rows, empty);
  if (note) view.append(h("p", { class: "note" }, note));
  return view;
}
