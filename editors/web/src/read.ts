/** Pages of the documentation (Markdown), as elements. */

import { h } from "./dom";

/** What a link inside a page leads to: another page, or null where there is none. */
export type Lead = (name: string) => (() => void) | null;

const FENCE = /^\s*```/;
const ITEM = /^(\s*)(?:[-*]|\d+\.) +(.*)$/;
const INLINE = /`([^`]+)`|\*\*([^*]+)\*\*|\*([^*\s][^*]*)\*|!\[([^\]]*)\]\([^)]*\)|\[([^\]]+)\]\(([^)\s]+)\)/g;

/** A whole page: headings, paragraphs, lists, tables and code. */
export function pageView(text: string, lead: Lead): HTMLElement {
  const view = h("article", { class: "page" });
  const lines = text.split("\n");
  let at = 0;
  const take = (belongs: (line: string) => boolean): string[] => {
    const from = at;
    while (at < lines.length && belongs(lines[at] ?? "")) at += 1;
    return lines.slice(from, at);
  };
  while (at < lines.length) {
    const line = lines[at] ?? "";
    const heading = /^(#{1,4}) (.*)$/.exec(line);
    if (FENCE.test(line)) {
      at += 1;
      const code = take((one) => !FENCE.test(one));
      at += 1;
      view.append(h("pre", {}, code.join("\n")));
    } else if (heading) {
      at += 1;
      const level = Math.min((heading[1] ?? "").length + 1, 4);
      view.append(h(`h${level}` as "h2", {}, ...inline(heading[2] ?? "", lead)));
    } else if (line.startsWith(">")) {
      const said = take((one) => one.startsWith(">")).map((one) => one.replace(/^> ?/, ""));
      view.append(h("blockquote", {}, ...inline(said.join(" "), lead)));
    } else if (line.startsWith("|")) {
      view.append(table(take((one) => one.startsWith("|")), lead));
    } else if (ITEM.test(line)) {
      view.append(list(take((one) => ITEM.test(one) || /^\s+\S/.test(one)), lead));
    } else if (/^ {4}\S/.test(line)) {
      view.append(h("pre", {}, take((one) => /^ {4}/.test(one)).join("\n").replace(/^ {4}/gm, "")));
    } else if (line.trim()) {
      const words = take((one) => Boolean(one.trim()) && !FENCE.test(one) && !ITEM.test(one) && !/^(#|\||>)/.test(one));
      if (words.length) view.append(h("p", {}, ...inline(words.join(" "), lead)));
      else at += 1;
    } else at += 1;
  }
  return view;
}

function list(lines: string[], lead: Lead): HTMLElement {
  const items: string[] = [];
  for (const line of lines) {
    const item = ITEM.exec(line);
    if (item) items.push(item[2] ?? "");
    else items.push(`${items.pop() ?? ""} ${line.trim()}`);
  }
  return h("ul", {}, ...items.map((item) => h("li", {}, ...inline(item, lead))));
}

function table(lines: string[], lead: Lead): HTMLElement {
  const cells = (line: string) => line.replace(/^\||\|\s*$/g, "").split(/(?<!\\)\|/).map((one) => one.replaceAll("\\|", "|").trim());
  const [head = "", , ...rows] = lines;
  const row = (line: string, tag: "th" | "td") => h("tr", {}, ...cells(line).map((cell) => h(tag, {}, ...inline(cell, lead))));
  return h("div", { class: "wide" }, h("table", {}, h("thead", {}, row(head, "th")), h("tbody", {}, ...rows.map((one) => row(one, "td")))));
}

/** Code, emphasis and links within a line; pictures are left out. */
export function inline(text: string, lead: Lead = () => null): (Node | string)[] {
  const parts: (Node | string)[] = [];
  let last = 0;
  for (const match of text.matchAll(INLINE)) {
    const [whole, code, bold, italic, picture, label, url] = match;
    parts.push(text.slice(last, match.index));
    last = match.index + whole.length;
    if (code !== undefined) parts.push(h("code", {}, code));
    else if (bold !== undefined) parts.push(h("b", {}, ...inline(bold, lead)));
    else if (italic !== undefined) parts.push(h("em", {}, italic));
    else if (picture === undefined && label !== undefined) parts.push(link(label, url ?? "", lead));
  }
  return [...parts, text.slice(last)].filter((part) => part !== "");
}

function link(label: string, url: string, lead: Lead): Node {
  if (/^https?:/.test(url)) return h("a", { href: url, target: "_blank", rel: "noopener noreferrer" }, ...inline(label));
  const open = lead(/^([\w-]+)\.md/.exec(url)?.[1] ?? "");
  return open ? h("button", { type: "button", class: "quiet", onclick: open }, ...inline(label)) : h("span", {}, ...inline(label));
}
