/** Small helpers for elements: made from a tag, attributes and children. */

type Child = Node | string | null | undefined | false;
type Attributes = Record<string, string | number | boolean | ((event: Event) => void) | undefined>;

/** An element; attributes that begin with "on" are listeners, false ones are left out. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== undefined) element.setAttribute(name, String(value));
  }
  element.append(...children.filter((child): child is Node | string => Boolean(child)));
  return element;
}

/** The element of the page with an id. */
export function find<T extends HTMLElement = HTMLElement>(id: string): T {
  const element = document.getElementById(id);
  if (!element) throw new Error(`the page has no #${id}`);
  return element as T;
}

/** What runs some time after the last call, once. */
export function later(milliseconds: number, run: () => void): () => void {
  let timer = 0;
  return () => {
    clearTimeout(timer);
    timer = window.setTimeout(run, milliseconds);
  };
}

/** A choice among texts. */
export function select(label: string, options: string[], chosen: string, change: (text: string) => void) {
  const menu = h(
    "select",
    { "aria-label": label, onchange: () => change(menu.value) },
    ...options.map((text) => h("option", { value: text, selected: text === chosen }, text)),
  );
  return menu;
}
