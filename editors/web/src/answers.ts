/** Answers as bars and intervals, side by side for several semantics. */

import { h } from "./dom";
import type { Diagnostic } from "./talk";

export interface Answer {
  query: string;
  kind: "probability" | "map" | "expectation" | "decision";
  name?: string; // of what is not a probability
  value?: number;
  lower?: number;
  upper?: number;
  interval?: number[]; // around an approximate answer
  likely?: number[]; // inside the interval, with confidence 95 %
  samples?: number;
  exact?: false;
  log10?: number | string | (number | string)[]; // of numbers too small to be written
  undefined?: number | number[]; // the probability that it is undefined
  text: string; // as the command line prints it
}

export interface Found {
  answers: Answer[];
  left: number;
  engine: string;
  inconsistent: number;
  warnings: Diagnostic[];
  statistics: Record<string, unknown> & { seconds?: Record<string, number> };
}

/** What is known under one semantics: answers, why there are none, or nothing yet. */
export type Outcome = { found: Found } | { problem: string; help: string } | { waiting: true };

/** An answer with sliders moved; null where the evidence is impossible then. */
export interface Moved {
  query: string;
  ends: number[] | null;
  text: string | null;
}

/** The numbers of an answer: one, or a lower and an upper one that differ. */
export function ends(answer: Answer): number[] {
  return point([answer.value, answer.lower, answer.upper].filter((n): n is number => n !== undefined));
}

/** Bounds that are the same up to rounding as one number. */
function point(numbers: number[]): number[] {
  const [low = 0, high = low] = numbers;
  return high - low <= 1e-12 * Math.abs(high) ? numbers.slice(0, 1) : numbers;
}

/** A number as the command line prints it. */
export function number(value: number): string {
  const text = value.toFixed(6);
  if (value === 0 || Number(text) !== 0) return text;
  return value.toExponential(6).replace(/e([+-])(\d)$/, "e$10$2");
}

export function interval(numbers: number[]): string {
  return numbers.length === 1 ? number(numbers[0] ?? 0) : `[${numbers.map(number).join(", ")}]`;
}

/** A track from 0 to 1 with a bar or a segment. */
export function track(numbers: number[], ...inside: HTMLElement[]): HTMLElement {
  const kind = numbers.length === 1 ? "value" : "bounds";
  const low = numbers.length === 1 ? 0 : (numbers[0] ?? 0);
  const high = numbers[numbers.length - 1] ?? 0;
  const marks = (numbers.length === 1 ? [high] : [low, high]).map((at) => tick("tick", at));
  return h("span", { class: `track ${kind}`, "aria-hidden": "true" }, ...inside, span("bar", low, high), ...marks);
}

function span(name: string, low: number, high: number): HTMLElement {
  const element = h("span", { class: name });
  element.style.left = `${100 * low}%`;
  element.style.width = `${100 * (high - low)}%`;
  return element;
}

function tick(name: string, at: number): HTMLElement {
  const element = h("span", { class: name });
  element.style.left = `${100 * at}%`;
  return element;
}

export interface Handlers {
  why: (query: string) => void;
  compare: () => void;
}

/** All answers: one block a query, one line a semantics. */
export function answersView(
  outcomes: Map<string, Outcome>,
  moved: Map<string, Map<string, Moved>> | null,
  handlers: Handlers,
): HTMLElement {
  const names = [...outcomes.keys()];
  const queries = new Map<string, Map<string, Answer>>();
  for (const [name, outcome] of outcomes)
    if ("found" in outcome)
      for (const answer of outcome.found.answers) {
        const key = `${answer.kind} ${answer.name ?? answer.query}`;
        queries.set(key, (queries.get(key) ?? new Map<string, Answer>()).set(name, answer));
      }
  const view = h("div", { class: "answers" });
  if ([...queries.values()].some((own) => [...own.values()].some((one) => one.kind === "probability"))) view.append(scale());
  for (const answers of queries.values()) view.append(block(answers, names, moved, handlers));
  for (const [name, outcome] of outcomes) view.append(...notes(name, outcome, names.length > 1));
  view.append(h("p", { class: "note faint" }, [...outcomes].flatMap(([, one]) => cost(one)).join(" — ")));
  return view;
}

function scale(): HTMLElement {
  const numbers = [0, 0.25, 0.5, 0.75, 1].map((at) => {
    const element = h("span", {}, String(at));
    element.style.left = `${100 * at}%`;
    return element;
  });
  const line = h("div", { class: "scale" }, ...numbers);
  return h("div", { class: "row scale-row", "aria-hidden": "true" }, h("span"), line, h("span"));
}

function block(
  answers: Map<string, Answer>,
  names: string[],
  moved: Map<string, Map<string, Moved>> | null,
  handlers: Handlers,
): HTMLElement {
  const [first] = answers.values();
  const { kind = "probability", query = "", name = "" } = first ?? {};
  const quiet = (text: string, label: string, onclick: () => void) =>
    h("button", { class: "quiet", type: "button", "aria-label": label, onclick }, text);
  const button =
    kind === "probability"
      ? quiet("why?", `Why ${query}?`, () => handlers.why(query))
      : kind === "decision" && quiet("compare", "Compare the alternatives", handlers.compare);
  const rows = [...answers].map(([semantics, answer]) =>
    kind === "probability" ? row(semantics, answer, moved?.get(semantics)?.get(query), names) : textRow(semantics, answer, names),
  );
  return h("div", { class: "block" }, h("div", { class: "query" }, h("code", {}, kind === "probability" ? `ℙ(${query})` : name || query), button), ...rows);
}

function row(name: string, answer: Answer, now: Moved | undefined, names: string[]): HTMLElement {
  const label = h("span", { class: "name" }, names.length > 1 ? name : "");
  if (now?.ends === null)
    return h("div", { class: "row" }, label, h("span", { class: "impossible" }, "the evidence is impossible now"), h("span"));
  const own = ends(answer);
  const shown = now?.ends ? point(now.ends) : own;
  const [text, precision] = now ? [now.text ?? "", ""] : said(answer);
  const inside = now ? own.map((at) => tick("tick ghost", at)) : reaches(answer);
  return h(
    "div",
    {
      class: now ? "row" : `row ${quality(answer)}`,
      role: "group",
      "aria-label": precision ? `${name}: ${text} (${precision})` : `${name}: ${text}`,
    },
    label,
    track(shown, ...inside),
    h("output", { class: "number", title: shown.join(" … ") }, text),
    precision && h("small", { class: "precision" }, precision),
  );
}

/** What kind of number it is: exact, an estimate from samples, or bounds that are sure. */
function quality(answer: Answer): "exact" | "estimate" | "sure" {
  if (answer.exact !== false) return "exact";
  return answer.samples === undefined ? "sure" : "estimate";
}

/** The intervals around an answer that is not exact: the sure one, and the likely one in it. */
function reaches(answer: Answer): HTMLElement[] {
  if (quality(answer) === "exact" || !answer.interval) return [];
  const [low = 0, high = 1] = answer.interval;
  if (quality(answer) === "sure") return [span("reach", low, high)];
  if (!answer.likely) return [span("whisker", low, high)];
  return [span("reach", low, high), span("whisker", answer.likely[0] ?? 0, answer.likely[1] ?? 1)];
}

/** The number as text, and in other words how good it is and what else is known of it. */
function said(answer: Answer): [string, string] {
  const [, text = "", precision = ""] = /^(.*?)(?:  \((.*)\))?$/s.exec(answer.text) ?? [];
  const powers = list(answer.log10).map((one) => (typeof one === "number" ? `10^${one.toFixed(1)}` : one));
  const tiny = powers.length > 1 ? `[${powers.join(", ")}]` : (powers[0] ?? "");
  const undefined_ = list(answer.undefined);
  const more = undefined_.length && !answer.text.includes("undef") ? `undefined with probability ${interval(undefined_)}` : "";
  return [tiny && !text.includes("10^") ? tiny : text, [precision, more].filter(Boolean).join("; ")];
}

function list<T>(given: T | T[] | null | undefined): T[] {
  return given === null || given === undefined ? [] : Array.isArray(given) ? given : [given];
}

function textRow(name: string, answer: Answer, names: string[]): HTMLElement {
  const lines = answer.text.split("\n").map((line) => h("code", {}, line));
  const label = h("span", { class: "name" }, names.length > 1 ? name : "");
  const best = h("div", { class: "map" }, ...lines);
  return h("div", { class: `row most ${quality(answer)}`, role: "group", "aria-label": `${name}: ${answer.text}` }, label, best);
}

function notes(name: string, outcome: Outcome, several: boolean): HTMLElement[] {
  const prefix = several ? h("b", {}, `${name}: `) : null;
  if ("waiting" in outcome) return [h("p", { class: "note" }, prefix, "…")];
  if ("problem" in outcome)
    return [h("p", { class: "note problem" }, prefix, outcome.problem, outcome.help && h("small", {}, ` ${outcome.help}`))];
  const { found } = outcome;
  const lines: HTMLElement[] = [];
  if (!found.answers.length)
    lines.push(h("p", { class: "note" }, prefix?.cloneNode(true), "The program asks nothing: add a line such as #query a. Decisions are compared on the tab Decide."));
  if (found.left) lines.push(h("p", { class: "note" }, prefix?.cloneNode(true), `and ${found.left} more answers`));
  for (const one of found.warnings)
    if (one.line === null) lines.push(h("p", { class: "note" }, prefix?.cloneNode(true), "⚠ ", one.message, one.help && h("small", {}, ` ${one.help}`)));
  return lines;
}

/** How an answer came about, and how long it took. */
function cost(outcome: Outcome): string[] {
  if (!("found" in outcome)) return [];
  const { statistics, engine } = outcome.found;
  const seconds = Object.values(statistics.seconds ?? {}).reduce((sum, one) => sum + one, 0);
  const nodes = statistics["circuit_nodes"];
  const size = typeof nodes === "number" ? ` · ${nodes} nodes` : "";
  return [`${engine}${size} · ${(1000 * seconds).toFixed(1)} ms`];
}
