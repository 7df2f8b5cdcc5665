/** Sliders for the numbers that a program says. */

import { h } from "./dom";

export interface Slider {
  name: string;
  label: string;
  line: number;
  ends: number[];
  instances: number;
  rivals: string[];
  writable: boolean; // whether it stands in the program as a number
}

/** A position as one would write it in the program. */
function written(end: number): string {
  return String(Number(end.toPrecision(6)));
}

export type Positions = Record<string, number[]>;

/** The sliders of a program's text; `moved` is called with all positions and the name moved last. */
export class Sliders {
  readonly view: HTMLElement;
  private inputs = new Map<string, HTMLInputElement[]>();
  private numbers = new Map<string, HTMLInputElement[]>();
  positions: Positions = {};
  private last = ""; // the name moved last, "" where all are as written
  private readonly reset: HTMLButtonElement;
  private readonly write: HTMLButtonElement;

  constructor(
    readonly text: string,
    private readonly sliders: Slider[],
    left: number, // sliders that are not shown
    private readonly moved: (positions: Positions, last: string) => void,
    go: (line: number) => void,
    write: (positions: Positions) => void,
  ) {
    this.reset = h("button", { class: "quiet", type: "button", hidden: true, onclick: () => this.back() }, "as written");
    const title = "Put the numbers of the sliders into the program";
    const put = () => write(this.positions);
    this.write = h("button", { class: "quiet", type: "button", hidden: true, title, onclick: put }, "write into the program");
    const head = h("div", { class: "sliders-head" }, h("h2", {}, "What if?"), h("span", {}, this.write, " ", this.reset));
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
      this.numbers.get(slider.name)?.forEach((field, i) => {
        if (document.activeElement !== field) field.value = written(ends[i] ?? 0);
      });
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
    const fields = slider.ends.map((end, i) => {
      const which = several ? (i === 0 ? "lower " : "upper ") : "";
      const field = h("input", {
        class: "number",
        type: "text",
        inputmode: "decimal",
        "aria-label": `${which}number for ${slider.label}`,
        onchange: () => this.type(slider, i),
      });
      field.value = written(end);
      return field;
    });
    this.numbers.set(slider.name, fields);
    const many = slider.instances > 1 ? `×${slider.instances}` : "";
    const label = h(
      "button",
      { class: "label", type: "button", title: `line ${slider.line}`, onclick: () => go(slider.line) },
      h("code", {}, slider.label),
      many && h("small", { title: `${slider.instances} instances move together` }, many),
    );
    return h("div", { class: "slider" }, label, h("div", { class: "ranges" }, ...inputs), h("span", { class: "typed" }, ...fields));
  }

  /** A number was typed: where it is a probability, the slider goes there. */
  private type(slider: Slider, which: number): void {
    const field = this.numbers.get(slider.name)?.[which];
    if (!field) return;
    const value = Number(field.value.trim().replace(",", "."));
    const good = field.value.trim() !== "" && value >= 0 && value <= 1;
    field.setCustomValidity(good ? "" : "A probability is a number from 0 to 1.");
    field.reportValidity();
    if (!good) return;
    const ends = (this.positions[slider.name] ?? slider.ends).slice();
    ends[which] = value;
    this.move(slider, which, ends);
  }

  private change(slider: Slider, which: number): void {
    const inputs = this.inputs.get(slider.name) ?? [];
    this.move(slider, which, inputs.map((input, i) => (i === which ? Number(input.value) : (this.positions[slider.name] ?? slider.ends)[i] ?? 0)));
  }

  private move(slider: Slider, which: number, ends: number[]): void {
    // The ends of an interval push each other.
    if (ends.length === 2 && (ends[0] ?? 0) > (ends[1] ?? 0)) {
      ends.fill(ends[which] ?? 0);
    }
    this.positions = { ...this.positions, [slider.name]: ends };
    this.inputs.get(slider.name)?.forEach((input, i) => (input.value = String(ends[i] ?? 0)));
    this.numbers.get(slider.name)?.forEach((field, i) => (field.value = written(ends[i] ?? 0)));
    this.reset.hidden = false;
    this.write.hidden = !this.sliders.some((one) => one.writable);
    this.last = slider.name;
    this.again();
  }

  private back(): void {
    this.show({});
    for (const slider of this.sliders)
      this.inputs.get(slider.name)?.forEach((input, i) => (input.value = String(slider.ends[i] ?? 0)));
    this.reset.hidden = this.write.hidden = true;
    this.last = "";
    this.again();
  }
}
