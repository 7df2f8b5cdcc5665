/** Models to step through, those of the most probable total choices first. */

import { number } from "./answers";
import { h } from "./dom";

interface Model {
  true: string[];
  undefined: string[];
}

interface TotalChoice {
  choices: string[];
  probability: number;
  models: Model[];
}

export interface Models {
  first: number;
  total: number;
  found: TotalChoice[];
}

interface Step {
  choice: TotalChoice;
  place: number; // of the total choice, from 1
  model: Model | null;
  number: number;
}

export class Stepper {
  readonly view = h("div", { class: "models" });
  private steps: Step[] = [];
  private at = 0;
  private total = 0;
  private loaded = 0;

  constructor(private readonly more: (first: number) => Promise<Models>) {}

  async start(): Promise<void> {
    this.steps = [];
    this.at = this.loaded = 0;
    await this.load();
    this.draw();
  }

  private async load(): Promise<void> {
    const { first, total, found } = await this.more(this.loaded);
    this.total = total;
    found.forEach((choice, i) => {
      const models: (Model | null)[] = choice.models.length ? choice.models : [null];
      models.forEach((model, k) => this.steps.push({ choice, place: first + i + 1, model, number: k + 1 }));
    });
    this.loaded = first + found.length;
  }

  private async go(to: number): Promise<void> {
    if (to >= this.steps.length && this.loaded < this.total) await this.load();
    this.at = Math.max(0, Math.min(to, this.steps.length - 1));
    this.draw();
  }

  private draw(): void {
    const step = this.steps[this.at];
    if (!step) {
      this.view.replaceChildren(h("p", { class: "note" }, "There is nothing to step through."));
      return;
    }
    const { choice, place, model } = step;
    const many = choice.models.length;
    const last = this.at === this.steps.length - 1 && this.loaded >= this.total;
    const button = (text: string, label: string, to: number, disabled: boolean) =>
      h("button", { type: "button", "aria-label": label, disabled, onclick: () => void this.go(to) }, text);
    const bar = h(
      "div",
      { class: "stepper" },
      button("‹", "Previous model", this.at - 1, this.at === 0),
      h(
        "p",
        { role: "status" },
        h("b", {}, `Total choice ${place} of ${this.total}`),
        ` · probability ${number(choice.probability)} · `,
        many ? `model ${step.number} of ${many}` : "no model",
      ),
      button("›", "Next model", this.at + 1, last),
    );
    this.view.replaceChildren(
      bar,
      chips("chosen", choice.choices, "choice"),
      model
        ? chips("true", model.true, "true", "nothing is true")
        : h("p", { class: "note problem" }, "This total choice has no model: it is inconsistent."),
      model?.undefined.length ? chips("undefined", model.undefined, "undefined") : h("span"),
    );
  }
}

function chips(title: string, texts: string[], kind: string, nothing = "nothing"): HTMLElement {
  const items = texts.map((text) => h("li", { class: text.startsWith("not ") ? `${kind} off` : kind }, text));
  return h(
    "section",
    { class: "chips" },
    h("h3", {}, title),
    texts.length ? h("ul", {}, ...items) : h("p", { class: "note" }, nothing),
  );
}
