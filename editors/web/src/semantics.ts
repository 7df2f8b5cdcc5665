/** The semantics as buttons: a row for each probabilistic one, a column for each logic one. */

import { h } from "./dom";

export class Semantics {
  private buttons = new Map<string, HTMLButtonElement>();
  private chosen = new Set<string>();
  private readonly words: Record<string, string>;
  touched = false; // chosen by hand since the program was opened
  private readonly meaning = h("p", { class: "meaning", "aria-live": "polite" });

  constructor(
    parent: HTMLElement,
    logics: Record<string, string>,
    probabilities: Record<string, string>,
    private readonly changed: () => void,
  ) {
    this.words = { ...logics, ...probabilities };
    parent.after(this.meaning);
    parent.append(h("span"), ...Object.entries(logics).map(([name, about]) => h("span", { class: "head", title: about }, name)));
    for (const [probability, how] of Object.entries(probabilities)) {
      parent.append(h("span", { class: "head", title: how }, probability));
      for (const [logic, what] of Object.entries(logics)) {
        const name = `${logic}, ${probability}`;
        const button = h("button", {
          type: "button",
          class: probability,
          "aria-pressed": "false",
          "aria-label": name,
          title: `${name}\n${what}; ${how}`,
          onclick: () => this.toggle(name),
        });
        this.buttons.set(name, button);
        parent.append(button);
      }
    }
  }

  /** Those that are chosen, in the order of the buttons. */
  get names(): string[] {
    return [...this.buttons.keys()].filter((name) => this.chosen.has(name));
  }

  /** Choose those that there are; whether there are any. */
  set(names: string[]): boolean {
    const known = names.filter((name) => this.buttons.has(name));
    if (!known.length) return false;
    this.chosen = new Set(known);
    this.show();
    return true;
  }

  private toggle(name: string): void {
    if (this.chosen.has(name) && this.chosen.size > 1) this.chosen.delete(name);
    else this.chosen.add(name);
    this.touched = true;
    this.show();
    this.changed();
  }

  /** Press the buttons, and say what each chosen word means. */
  private show(): void {
    for (const [name, button] of this.buttons) button.setAttribute("aria-pressed", String(this.chosen.has(name)));
    const words = [...new Set(this.names.flatMap((name) => name.split(", ")))];
    const parts = words.flatMap((word, i) => [i ? "; " : "", h("b", {}, word), `: ${this.words[word] ?? ""}`]);
    this.meaning.replaceChildren(...parts);
  }
}
