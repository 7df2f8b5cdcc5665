/** Models to step through, those of the most probable total choices first. */

import { interval } from "./answers";
import { h } from "./dom";

interface Model {
  choice: string[];
  probability: number[];
  true: string[];
  undefined: string[];
}

export interface Models {
  models: Model[];
  more: boolean;
}

export class Stepper {
  readonly view = h("div", { class: "models" });
  private models: Model[] = [];
  private more = true;
  private at = 0;

  constructor(private readonly ask: (first: number) => Promise<Models>) {}

  async start(): Promise<void> {
    await this.load();
    this.draw();
  }

  private async load(): Promise<void> {
    const { models, more } = await this.ask(this.models.length);
    this.models.push(...models);
    this.more = more;
  }

  private async go(to: number): Promise<void> {
    try {
      if (to >= this.models.length && this.more) await this.load();
    } catch (error) {
      this.view.append(h("p", { class: "note problem" }, (error as Error).message));
      return;
    }
    this.at = Math.max(0, Math.min(to, this.models.length - 1));
    this.draw();
  }

  private draw(): void {
    const model = this.models[this.at];
    if (!model) {
      this.view.replaceChildren(h("p", { class: "note" }, "There is no model."));
      return;
    }
    const last = this.at === this.models.length - 1 && !this.more;
    const button = (text: string, label: string, to: number, disabled: boolean) =>
      h("button", { type: "button", "aria-label": label, disabled, onclick: () => void this.go(to) }, text);
    const total = `${this.models.length}${this.more ? " or more" : ""}`;
    const bar = h(
      "div",
      { class: "stepper" },
      button("‹", "Previous model", this.at - 1, this.at === 0),
      h("p", { role: "status" }, h("b", {}, `Model ${this.at + 1} of ${total}`), this.place(model)),
      button("›", "Next model", this.at + 1, last),
    );
    const chosen = `chosen with probability ${interval(short(model.probability))}`;
    this.view.replaceChildren(
      bar,
      chips(chosen, model.choice, "choice"),
      chips("true", model.true, "true"),
      model.undefined.length ? chips("undefined", model.undefined, "undefined") : h("span"),
    );
  }

  /** Which model of its total choice it is, where that has several. */
  private place(model: Model): string {
    const same = this.models.filter((one) => one.choice.join() === model.choice.join());
    if (same.length === 1) return "";
    return ` · ${same.indexOf(model) + 1} of ${same.length} for this total choice`;
  }
}

/** One number where both are the same. */
function short(numbers: number[]): number[] {
  return numbers[0] === numbers[numbers.length - 1] ? numbers.slice(0, 1) : numbers;
}

function chips(title: string, texts: string[], kind: string): HTMLElement {
  const items = texts.map((text) => h("li", { class: text.startsWith("not ") ? `${kind} off` : kind }, text));
  return h(
    "section",
    { class: "chips" },
    h("h3", {}, title),
    texts.length ? h("ul", {}, ...items) : h("p", { class: "note" }, "nothing"),
  );
}
