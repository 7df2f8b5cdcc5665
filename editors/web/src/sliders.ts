/** Sliders for the numbers that a program says. */

import { h } from "./dom";

export interface Slider {
  name: string;
  label: string;
  line: number;
  ends: number[];
  instances: number;
  rivals: string[];
}

/** A position as one would write it in the program. */
function written(ends: number[]): string {
  const texts = ends.map((end) => String(Number(end.toPrecision(6))));
  return texts.length === 1 ? (texts[0] ?? "") : `[${texts.join(", ")}]`;
}

export type Positions = Record<string, number[]>;

/** The sliders of a program's text; `moved` is called with all positions and the name moved last. */
export class Sliders {
  readonly view: HTMLElement;
  private inputs = new Map<string, HTMLInputElement[]>();
  private numbers = new Map<string, HTMLElement>();
  private positions: Positions = {};
  private last = ""; // the name moved last, "" where all are as written
  private readonly reset: HTMLButtonElement;

  constructor(
    readonly text: string,
    private readonly sliders: Slider[],
    left: number, // sliders that are not shown
    private readonly moved: (positions: Positions, last: string) => void,
    go: (line: number) => void,
  ) {
    this.reset = h("button", { class: "quiet", type: "button", hidden: true, onclick: () => this.back() }, "as written");
    const head = h("div", { class: "sliders-head" }, h("h2", {}, "What if?"), this.reset);
    this.view = h("section", { class: "sliders", "aria-label": "Sliders for the probabilities" }, head);
    for (const slider of sliders) this.view.append(this.row(slider, go));
    if (left) this.view.append(h("p", { class: "note" }, `and ${left} more numbers without a slider`));
  }

  /** Ask once more for the positions as they are. */
  again(): void {
    this.moved(this.positions, this.last);
  }

  /** Show positions, as those that give way to another. */
  show(positions: Positions): void {
    for (const slider of this.sliders) {
      const ends = positions[slider.name] ?? slider.ends;
      this.inputs.get(slider.name)?.forEach((input, i) => {
        if (document.activeElement !== input) input.value = String(ends[i] ?? 0);
      });
      const number = this.numbers.get(slider.name);
      if (number) number.textContent = written(ends);
    }
    this.positions = positions;
  }

  private row(slider: Slider, go: (line: number) => void): HTMLElement {
    const several = slider.ends.length > 1;
    const inputs = slider.ends.map((end, i) => {
      const which = several ? (i === 0 ? "lower " : "upper ") : "";
      const input = h("input", {
        type: "range",
        min: 0,
        max: 1,
        step: 0.01,
        "aria-label": `${which}probability of ${slider.label}`,
        oninput: () => this.change(slider, i),
      });
      input.value = String(end);
      return input;
    });
    this.inputs.set(slider.name, inputs);
    const number = h("output", { class: "number" }, written(slider.ends));
    this.numbers.set(slider.name, number);
    const many = slider.instances > 1 ? `×${slider.instances}` : "";
    const label = h(
      "button",
      { class: "label", type: "button", title: `line ${slider.line}`, onclick: () => go(slider.line) },
      h("code", {}, slider.label),
      many && h("small", { title: `${slider.instances} instances move together` }, many),
    );
    return h("div", { class: "slider" }, label, h("div", { class: "ranges" }, ...inputs), number);
  }

  private change(slider: Slider, which: number): void {
    const inputs = this.inputs.get(slider.name) ?? [];
    const ends = inputs.map((input) => Number(input.value));
    // The ends of an interval push each other.
    if (ends.length === 2 && (ends[0] ?? 0) > (ends[1] ?? 0)) {
      const own = ends[which] ?? 0;
      ends.fill(own);
      inputs.forEach((input) => (input.value = String(own)));
    }
    this.positions = { ...this.positions, [slider.name]: ends };
    const number = this.numbers.get(slider.name);
    if (number) number.textContent = written(ends);
    this.reset.hidden = false;
    this.last = slider.name;
    this.again();
  }

  private back(): void {
    this.show({});
    for (const slider of this.sliders)
      this.inputs.get(slider.name)?.forEach((input, i) => (input.value = String(slider.ends[i] ?? 0)));
    this.reset.hidden = true;
    this.last = "";
    this.again();
  }
}
