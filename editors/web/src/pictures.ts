/** Images that a small network looks at, in this page: its outputs are numbers of the program. */

import { h } from "./dom";

const SIZE = 8; // pixels a side
const INK = 16; // the darkest

interface Layer {
  weights: number[][]; // by unit
  biases: number[];
}

export interface Pictured {
  images: number[]; // which drawing each image begins with
  drawings: { name: string; pixels: number[] }[];
  network: Layer[];
}

/** The statement with the network's outputs for an image, as thousandths that sum to 1. */
export function statement(image: number, outputs: number[]): string {
  const parts = outputs.map((p) => Math.floor(1000 * p));
  const rest = 1000 - parts.reduce((sum, one) => sum + one, 0);
  const order = outputs.map((p, i) => [1000 * p - (parts[i] ?? 0), i] as const).sort((a, b) => b[0] - a[0] || a[1] - b[1]);
  for (const [, i] of order.slice(0, rest)) parts[i] = (parts[i] ?? 0) + 1;
  const heads = parts.map((one, digit) => (one ? `${one / 1000}::digit(${image},${digit})` : "")).filter(Boolean);
  return `${heads.join("; ")}.`;
}

/** Where the statement about an image stands in a program. */
export function place(image: number): RegExp {
  return new RegExp(String.raw`(?:[\d.]+::digit\(${image},\s*\d\)\s*;\s*)*[\d.]+::digit\(${image},\s*\d\)\s*\.`);
}

/** What the network makes of pixels: probabilities of the digits. */
export function look(network: Layer[], pixels: number[]): number[] {
  let values = pixels.map((grey) => grey / INK);
  network.forEach((layer, depth) => {
    const sums = layer.weights.map((row, unit) => row.reduce((sum, weight, i) => sum + weight * (values[i] ?? 0), layer.biases[unit] ?? 0));
    values = depth < network.length - 1 ? sums.map((one) => Math.max(0, one)) : sums;
  });
  const most = Math.max(...values);
  const powers = values.map((one) => Math.exp(one - most));
  const total = powers.reduce((sum, one) => sum + one, 0);
  return powers.map((one) => one / total);
}

/** The images of an example; `changed` is called with what the network says about one of them. */
export class Pictures {
  readonly view = h("section", { class: "images", "aria-label": "What the network looks at" });

  constructor(
    private readonly given: Pictured,
    private readonly changed: (image: number, outputs: number[]) => void,
  ) {
    this.view.append(...given.images.map((first, image) => this.picture(image, first)));
  }

  private picture(image: number, first: number): HTMLElement {
    const drawing = (which: number) => (this.given.drawings[which]?.pixels ?? Array<number>(SIZE * SIZE).fill(0)).slice();
    let pixels = drawing(first);
    const canvas = h("canvas", { width: SIZE, height: SIZE, role: "img", "aria-label": `image ${image}` });
    const seen = () => {
      draw(canvas, pixels);
      this.changed(image, look(this.given.network, pixels));
    };
    const menu = h(
      "select",
      {
        "aria-label": `Another image ${image}`,
        onchange: () => {
          pixels = drawing(Number(menu.value));
          seen();
        },
      },
      ...this.given.drawings.map((one, i) => h("option", { value: i, selected: i === first }, one.name)),
      h("option", { value: -1, hidden: true }, "drawn"),
    );
    const empty = () => {
      pixels = drawing(-1);
      menu.value = "-1";
      draw(canvas, pixels);
    };
    const clear = h("button", { type: "button", class: "quiet", "aria-label": `Clear image ${image}`, onclick: empty }, "clear");
    const ink = (event: PointerEvent) => {
      if (!event.buttons) return;
      const box = canvas.getBoundingClientRect();
      menu.value = "-1";
      stroke(pixels, ((event.clientX - box.left) / box.width) * SIZE, ((event.clientY - box.top) / box.height) * SIZE);
      draw(canvas, pixels);
    };
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      ink(event);
    });
    canvas.addEventListener("pointermove", ink);
    canvas.addEventListener("pointerup", seen);
    draw(canvas, pixels);
    return h("figure", {}, canvas, h("figcaption", {}, `image ${image} `, menu, " ", clear));
  }
}

/** Darken the pixels around a place. */
function stroke(pixels: number[], x: number, y: number): void {
  for (let at = 0; at < pixels.length; at += 1) {
    const distance = Math.hypot((at % SIZE) + 0.5 - x, Math.floor(at / SIZE) + 0.5 - y);
    const grey = Math.round(INK * Math.max(0, Math.min(1, 1.4 - distance)));
    pixels[at] = Math.max(pixels[at] ?? 0, grey);
  }
}

function draw(canvas: HTMLCanvasElement, pixels: number[]): void {
  const paper = canvas.getContext("2d");
  if (!paper) return;
  paper.clearRect(0, 0, SIZE, SIZE);
  pixels.forEach((grey, at) => {
    paper.fillStyle = `rgb(0 0 0 / ${grey / INK})`;
    paper.fillRect(at % SIZE, Math.floor(at / SIZE), 1, 1);
  });
}
