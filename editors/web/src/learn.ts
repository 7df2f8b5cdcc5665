/** Learning: a table of observations, the numbers that make it most probable, and the curve. */

import { h } from "./dom";

export interface Learned {
  text: string; // the program with what was learned
  learned: { rule: string; line: number; values: number[]; errors?: (number | null)[]; error_reasons?: string[] }[];
  examples: number;
  words: string;
  stopped: string; // why it ended before its end
  svg: string;
}

export const NOTHING = "This program has nothing to learn. A number that is to be learned is a question mark, with a first guess or without:";
export const EXAMPLE = "?::flu.\n0.5?::fever :- flu.";
const HINT = "flu,fever\n1,1\n0,1\n0,";

/** The field for the table and what was learned from it; it stays when other tabs are looked at. */
export class Learning {
  readonly field = h("textarea", {
    rows: 8,
    spellcheck: "false",
    "aria-label": "Table of observations",
    placeholder: HINT,
    oninput: () => this.changed(this.text),
  });
  private readonly button = h("button", { type: "button", class: "main", onclick: () => this.learn(this.field.value) }, "Learn");
  private text = ""; // the program that it was learned for
  private table = "";
  private readonly found = h("div", { class: "learned", role: "status" });
  readonly view = h(
    "div",
    { class: "learning" },
    h("p", { class: "note" }, "One column for each atom, one row for each example: 1 is true, 0 is false, an empty cell was not observed. A column of values is named after its predicate, such as ", h("code", {}, "weather"), " with the value ", h("code", {}, "sun"), "."),
    this.field,
    h("p", {}, this.button),
    this.found,
  );

  constructor(
    private readonly learn: (table: string) => void,
    private readonly write: (text: string) => void,
  ) {}

  /** Grey what was learned for another program, or from another table. */
  changed(text: string): void {
    this.found.classList.toggle("stale", text !== this.text || this.field.value !== this.table);
  }

  /** What was learned before is forgotten. */
  begin(): void {
    this.found.classList.remove("stale");
    this.found.replaceChildren(h("p", { class: "note" }, "Learning… (the first time takes some seconds to start)"));
  }

  say(message: string, help = ""): void {
    this.found.classList.remove("stale");
    this.found.replaceChildren(h("p", { class: "note problem" }, message), help && h("p", { class: "note" }, help));
  }

  show(result: Learned, text: string): void {
    this.text = text;
    this.table = this.field.value;
    const rows = result.learned.flatMap((one) =>
      one.values.map((value, i) => [i ? "" : one.rule, number(value), precision(one.errors?.[i], one.error_reasons?.[i])] as const),
    );
    const table = h(
      "table",
      {},
      h("thead", {}, h("tr", {}, ...["learned", "number", "standard error"].map((text) => h("th", { scope: "col" }, text)))),
      h("tbody", {}, ...rows.map(([rule, value, error]) => h("tr", {}, h("td", {}, h("code", {}, rule)), h("td", { class: "number" }, value), h("td", {}, error)))),
    );
    const picture = h("div", { class: "picture" });
    picture.innerHTML = result.svg; // made by us, every text in it escaped
    const put = h("button", { type: "button", class: "quiet", onclick: () => this.write(result.text) }, "write into the program");
    const stopped = result.stopped ? h("p", { class: "note problem" }, `${result.stopped}; this is what was found by then.`) : null;
    this.found.classList.remove("stale");
    this.found.replaceChildren(h("p", { class: "note" }, result.words), ...(stopped ? [stopped] : []), table, put, picture);
  }
}

function number(value: number): string {
  return value.toFixed(6);
}

function precision(error: number | null | undefined, reason: string | undefined): string {
  return typeof error === "number" ? `± ${error.toPrecision(2)}` : (reason ?? "");
}
