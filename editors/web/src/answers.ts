/** Answers as bars and intervals, side by side for several semantics, and the sliders below. */

import { h } from "./dom";
import type { Diagnostic } from "./talk";

export interface Answer {
  query: string;
  kind: "probability" | "map";
  value?: number;
  lower?: number;
  upper?: number;
  assignment?: Record<string, boolean | "undef">;
  lower_assignment?: Record<string, boolean | "undef">;
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

export type Ends = number[] | null;

/** The numbers of an answer; null where the evidence is impossible. */
export function ends(answer: Answer): number[] {
  return [answer.value, answer.lower, answer.upper].filter((n): n is number => n !== undefined);
}

/** A number as it is shown. */
export function number(value: number): string {
  if (value !== 0 && Math.abs(value) < 0.00005) return value.toExponential(2);
  return value.toFixed(4);
}

export function interval(numbers: number[]): string {
  return numbers.length === 1 ? number(numbers[0] ?? 0) : `[${numbers.map(number).join(", ")}]`;
}

/** A track from 0 to 1 with a bar or a segment; `before` is where it was. */
export function track(numbers: number[], before: number[] | null = null): HTMLElement {
  const kind = numbers.length === 1 ? "value" : "bounds";
  const low = numbers.length === 1 ? 0 : (numbers[0] ?? 0);
  const high = numbers[numbers.length - 1] ?? 0;
  const bar = h("span", { class: "bar" });
  bar.style.left = `${100 * low}%`;
  bar.style.width = `${100 * (high - low)}%`;
  const marks = (numbers.length === 1 ? [high] : [low, high]).map((at) => tick("tick", at));
  const ghosts = (before ?? []).map((at) => tick("tick ghost", at));
  return h("span", { class: `track ${kind}`, "aria-hidden": "true" }, bar, ...ghosts, ...marks);
}

function tick(name: string, at: number): HTMLElement {
  const element = h("span", { class: name });
  element.style.left = `${100 * at}%`;
  return element;
}

export interface Handlers {
  why: (query: string) => void;
}

/** All answers: one block a query, one line a semantics. */
export function answersView(
  outcomes: Map<string, Outcome>,
  moved: Map<string, Map<string, Ends>> | null,
  handlers: Handlers,
): HTMLElement {
  const names = [...outcomes.keys()];
  const queries = new Map<string, Map<string, Answer>>();
  for (const [name, outcome] of outcomes)
    if ("found" in outcome)
      for (const answer of outcome.found.answers) {
        const own = queries.get(answer.query) ?? new Map<string, Answer>();
        queries.set(answer.query, own.set(name, answer));
      }
  const view = h("div", { class: "answers" });
  if (queries.size) view.append(scale());
  for (const [query, answers] of queries) view.append(block(query, answers, names, moved, handlers));
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
  query: string,
  answers: Map<string, Answer>,
  names: string[],
  moved: Map<string, Map<string, Ends>> | null,
  handlers: Handlers,
): HTMLElement {
  const probability = [...answers.values()].some((one) => one.kind === "probability");
  const title = h("code", {}, probability ? `ℙ(${query})` : query);
  const button = h(
    "button",
    { class: "quiet", type: "button", "aria-label": `Why ${query}?`, onclick: () => handlers.why(query) },
    "why?",
  );
  const rows = [...answers].map(([name, answer]) =>
    answer.kind === "map" ? mapRow(name, answer) : row(name, answer, moved?.get(name)?.get(query), names),
  );
  return h("div", { class: "block" }, h("div", { class: "query" }, title, probability && button), ...rows);
}

function row(name: string, answer: Answer, now: Ends | undefined, names: string[]): HTMLElement {
  const own = ends(answer);
  const label = names.length > 1 ? name : "";
  if (now === null)
    return h(
      "div",
      { class: "row" },
      h("span", { class: "name" }, label),
      h("span", { class: "impossible" }, "the evidence is impossible now"),
      h("span"),
    );
  const shown = now ?? own;
  const text = interval(shown);
  return h(
    "div",
    { class: "row", role: "group", "aria-label": `${name}: ${text}` },
    h("span", { class: "name" }, label),
    track(shown, now ? own : null),
    h("output", { class: "number", title: shown.join(" … ") }, text),
  );
}

function mapRow(name: string, answer: Answer): HTMLElement {
  const words = (values: Record<string, boolean | "undef">) =>
    Object.entries(values)
      .map(([atom, value]) => (value === true ? atom : value ? `undef ${atom}` : `not ${atom}`))
      .join(", ") || "nothing";
  const lines = [h("div", {}, h("code", {}, words(answer.assignment ?? {})))];
  if (answer.lower_assignment)
    lines.push(h("div", {}, "greatest lower: ", h("code", {}, words(answer.lower_assignment))));
  return h(
    "div",
    { class: "row" },
    h("span", { class: "name" }, name),
    h("div", { class: "map" }, ...lines),
    h("output", { class: "number" }, interval(ends(answer))),
  );
}

function notes(name: string, outcome: Outcome, several: boolean): HTMLElement[] {
  const prefix = several ? h("b", {}, `${name}: `) : null;
  if ("waiting" in outcome) return [h("p", { class: "note" }, prefix, "…")];
  if ("problem" in outcome)
    return [h("p", { class: "note problem" }, prefix, outcome.problem, outcome.help && h("small", {}, ` ${outcome.help}`))];
  const { found } = outcome;
  const lines: HTMLElement[] = [];
  if (!found.answers.length)
    lines.push(h("p", { class: "note" }, prefix, "The program asks nothing: add a line such as #query a."));
  if (found.left) lines.push(h("p", { class: "note" }, prefix, `and ${found.left} more answers`));
  for (const one of found.warnings) lines.push(h("p", { class: "note" }, prefix, "⚠ ", one.message));
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
