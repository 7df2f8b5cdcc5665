/** Taking results away: answers as text, JSON and CSV, pictures as SVG and PNG. */

import { ends, type Answer, type Outcome } from "./answers";
import { h } from "./dom";

const WIDTH = 760; // of a picture of answers
const LINE = 26; // the height of a row
const LEFT = 330; // where the bars begin
const BAR = 250; // from 0 to 1
const SCALE = 2; // pixels of a PNG for one of an SVG

/** The answers under each semantics, in order. */
function listed(outcomes: Map<string, Outcome>): [string, Answer][] {
  return [...outcomes].flatMap(([name, one]) =>
    "found" in one ? one.found.answers.map((answer): [string, Answer] => [name, answer]) : [],
  );
}

/** A line an answer, as the command line prints it. */
export function asText(outcomes: Map<string, Outcome>): string {
  const several = outcomes.size > 1;
  return listed(outcomes)
    .map(([name, one]) => `${several ? `${name}: ` : ""}${one.kind === "probability" ? `ℙ(${one.query}) = ` : one.name ? `${one.name} = ` : ""}${one.text}\n`)
    .join("");
}

export function asJson(outcomes: Map<string, Outcome>): string {
  const records = listed(outcomes).map(([semantics, { text: _, name: __, ...answer }]) => ({ semantics, ...answer }));
  return `${JSON.stringify(records, null, 2)}\n`;
}

/** A row an answer; the columns that an answer does not have are empty. */
export function asCsv(outcomes: Map<string, Outcome>): string {
  const quoted = (value: unknown) => {
    const text = value === undefined ? "" : String(value);
    return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const rows = listed(outcomes).map(([semantics, one]) => [semantics, one.query, one.kind, one.value, one.lower, one.upper, one.exact ?? true]);
  return [["semantics", "query", "kind", "value", "lower", "upper", "exact"], ...rows].map((row) => `${row.map(quoted).join(",")}\n`).join("");
}

/** The bars of the answers as a picture. */
export function asPicture(outcomes: Map<string, Outcome>): string {
  const rows = listed(outcomes).filter(([, one]) => one.kind === "probability");
  const several = outcomes.size > 1;
  const escaped = (text: string) => text.replace(/[&<>"]/g, (letter) => `&#${letter.charCodeAt(0)};`);
  const cut = (text: string) => (text.length > 44 ? `${text.slice(0, 43)}…` : text);
  const parts = rows.map(([name, one], i) => {
    const numbers = ends(one);
    const low = numbers.length > 1 ? (numbers[0] ?? 0) : 0;
    const high = numbers[numbers.length - 1] ?? 0;
    const y = LINE * (i + 1);
    const label = escaped(cut(`ℙ(${one.query})${several ? ` · ${name}` : ""}`));
    const width = Math.max(BAR * (high - low), 1.5);
    const look = one.exact === false ? 'fill="#9ec5e8" stroke="#0b6bb0" stroke-dasharray="3 2"' : 'fill="#0b6bb0"';
    return (
      `<text x="8" y="${y + 5}">${label}</text>` +
      `<rect x="${LEFT}" y="${y - 6}" width="${BAR}" height="12" fill="#e6e9ee"/>` +
      `<rect x="${LEFT + BAR * low}" y="${y - 6}" width="${width}" height="12" ${look}/>` +
      `<text x="${LEFT + BAR + 12}" y="${y + 5}">${escaped(cut(one.text))}</text>`
    );
  });
  const height = LINE * (rows.length + 1);
  const head = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}"`;
  return `${head} font-family="sans-serif" font-size="13"><rect width="100%" height="100%" fill="#fff"/>${parts.join("")}</svg>`;
}

/** Offer something as a file. */
export function download(name: string, content: Blob): void {
  const url = URL.createObjectURL(content);
  h("a", { href: url, download: name }).click();
  window.setTimeout(() => URL.revokeObjectURL(url), 1000);
}

/** Offer a picture as SVG or as PNG. */
export async function downloadPicture(name: string, svg: string, kind: "svg" | "png"): Promise<void> {
  if (kind === "svg") return download(`${name}.svg`, new Blob([svg], { type: "image/svg+xml" }));
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await image.decode();
  const canvas = h("canvas", { width: SCALE * image.width, height: SCALE * image.height });
  const paper = canvas.getContext("2d");
  if (!paper) return;
  paper.fillStyle = "#fff";
  paper.fillRect(0, 0, canvas.width, canvas.height);
  paper.drawImage(image, 0, 0, canvas.width, canvas.height);
  const content = await new Promise<Blob | null>((done) => canvas.toBlob(done, "image/png"));
  if (content) download(`${name}.png`, content);
}

/** A line of small buttons after a word. */
export function buttons(word: string, actions: Record<string, () => void>): HTMLElement {
  const made = Object.entries(actions).map(([text, action]) =>
    h("button", { class: "quiet", type: "button", "aria-label": `${word} ${text}`, onclick: action }, text),
  );
  return h("p", { class: "exports" }, h("span", { class: "note faint" }, `${word}:`), ...made);
}
