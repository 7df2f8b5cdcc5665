/** The playground: a program on the left, what follows from it on the right. */

import { answersView, type Found, type Moved, type Outcome } from "./answers";
import * as decide from "./decide";
import { find, h, later, select } from "./dom";
import { Editor } from "./editor";
import { asCsv, asJson, asPicture, asText, buttons, download, downloadPicture } from "./export";
import { helpView } from "./help";
import type { Directive } from "./language";
import * as learn from "./learn";
import { Stepper, type Models } from "./models";
import { Pictures, place, statement, type Pictured } from "./pictures";
import { Semantics } from "./semantics";
import { pack, unpack } from "./share";
import { Sliders, type Positions, type Slider } from "./sliders";
import { TABS, Tabs, type Tab } from "./tabs";
import { Refusal, Talk, type Diagnostic, type State } from "./talk";
import { whyView, type Reason } from "./why";

interface About {
  version: string;
  token: string | null; // for those who have shown it
  longest: number; // characters of a program
  seconds: number;
  megabytes: number;
  logics: Record<string, string>;
  probabilities: Record<string, string>;
  directives: Directive[];
  links: Record<string, string>;
  pages: Record<string, string>; // of the documentation: names by title
  examples: Example[];
}

interface Example extends Partial<Pictured> {
  name: string;
  title: string;
  task: string;
  text: string;
  table?: string; // to learn from
}

const STORED = "dpasp-program";
const STORED_TABLE = "dpasp-table";
const PATIENCE = 1000; // milliseconds that work on an earlier program may go on
const LONGEST_LINK = 30_000; // characters; longer ones do not survive many programs that pass them on
const SMALLEST = 0.6; // a graph that would be drawn smaller than this is scrolled
const WAITS: Record<Tab, string> = {
  answers: "The answers to the program in the editor are computed first.",
  why: "Looking for reasons…",
  decide: "Comparing decisions…",
  learn: "",
  graph: "Drawing the graph…",
  models: "Looking for models…",
};
const DOING: Record<string, string> = {
  check: "reading",
  answer: "grounding",
  sliders: "preparing the sliders",
  slide: "moving the sliders",
  why: "looking for reasons",
  decide: "comparing decisions",
  learn: "starting what learns",
  graph: "drawing the graph",
  models: "looking for models",
};
const about = await facts();

async function facts(): Promise<About> {
  return (await fetch("about.json", { cache: "no-store" })).json();
}

let run = 0; // the latest run; replies to earlier ones are forgotten
let checked: string | null = null; // the text without mistakes that was checked last
let notes: { errors: Diagnostic[]; warnings: Diagnostic[]; left: number } = { errors: [], warnings: [], left: 0 };
let answered: { text: string | null; outcomes: Map<string, Outcome> } = { text: null, outcomes: new Map() }; // on the page
let coming: typeof answered | null = null; // of the run under way
let moved: Map<string, Map<string, Moved>> | null = null;
let sliders: Sliders | null = null;
let asked: { query: string; semantics: string } | null = null; // on the tab "why"
let deciding = { query: "", criterion: "" }; // on the tab "decide": what follows #decide
let stopped: string | null = null; // the program whose work was stopped
let pictures: { name: string; shown: Pictures; said: string[] } | null = null; // and what the network said of them

/** The program that each of the other tabs is about, and which of its questions is answered. */
const panels: Record<Exclude<Tab, "answers" | "learn">, { text: string | null; wanted: string; shown: string }> = {
  why: { text: null, wanted: "", shown: "" },
  decide: { text: null, wanted: "", shown: "" },
  graph: { text: null, wanted: "", shown: "" },
  models: { text: null, wanted: "", shown: "" },
};

const status = { offline: "", notice: "", working: false, text: "Connecting…", kind: "" };
let timer = 0;

const talk = new Talk(connection, () => window.setTimeout(work, 0), allowed);
const semantics = new Semantics(find("semantics"), about.logics, about.probabilities, () => void choose());
const tabs = new Tabs((tab) => void refresh(tab));
const editor = new Editor(
  find("editor"),
  about.examples[0]?.text ?? "",
  { changed, run: () => void start() },
  about.directives,
  { ...about.logics, ...about.probabilities },
);
const soon = later(350, () => void start());
const learning = new learn.Learning((table) => void learnFrom(table), (text) => (editor.text = text));

/** The program is another one: what is shown is not of it, and it is read soon. */
function changed(): void {
  run += 1;
  status.notice = "";
  if (talk.working > PATIENCE) talk.stop();
  grey();
  tell();
  soon();
}

/** Grey whatever is not about the program in the editor, and take it out of reach. */
function grey(): void {
  const text = editor.text;
  learning.changed(text);
  for (const tab of TABS) {
    if (tab === "learn") continue;
    const panel = find(tab);
    const shown = tab === "answers" ? answered : panels[tab];
    const same = shown.text === text;
    const other = tab !== "answers" && panels[tab].wanted !== panels[tab].shown;
    const stale = panel.childElementCount > 0 && (!same || other);
    panel.classList.toggle("stale", stale);
    if (tab !== "answers") waitsFor(panel, tab, !same && panel.childElementCount > 0);
    for (const part of panel.children) {
      const kept = part.matches(".bar-of-choices, .images, .waits") || (same && part.matches(".sliders")); // a hand may be on it
      part.classList.toggle("kept", kept);
      part.toggleAttribute("inert", stale && !kept);
    }
  }
}

/** Say on a tab what it waits for, and that what it shows is of an earlier program. */
function waitsFor(panel: HTMLElement, tab: Tab, waits: boolean): void {
  let note = panel.querySelector<HTMLElement>(":scope > .waits");
  const old = panel.querySelector(":scope > :not(.waits)");
  if (!waits) {
    if (old) note?.remove();
    return;
  }
  if (!note) panel.prepend((note = h("p", { class: "note waits", role: "status" })));
  const text = editor.text;
  const mistaken = checked !== text && notes.errors.length > 0;
  const why = mistaken
    ? "The program in the editor has mistakes, which are listed below it."
    : stopped === text
      ? "The work on the program in the editor was stopped; Ctrl-Enter asks again."
      : WAITS[checked !== text || answered.text !== text ? "answers" : tab];
  note.textContent = `${old ? "This belongs to an earlier program. " : ""}${why}`;
}

// --- the program ----------------------------------------------------------------------------

function connection(state: State, words: string): void {
  status.offline = {
    open: "",
    closed: "The connection was lost; trying again…",
    forbidden: "Nothing is answered here: this page needs the token of the link that `dpasp playground` printed. Open that link in this browser.",
    refused: words,
  }[state];
  tell();
  if (state === "open") void start();
}

/** Whether the server takes requests of this browser, or cannot be reached. */
async function allowed(): Promise<boolean> {
  try {
    return (await facts()).token !== null;
  } catch {
    return true;
  }
}

/** Check the program, then answer its questions. */
async function start(): Promise<void> {
  const mine = ++run;
  const text = editor.text;
  stopped = null;
  if (text.length > about.longest) {
    const most = about.longest.toLocaleString("en");
    const message = `This program has ${text.length.toLocaleString("en")} characters; the playground takes at most ${most}.`;
    checked = null;
    say(message, "bad");
    return;
  }
  store(text);
  await idle();
  if (mine !== run) return;
  try {
    const found = await talk.ask<{ warnings: Diagnostic[]; left: number; semantics: string }>("check", { text });
    if (mine !== run) return;
    checked = text;
    notes = { errors: [], warnings: found.warnings, left: found.left };
    if (!semantics.touched) semantics.set([found.semantics]);
    await answer(mine, true);
    if (mine === run) void refresh(tabs.current);
  } catch (error) {
    if (mine !== run || !(error instanceof Refusal)) return;
    checked = null;
    notes = { errors: error.diagnostics, warnings: [], left: error.left };
    problems();
    if (!error.diagnostics.length) say(error.message, "bad");
  }
}

/** Resolves when nothing is under way; work on an earlier program is stopped if it goes on. */
async function idle(): Promise<void> {
  while (talk.working) {
    if (talk.working > PATIENCE) talk.stop();
    else await new Promise((done) => window.setTimeout(done, 20));
  }
}

/** The semantics are others: ask under those that are new. */
async function choose(): Promise<void> {
  if (checked !== editor.text) return;
  const mine = ++run;
  await idle();
  if (mine !== run) return;
  await answer(mine, false);
  if (mine === run) void refresh(tabs.current);
}

/** Ask under every chosen semantics, each shown as it comes; `again` also where it is answered. */
async function answer(mine: number, again: boolean): Promise<void> {
  const text = editor.text;
  const same = answered.text === text;
  if (sliders?.text !== text) {
    sliders = null; // those of another program
    moved = null;
  }
  const known = (name: string) => (same ? answered.outcomes.get(name) : undefined);
  const first = (name: string): [string, Outcome] => {
    const one = known(name);
    return [name, one && "found" in one ? one : { waiting: true }];
  };
  const now = { text, outcomes: new Map(semantics.names.map(first)) };
  coming = now;
  if (same || answered.text === null) show(now); // otherwise the earlier answers stay, in grey
  problems();
  for (const name of semantics.names) {
    const one = now.outcomes.get(name);
    if (!again && one && "found" in one) continue;
    const outcome = await outcomeOf(text, name);
    if (mine !== run) return;
    now.outcomes.set(name, outcome);
    show(now);
    problems();
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

function show(now: typeof answered): void {
  answered = now;
  const view = answersView(answered.outcomes, moved, { why: (query) => ask(query), compare: () => tabs.show("decide") });
  fill("answers", [...images(), view, ...exports(), ...(tabs.current === "decide" ? [] : whatIf())]);
  grey();
}

/** The sliders, on the tab that is looked at: of the answers, or of the decisions. */
function whatIf(): Node[] {
  return sliders ? [sliders.view] : [];
}

/** Put parts into a panel; those that are there already, in this order, are not moved: a hand may be on them. */
function fill(tab: Tab, parts: (Node | string)[]): void {
  const panel = find(tab);
  for (const child of [...panel.childNodes]) if (!parts.includes(child)) child.remove();
  let next = panel.firstChild;
  for (const part of parts) {
    if (part === next) next = next.nextSibling;
    else panel.insertBefore(typeof part === "string" ? document.createTextNode(part) : part, next);
  }
}

/** What the answers can be taken away as, if there are any. */
function exports(): HTMLElement[] {
  const { outcomes } = answered;
  if (![...outcomes.values()].some((one) => "found" in one && one.found.answers.length)) return [];
  const picture = (kind: "svg" | "png") => () => void downloadPicture("answers", asPicture(outcomes), kind);
  return [
    h(
      "div",
      { class: "taking" },
      buttons("Copy", { text: () => copy(asText(outcomes)), JSON: () => copy(asJson(outcomes)), CSV: () => copy(asCsv(outcomes)) }),
      buttons("Picture", { SVG: picture("svg"), PNG: picture("png") }),
    ),
  ];
}

/** Copy a text; where the browser does not let us, offer it as a file. */
async function copy(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    say("Copied.", "good");
  } catch {
    download("answers.txt", new Blob([text], { type: "text/plain" }));
  }
}

/** A program without what a network says about its images: by that an example is known. */
function without(text: string, count: number): string {
  return Array.from({ length: count }, (_, i) => i).reduce((rest, i) => rest.replace(place(i), ""), text).replace(/\s+/g, " ").trim();
}

/** The images that the program in the editor is about, and whether its numbers are those of the network. */
function images(): HTMLElement[] {
  const text = editor.text;
  const found = about.examples.find((one) => one.images && without(one.text, one.images.length) === without(text, one.images.length));
  if (!found?.images) return [];
  if (pictures?.name !== found.name) {
    const shown = new Pictures({ images: found.images, drawings: found.drawings ?? [], network: found.network ?? [] }, seen);
    pictures = { name: found.name, shown, said: found.images.map((_, i) => place(i).exec(found.text)?.[0] ?? "") };
  }
  const same = pictures.said.every((said, i) => place(i).exec(text)?.[0] === said);
  const note = h("p", { class: "note problem" }, "The numbers in the program are not what the network says about these images: choose an image again, or draw one.");
  return [...(same ? [] : [note]), pictures.shown.view];
}

/** The network has looked at an image: what it says goes into the program. */
function seen(image: number, outputs: number[]): void {
  if (!pictures) return;
  pictures.said[image] = statement(image, outputs);
  editor.text = editor.text.replace(place(image), pictures.said[image] ?? "");
}

/** Stop what is under way, and say so at once. */
function stop(): void {
  run += 1;
  stopped = editor.text;
  waiting = null;
  talk.stop();
  const now = coming;
  if (now?.text === editor.text) {
    for (const [name, outcome] of now.outcomes)
      if ("waiting" in outcome) now.outcomes.set(name, { problem: "Stopped.", help: "" });
    show(now);
  }
  say("Stopped.", "fair");
  grey();
}

// --- sliders ---------------------------------------------------------------------------------

/** The semantics whose answers are exact: those have circuits that sliders can move. */
function movable(): string[] {
  const exact = (one: Outcome) => "found" in one && one.found.answers.every((answer) => answer.exact !== false);
  return [...answered.outcomes].filter(([, one]) => exact(one)).map(([name]) => name);
}

/** Sliders that stand already stay where a hand has put them. */
async function showSliders(text: string, mine: number): Promise<void> {
  if (sliders) return sliders.again();
  if (!movable().length) return;
  try {
    const found = await talk.ask<{ sliders: Slider[]; left: number }>("sliders", { text });
    if (mine !== run || !found.sliders.length) return;
    sliders = new Sliders(text, found.sliders, found.left, slide, (line) => editor.go(line, 1), (at) => void write(text, at));
    const settled = await evaluate({}, ""); // compiled now, so that the first move is quick too
    if (!settled) sliders = null;
  } catch {
    sliders = null;
  }
  if (mine === run) show(answered);
}

/** Put the numbers of the sliders into the program. */
async function write(text: string, positions: Positions): Promise<void> {
  try {
    const found = await talk.ask<{ text: string }>("write", { text, moved: positions });
    if (editor.text === text) editor.text = found.text;
  } catch (error) {
    if (error instanceof Refusal) say(error.message, "bad");
  }
}

let moving = false;
let waiting: [Positions, string] | null = null;

/** Answer the latest position; those in between are left out while one is under way. */
function slide(positions: Positions, last: string): void {
  waiting = [positions, last];
  find("answers").querySelector(".answers")?.classList.add("stale"); // until those of the position are here
  if (!moving) void follow();
}

async function follow(): Promise<void> {
  moving = true;
  while (waiting) {
    const [positions, last] = waiting;
    waiting = null;
    const settled = await evaluate(positions, last);
    if (settled && !waiting && last) sliders?.show(settled);
    if (tabs.current === "decide") await compare();
  }
  moving = false;
  if (tabs.current === "decide") void compare();
}

async function evaluate(positions: Positions, last: string): Promise<Positions | null> {
  const panel = sliders;
  if (!panel) return null;
  const request = { text: panel.text, moved: positions, last, semantics: movable() };
  try {
    const found = await talk.ask<{ answers: Record<string, Moved[]>; moved: Positions }>("slide", request);
    if (sliders !== panel) return null; // another program meanwhile
    const entries = Object.entries(found.answers);
    const numbers = entries.map(([name, own]) => [name, new Map(own.map((one) => [one.query, one]))] as const);
    moved = last ? new Map(numbers) : null;
    if (!waiting) redraw();
    return found.moved;
  } catch (error) {
    if (error instanceof Refusal && last && panel.text === editor.text) say(error.message, "bad");
    return null;
  }
}

/** Draw the answers again; the sliders stay as they are, for a hand is on one of them. */
function redraw(): void {
  const old = find("answers").querySelector(".answers");
  const view = answersView(answered.outcomes, moved, { why: (query) => ask(query), compare: () => tabs.show("decide") });
  if (old) old.replaceWith(view);
  grey();
}

// --- the other tabs --------------------------------------------------------------------------

function ask(query: string): void {
  const name = [...answered.outcomes].find(([, one]) => "found" in one)?.[0] ?? "stable, credal";
  asked = { query, semantics: asked && answered.outcomes.has(asked.semantics) ? asked.semantics : name };
  tabs.show("why");
}

/** Bring a tab up to date; until then what it shows is greyed. */
async function refresh(tab: Tab): Promise<void> {
  const text = editor.text;
  if (tab === "answers") return show(answered); // with the sliders
  if (tab === "learn") return learnParts();
  const waiting = checked !== text || answered.text !== text;
  if (panels[tab].text !== text) waitsFor(find(tab), tab, true);
  if (waiting) return;
  const known = queries();
  const query = asked && known.includes(asked.query) ? asked.query : (known[0] ?? "");
  const name = asked && semantics.names.includes(asked.semantics) ? asked.semantics : (semantics.names[0] ?? "");
  asked = { query, semantics: name };
  if (tab === "decide") return compare();
  const panel = panels[tab];
  const key = JSON.stringify({ graph: [text], why: [text, query, name], models: [text, name] }[tab]);
  if (panel.shown === key) return;
  panel.wanted = key;
  grey();
  let parts: (Node | string)[];
  try {
    parts = await { why: whyParts, graph: graphParts, models: modelsParts }[tab](text, asked);
    panel.shown = key;
  } catch (error) {
    if (text !== editor.text || panel.wanted !== key) return;
    const first = error instanceof Refusal ? error.diagnostics[0] : undefined;
    const note = h("p", { class: "note problem" }, first?.message ?? String((error as Error).message));
    parts = [...(tab === "graph" ? [] : [choices(tab)]), note, first?.help ? h("p", { class: "note" }, first.help) : ""];
    panel.wanted = panel.shown = ""; // so that it is asked for again
  }
  if (panel.wanted !== panel.shown) return; // another one is asked for meanwhile
  panel.text = text;
  find(tab).replaceChildren(...parts);
  grey();
}

/** What is best where the sliders stand, then what knowledge is worth, which takes longer. */
async function compare(): Promise<void> {
  const text = editor.text;
  const panel = panels.decide;
  if (checked !== text || answered.text !== text) return;
  const name = asked && semantics.names.includes(asked.semantics) ? asked.semantics : (semantics.names[0] ?? "");
  const request = { text, semantics: name, ...deciding, moved: sliders?.text === text ? sliders.positions : {} };
  const key = JSON.stringify(request);
  panel.wanted = key;
  if (panel.shown !== key) grey();
  const known = panel.shown === key; // all but the value of knowledge
  for (const knowing of moving ? [false] : known ? [true] : [false, true]) {
    let parts: Node[];
    try {
      const found = await talk.ask<decide.Decision>("decide", { ...request, knowing });
      if (deciding.criterion && !found.criteria.includes(deciding.criterion)) deciding.criterion = "";
      const save = (kind: "svg" | "png") => async () => {
        const { svg = "" } = await talk.ask<decide.Decision>("decide", { ...request, picture: true });
        void downloadPicture("decision", svg, kind);
      };
      const pictures = buttons("Picture", { SVG: save("svg"), PNG: save("png") });
      const slide = tabs.current === "decide" ? whatIf() : [];
      parts = [decideChoices(found, name), decide.bestView(found), ...slide, decide.reasonsView(found), pictures];
    } catch (error) {
      if (!(error instanceof Refusal) || error.message === "Stopped.") return;
      const first = error.diagnostics[0];
      deciding = { query: "", criterion: "" };
      parts =
        first?.code === "decide-nothing" && !text.includes("#decision")
          ? [h("p", { class: "note" }, decide.NOTHING), h("pre", {}, decide.EXAMPLE)]
          : [h("p", { class: "note problem" }, error.message), h("p", { class: "note" }, first?.help ?? "")];
    }
    if (panel.wanted !== key || text !== editor.text) return;
    panel.shown = key;
    panel.text = text;
    fill("decide", parts);
    grey();
    if (parts.length < 3) return; // an error
  }
}

/** What is to be decided, under which semantics, and by which criterion. */
function decideChoices(found: decide.Decision, name: string): HTMLElement {
  const again = (change: () => void) => {
    change();
    void compare();
  };
  const words = (query: string) => query || "the expected utility";
  const listed = found.questions.map(words);
  return h(
    "div",
    { class: "bar-of-choices" },
    listed.length > 1 && select("What to decide by", listed, words(found.asked), (chosen) => again(() => (deciding.query = found.questions[listed.indexOf(chosen)] ?? ""))),
    semantics.names.length > 1 && select("Semantics", semantics.names, name, (chosen) => again(() => (asked = { query: asked?.query ?? "", semantics: chosen }))),
    found.criteria.length > 0 && select("Criterion", found.criteria, found.criterion ?? "", (criterion) => again(() => (deciding.criterion = criterion))),
  );
}

/** The table to learn from, if there is something to learn. */
function learnParts(): void {
  const some = /\?\s*(\([^)]*\))?\s*::/.test(editor.text);
  fill("learn", some ? [learning.view] : [h("p", { class: "note" }, learn.NOTHING), h("pre", {}, learn.EXAMPLE)]);
}

async function learnFrom(table: string): Promise<void> {
  const text = editor.text;
  store(text);
  learning.begin();
  try {
    const found = await talk.ask<learn.Learned>("learn", { text, table, semantics: semantics.names[0] ?? "" });
    learning.show(found, text);
    learning.changed(editor.text);
  } catch (error) {
    const first = error instanceof Refusal ? error.diagnostics[0] : undefined;
    learning.say(first?.message ?? String((error as Error).message), first?.help ?? "");
  }
}

function queries(): string[] {
  const found = [...answered.outcomes.values()].flatMap((one) => ("found" in one ? one.found.answers : []));
  return [...new Set(found.filter((one) => one.kind === "probability").map((one) => one.query))];
}

/** What a tab is about: a query (on "why") and a semantics, to be chosen. */
function choices(tab: "why" | "models"): HTMLElement {
  const again = (change: Partial<{ query: string; semantics: string }>) => {
    if (asked) asked = { ...asked, ...change };
    void refresh(tab);
  };
  return h(
    "div",
    { class: "bar-of-choices" },
    tab === "why" && select("Query", queries(), asked?.query ?? "", (query) => again({ query })),
    select("Semantics", semantics.names, asked?.semantics ?? "", (name) => again({ semantics: name })),
  );
}

type Question = { query: string; semantics: string };

async function whyParts(text: string, question: Question): Promise<Node[]> {
  if (!question.query) return [h("p", { class: "note" }, "Ask something first, with a line such as #query a.")];
  const root = await talk.ask<Reason>("why", { text, ...question });
  return [choices("why"), whyView(root)];
}

async function graphParts(text: string): Promise<Node[]> {
  const { svg } = await talk.ask<{ svg: string }>("graph", { text });
  const picture = h("div", { class: "picture" });
  picture.innerHTML = svg; // made by us, every text in it escaped
  const save = (kind: "svg" | "png") => () => void downloadPicture("graph", svg, kind);
  const size = (large: boolean) => () => void picture.classList.toggle("large", large);
  const room = find("results").clientWidth;
  size((picture.querySelector("svg")?.width.baseVal.value ?? 0) * SMALLEST > room)();
  window.setTimeout(() => (picture.scrollLeft = (picture.scrollWidth - picture.clientWidth) / 2), 0);
  const sizes = buttons("Size", { fit: size(false), "100 %": size(true) });
  return [picture, h("div", { class: "taking" }, sizes, buttons("Picture", { SVG: save("svg"), PNG: save("png") }))];
}

async function modelsParts(text: string, { semantics: name }: Question): Promise<Node[]> {
  const stepper = new Stepper((first) => talk.ask<Models>("models", { text, semantics: name, first }));
  await stepper.start();
  return [choices("models"), stepper.view];
}

// --- what is said ----------------------------------------------------------------------------

/** The outcome of the latest thing that was done. */
function say(text: string, kind: "good" | "bad" | "fair"): void {
  status.text = text;
  status.kind = kind;
  tell();
}

/** Something is under way, or has ended: after a moment the page says so. */
function work(): void {
  if (!talk.working) {
    clearTimeout(timer);
    timer = 0;
    status.working = false;
    tell();
  } else if (status.working) tell();
  else if (!timer)
    timer = window.setTimeout(() => {
      status.working = talk.working > 0;
      tell();
    }, 400);
}

/** One thing at a time: what keeps the page from working, then what it does, then what came of it. */
function tell(): void {
  const { offline, notice, working, text, kind } = status;
  const state = find("state");
  const [said, look] = offline ? [offline, "bad"] : working ? [progress(), ""] : notice ? [notice, "bad"] : [text, kind];
  if (state.textContent !== said) state.textContent = said;
  state.className = look;
  find("working").hidden = !working || Boolean(offline);
}

/** What is under way, and how far it is. */
function progress(): string {
  const doing = talk.doing;
  if (!doing) return "Working…";
  const share = doing.progress?.share;
  const done = typeof share === "number" ? `, ${Math.floor(100 * share)} %` : "";
  return `Working: ${doing.progress?.stage ?? DOING[doing.task] ?? doing.task}${done}…`;
}

/** List and mark the mistakes and warnings of the program, those of its answers too. */
function problems(): void {
  const { errors, left } = notes;
  const warnings = new Map<string, Diagnostic>();
  const found = [...(coming?.text === editor.text ? coming.outcomes.values() : [])];
  const placed = found.flatMap((one) => ("found" in one ? one.found.warnings : [])).filter((one) => one.line !== null);
  for (const one of errors.length ? [] : [...notes.warnings, ...placed])
    warnings.set(JSON.stringify([one.code, one.line, one.column, one.message]), one);
  editor.mark(errors, [...warnings.values()]);
  grey();
  const count = (n: number, word: string) => `${n} ${word}${n === 1 ? "" : "s"}`;
  if (errors.length) say(count(errors.length + left, "mistake"), "bad");
  else if (warnings.size) say(count(warnings.size + left, "warning"), "fair");
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
    ...[...warnings.values()].map((one) => line(one, "warning")),
    left ? h("li", {}, `and ${left} more`) : "",
  );
}

// --- the buttons above -----------------------------------------------------------------------

function store(text: string): void {
  try {
    localStorage.setItem(STORED, text);
    localStorage.setItem(STORED_TABLE, learning.field.value);
  } catch {
    // a browser that keeps nothing
  }
}

function put(text: string, names: string[] = [], table = ""): void {
  semantics.touched = semantics.set(names);
  asked = null;
  deciding = { query: "", criterion: "" };
  pictures = null;
  learning.field.value = table;
  editor.text = text;
}

const examples = find<HTMLSelectElement>("examples");
for (const task of new Set(about.examples.map((one) => one.task))) {
  const own = about.examples.filter((one) => one.task === task);
  examples.append(h("optgroup", { label: task }, ...own.map((one) => h("option", { value: one.name }, one.title))));
}
examples.addEventListener("change", () => {
  const found = about.examples.find((one) => one.name === examples.value);
  if (found) put(found.text, [], found.table);
  examples.value = "";
});

find("open").addEventListener("click", () => {
  const input = h("input", { type: "file", accept: ".plp,.lp,.txt,text/plain" });
  input.addEventListener("change", () => void input.files?.[0]?.text().then((text) => put(text)));
  input.click();
});

function save(): void {
  download("program.plp", new Blob([editor.text], { type: "text/plain" }));
}
find("save").addEventListener("click", save);
document.addEventListener("keydown", (event) => {
  if ((event.ctrlKey || event.metaKey) && event.key === "s") {
    event.preventDefault();
    save();
  }
});

find("share").addEventListener("click", async () => {
  const letters = await pack({ text: editor.text, semantics: semantics.touched ? semantics.names : [], table: learning.field.value });
  const token = await facts().then((now) => now.token, () => null);
  const link = new URL(location.href);
  link.hash = `p=${letters}`;
  link.search = token ? `token=${encodeURIComponent(token)}` : "";
  const size = link.href.length;
  const large = size > LONGEST_LINK || editor.text.length > about.longest;
  const field = find<HTMLInputElement>("link");
  const copied = find("copied");
  find("holds").textContent = large
    ? `This program is too large for a link: it would have ${size.toLocaleString("en")} characters, and many programs cut links off. Use Save, and pass on the file.`
    : token
      ? "The link holds the whole program and the token of this playground: who has it can use this playground while it runs. Nothing is stored anywhere."
      : "The link holds the whole program, but not the token of this playground, which this page does not have: it works only where the playground was opened before.";
  field.hidden = large;
  field.value = large ? "" : link.href;
  copied.textContent = "";
  find<HTMLDialogElement>("sharing").showModal();
  if (large) return;
  history.replaceState(null, "", link.hash); // the token does not stay in the address
  field.select();
  try {
    await navigator.clipboard.writeText(link.href);
    copied.textContent = "Copied.";
  } catch {
    copied.textContent = "Copy it from here.";
  }
});

find("theme").addEventListener("click", () => {
  const chosen = document.documentElement.dataset["theme"];
  const dark = chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset["theme"] = dark ? "light" : "dark";
});

find("stop").addEventListener("click", stop);
find("helping").prepend(helpView({ ...about.logics, ...about.probabilities }, about.directives, about.links, about.pages));
find("help").addEventListener("click", () => find<HTMLDialogElement>("helping").showModal());
find("foot").textContent = `dPASP ${about.version} · at most ${about.seconds} s and ${about.megabytes} MB · nothing leaves this server`;

/** The program in the link, or the one of last time. */
async function restore(): Promise<void> {
  if (location.hash.startsWith("#p=")) {
    try {
      const { text, semantics: names, table } = await unpack(location.hash.slice(3), 8 * about.longest + 10_000);
      put(text, names, table);
    } catch {
      status.notice = "This link holds no program that fits here; perhaps it was cut off.";
      tell();
    }
    return;
  }
  try {
    const text = localStorage.getItem(STORED);
    if (text) put(text, [], localStorage.getItem(STORED_TABLE) ?? "");
  } catch {
    // a browser that keeps nothing
  }
}

window.addEventListener("hashchange", () => location.hash && void restore());
await restore();
