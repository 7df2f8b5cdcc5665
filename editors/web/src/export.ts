/** Taking results away: answers as text, JSON and CSV, pictures as SVG and PNG. */

import { ends, type Answer, type Outcome } from "./answers";
import { h } from "./dom";

const LETTER = 7.4; // the width of a letter in a picture of answers
const LINE = 26; // the height of a row
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
  const labels = rows.map(([name, one]) => `ℙ(${one.query})${several ? ` · ${name}` : ""}`);
  const room = (texts: string[]) => Math.ceil(LETTER * Math.max(0, ...texts.map((text) => text.length))) + 16;
  const left = room(labels); // where the bars begin
  const width = left + BAR + 8 + room(rows.map(([, one]) => one.text));
  const parts = rows.map(([, one], i) => {
    const numbers = ends(one);
    const low = numbers.length > 1 ? (numbers[0] ?? 0) : 0;
    const high = numbers[numbers.length - 1] ?? 0;
    const y = LINE * (i + 1);
    const label = escaped(labels[i] ?? "");
    const long = Math.max(BAR * (high - low), 1.5);
    const [least, most] = one.interval ?? [];
    const whisker =
      one.exact === false && least !== undefined && most !== undefined
        ? `<path d="M${left + BAR * least},${y - 9}v18m0,-9H${left + BAR * most}m0,-9v18" fill="none" stroke="#1d2433"/>`
        : "";
    const look = one.exact === false ? 'fill="#9ec5e8" stroke="#0b6bb0" stroke-dasharray="3 2"' : 'fill="#0b6bb0"';
    return (
      `<text x="8" y="${y + 5}">${label}</text>` +
      `<rect x="${left}" y="${y - 6}" width="${BAR}" height="12" fill="#e6e9ee"/>` +
      `<rect x="${left + BAR * low}" y="${y - 6}" width="${long}" height="12" ${look}/>` +
      `${whisker}<text x="${left + BAR + 12}" y="${y + 5}">${escaped(one.text)}</text>`
    );
  });
  const height = LINE * (rows.length + 1);
  const head = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}"`;
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
