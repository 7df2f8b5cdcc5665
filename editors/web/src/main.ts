/** The playground: a program on the left, what follows from it on the right. */

import { answersView, type Ends, type Found, type Outcome } from "./answers";
import { find, h, later, select } from "./dom";
import { Editor } from "./editor";
import type { Directive } from "./language";
import { Stepper, type Models } from "./models";
import { Semantics } from "./semantics";
import { pack, unpack } from "./share";
import { Sliders, type Positions, type Slider } from "./sliders";
import { Tabs, type Tab } from "./tabs";
import { Refusal, Talk, type Diagnostic } from "./talk";
import { whyView, type Reason } from "./why";

interface About {
  version: string;
  seconds: number;
  megabytes: number;
  logics: Record<string, string>;
  probabilities: Record<string, string>;
  directives: Directive[];
  examples: { name: string; title: string; text: string }[];
}

const STORED = "dpasp-program";
const PATIENCE = 1000; // milliseconds that old work may go on while one types
const about: About = await (await fetch("about.json")).json();

let run = 0; // the latest run; replies to earlier ones are forgotten
let outcomes = new Map<string, Outcome>();
let moved: Map<string, Map<string, Ends>> | null = null;
let sliders: Sliders | null = null;
let asked: { query: string; semantics: string } | null = null; // on the tab "why"
let sound = false; // the program has no mistakes

const talk = new Talk(connection, (count) => {
  if (count) waitLong();
  else find("working").hidden = true;
});
const waitLong = later(400, () => (find("working").hidden = talk.working === 0));
const semantics = new Semantics(find("semantics"), about.logics, about.probabilities, () => void answer());
const tabs = new Tabs((tab) => void refresh(tab));
const editor = new Editor(
  find("editor"),
  about.examples[0]?.text ?? "",
  { changed, run: () => void start() },
  about.directives,
  { ...about.logics, ...about.probabilities },
);
const soon = later(350, () => void start());

/** The program is another one: long work on the old one ends, the new one is read soon. */
function changed(): void {
  if (talk.working > PATIENCE) talk.stop();
  soon();
}

// --- the program ----------------------------------------------------------------------------

function connection(state: "open" | "closed" | "forbidden"): void {
  if (state === "open") void start();
  else if (state === "closed") say("The connection was lost; trying again…", "bad");
  else say("This page needs the link that `dpasp playground` printed, with its token.", "bad");
}

/** Check the program, then answer its questions. */
async function start(): Promise<void> {
  const mine = ++run;
  const text = editor.text;
  store(text);
  try {
    const found = await talk.ask<{ warnings: Diagnostic[]; semantics: string }>("check", { text });
    if (mine !== run) return;
    sound = true;
    problems([], found.warnings);
    if (!semantics.touched) semantics.set([found.semantics]);
    await answer();
    void refresh(tabs.current);
  } catch (error) {
    if (mine !== run || !(error instanceof Refusal)) return;
    sound = false;
    problems(error.diagnostics, []);
    if (!error.diagnostics.length) say(error.message, "bad");
  }
}

/** Ask under every chosen semantics, each shown as it comes. */
async function answer(): Promise<void> {
  if (!sound) return;
  const mine = ++run;
  const text = editor.text;
  if (sliders?.text !== text) {
    sliders = null; // those of another program
    moved = null;
  }
  outcomes = new Map(semantics.names.map((name) => [name, outcomes.get(name) ?? { waiting: true }]));
  draw();
  for (const name of semantics.names) {
    const outcome = await outcomeOf(text, name);
    if (mine !== run) return;
    outcomes.set(name, outcome);
    draw();
  }
  await showSliders(text, mine);
}

async function outcomeOf(text: string, name: string): Promise<Outcome> {
  try {
    return { found: await talk.ask<Found>("answer", { text, semantics: name }) };
  } catch (error) {
    const first = error instanceof Refusal ? error.diagnostics[0] : undefined;
    return { problem: first?.message ?? String((error as Error).message), help: first?.help ?? "" };
  }
}

function draw(): void {
  const view = answersView(outcomes, moved, { why: (query) => ask(query) });
  find("answers").replaceChildren(view, ...(sliders ? [sliders.view] : []));
}

// --- sliders ---------------------------------------------------------------------------------

/** Sliders that stand already stay where a hand has put them. */
async function showSliders(text: string, mine: number): Promise<void> {
  if (sliders) return sliders.again();
  try {
    const { sliders: found } = await talk.ask<{ sliders: Slider[] }>("sliders", { text });
    if (mine !== run) return;
    sliders = found.length ? new Sliders(text, found, slide, (line) => editor.go(line, 1)) : null;
    if (found.length) await evaluate({}, ""); // compiled now, so that the first move is quick too
  } catch {
    sliders = null;
  }
  if (mine === run) draw();
}

let moving = false;
let waiting: [Positions, string] | null = null;

/** Answer the latest position; those in between are left out while one is under way. */
function slide(positions: Positions, last: string): void {
  waiting = [positions, last];
  if (!moving) void follow();
}

async function follow(): Promise<void> {
  moving = true;
  while (waiting) {
    const [positions, last] = waiting;
    waiting = null;
    const settled = await evaluate(positions, last);
    if (settled && !waiting && last) sliders?.show(settled);
  }
  moving = false;
}

async function evaluate(positions: Positions, last: string): Promise<Positions | null> {
  const panel = sliders;
  if (!panel) return null;
  const names = [...outcomes].filter(([, outcome]) => "found" in outcome).map(([name]) => name);
  const request = { text: panel.text, moved: positions, last, semantics: names };
  type Reply = { answers: Record<string, { query: string; ends: Ends }[]>; moved: Positions };
  try {
    const found = await talk.ask<Reply>("slide", request);
    if (sliders !== panel) return null; // another program meanwhile
    const entries = Object.entries(found.answers);
    const numbers = entries.map(([name, own]) => [name, new Map(own.map((one) => [one.query, one.ends]))] as const);
    moved = last ? new Map(numbers) : null;
    redraw();
    return found.moved;
  } catch (error) {
    if (error instanceof Refusal && last) say(error.message, "bad");
    return null;
  }
}

/** Draw the answers again; the sliders stay as they are, for a hand is on one of them. */
function redraw(): void {
  const old = find("answers").firstElementChild;
  const view = answersView(outcomes, moved, { why: (query) => ask(query) });
  if (old) old.replaceWith(view);
}

// --- the other tabs --------------------------------------------------------------------------

function ask(query: string): void {
  const name = [...outcomes].find(([, one]) => "found" in one)?.[0] ?? "stable, credal";
  asked = { query, semantics: asked && outcomes.has(asked.semantics) ? asked.semantics : name };
  tabs.show("why");
}

async function refresh(tab: Tab): Promise<void> {
  if (!sound || tab === "answers") return;
  const text = editor.text;
  const panel = find(tab);
  try {
    if (tab === "why") await showWhy(text, panel);
    else if (tab === "graph") await showGraph(text, panel);
    else await showModels(text, panel);
  } catch (error) {
    const first = error instanceof Refusal ? error.diagnostics[0] : undefined;
    const note = h("p", { class: "note problem" }, first?.message ?? String((error as Error).message));
    panel.replaceChildren(...(tab === "why" ? [whyBar()] : []), note, first?.help ? h("p", { class: "note" }, first.help) : "");
  }
}

function queries(): string[] {
  const found = [...outcomes.values()].flatMap((one) => ("found" in one ? one.found.answers : []));
  return [...new Set(found.filter((one) => one.kind === "probability").map((one) => one.query))];
}

function whyBar(): HTMLElement {
  const again = (change: Partial<{ query: string; semantics: string }>) => {
    if (asked) asked = { ...asked, ...change };
    void refresh("why");
  };
  return h(
    "div",
    { class: "bar-of-choices" },
    select("Query", queries(), asked?.query ?? "", (query) => again({ query })),
    select("Semantics", semantics.names, asked?.semantics ?? "", (name) => again({ semantics: name })),
  );
}

async function showWhy(text: string, panel: HTMLElement): Promise<void> {
  const known = queries();
  const query = asked && known.includes(asked.query) ? asked.query : known[0];
  const name = asked && semantics.names.includes(asked.semantics) ? asked.semantics : semantics.names[0];
  if (!query || !name) {
    panel.replaceChildren(h("p", { class: "note" }, "Ask something first, with a line such as #query a."));
    return;
  }
  asked = { query, semantics: name };
  const root = await talk.ask<Reason>("why", { text, ...asked });
  panel.replaceChildren(whyBar(), whyView(root));
}

async function showGraph(text: string, panel: HTMLElement): Promise<void> {
  const { svg } = await talk.ask<{ svg: string }>("graph", { text });
  const picture = h("div", { class: "picture" });
  picture.innerHTML = svg; // made by us, every text in it escaped
  panel.replaceChildren(picture);
}

async function showModels(text: string, panel: HTMLElement): Promise<void> {
  const name = asked && semantics.names.includes(asked.semantics) ? asked.semantics : (semantics.names[0] ?? "");
  const stepper = new Stepper((first) => talk.ask<Models>("models", { text, semantics: name, first }));
  const bar = h(
    "div",
    { class: "bar-of-choices" },
    select("Semantics", semantics.names, name, (semantics_) => {
      asked = { query: asked?.query ?? "", semantics: semantics_ };
      void refresh("models");
    }),
  );
  await stepper.start();
  panel.replaceChildren(bar, stepper.view);
}

// --- what is said ----------------------------------------------------------------------------

function say(text: string, kind: "good" | "bad" | "fair"): void {
  const state = find("state");
  state.textContent = text;
  state.className = kind;
}

function problems(errors: Diagnostic[], warnings: Diagnostic[]): void {
  editor.mark(errors, warnings);
  find("answers").classList.toggle("stale", errors.length > 0); // they are of an earlier program
  const count = (n: number, word: string) => `${n} ${word}${n === 1 ? "" : "s"}`;
  if (errors.length) say(count(errors.length, "mistake"), "bad");
  else if (warnings.length) say(count(warnings.length, "warning"), "fair");
  else say("No mistakes", "good");
  const line = (one: Diagnostic, kind: string) =>
    h(
      "li",
      { class: kind },
      h(
        "button",
        { type: "button", onclick: () => one.line && editor.go(one.line, one.column ?? 1) },
        one.line !== null && h("span", { class: "place" }, `line ${one.line}`),
        h("span", {}, one.message),
      ),
      one.help && h("small", {}, one.help),
    );
  find("problems").replaceChildren(
    ...errors.map((one) => line(one, "error")),
    ...warnings.map((one) => line(one, "warning")),
  );
}

// --- the buttons above -----------------------------------------------------------------------

function store(text: string): void {
  try {
    localStorage.setItem(STORED, text);
  } catch {
    // a browser that keeps nothing
  }
}

function put(text: string, names: string[] = []): void {
  semantics.touched = names.length > 0;
  if (names.length) semantics.set(names);
  asked = null;
  editor.text = text;
}

const examples = find<HTMLSelectElement>("examples");
examples.append(...about.examples.map((one) => h("option", { value: one.name }, one.title)));
examples.addEventListener("change", () => {
  const found = about.examples.find((one) => one.name === examples.value);
  if (found) put(found.text);
  examples.value = "";
});

find("open").addEventListener("click", () => {
  const input = h("input", { type: "file", accept: ".plp,.lp,.txt,text/plain" });
  input.addEventListener("change", () => void input.files?.[0]?.text().then((text) => put(text)));
  input.click();
});

function save(): void {
  const url = URL.createObjectURL(new Blob([editor.text], { type: "text/plain" }));
  h("a", { href: url, download: "program.plp" }).click();
  window.setTimeout(() => URL.revokeObjectURL(url), 1000);
}
find("save").addEventListener("click", save);
document.addEventListener("keydown", (event) => {
  if ((event.ctrlKey || event.metaKey) && event.key === "s") {
    event.preventDefault();
    save();
  }
});

find("share").addEventListener("click", async () => {
  const link = new URL(location.href);
  link.hash = `p=${await pack({ text: editor.text, semantics: semantics.touched ? semantics.names : [] })}`;
  history.replaceState(null, "", link);
  const field = find<HTMLInputElement>("link");
  field.value = link.href;
  find<HTMLDialogElement>("sharing").showModal();
  field.select();
  try {
    await navigator.clipboard.writeText(link.href);
    find("copied").textContent = "Copied.";
  } catch {
    find("copied").textContent = "Copy it from here.";
  }
});

find("theme").addEventListener("click", () => {
  const chosen = document.documentElement.dataset["theme"];
  const dark = chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset["theme"] = dark ? "light" : "dark";
});

find("stop").addEventListener("click", () => talk.stop());
find("foot").textContent = `dPASP ${about.version} · at most ${about.seconds} s and ${about.megabytes} MB · nothing leaves this server`;

/** The program in the link, or the one of last time. */
async function restore(): Promise<void> {
  const packed = /^#p=([\w-]+)$/.exec(location.hash)?.[1];
  if (packed) {
    try {
      const { text, semantics: names } = await unpack(packed);
      put(text, names);
    } catch {
      say("This link holds no program.", "bad");
    }
    return;
  }
  try {
    const text = localStorage.getItem(STORED);
    if (text) put(text);
  } catch {
    // a browser that keeps nothing
  }
}

window.addEventListener("hashchange", () => void restore());
await restore();
