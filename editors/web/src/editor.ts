/** The editor: CodeMirror with the language, mistakes underlined, and completion. */

import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, toggleComment } from "@codemirror/commands";
import { bracketMatching } from "@codemirror/language";
import { lintGutter, lintKeymap, setDiagnostics, type Diagnostic as Mark } from "@codemirror/lint";
import { highlightSelectionMatches, searchKeymap } from "@codemirror/search";
import { EditorState, type Text } from "@codemirror/state";
import {
  EditorView,
  drawSelection,
  highlightActiveLine,
  highlightActiveLineGutter,
  keymap,
  lineNumbers,
} from "@codemirror/view";

import { colours, completion, language, type Directive } from "./language";
import type { Diagnostic } from "./talk";

export interface Events {
  changed: () => void;
  run: () => void;
}

export class Editor {
  readonly view: EditorView;

  constructor(
    parent: HTMLElement,
    text: string,
    events: Events,
    directives: Directive[],
    semantics: Record<string, string>,
  ) {
    this.view = new EditorView({
      parent,
      state: EditorState.create({
        doc: text,
        extensions: [
          lineNumbers(),
          highlightActiveLineGutter(),
          highlightActiveLine(),
          history(),
          drawSelection(),
          bracketMatching(),
          closeBrackets(),
          highlightSelectionMatches(),
          lintGutter(),
          language,
          colours,
          autocompletion({ override: [completion(directives, semantics)], icons: false }),
          EditorView.lineWrapping,
          EditorView.contentAttributes.of({ "aria-label": "The program", spellcheck: "false" }),
          EditorView.updateListener.of((update) => update.docChanged && events.changed()),
          keymap.of([
            { key: "Mod-Enter", run: () => (events.run(), true) },
            { key: "Mod-/", run: toggleComment },
            ...closeBracketsKeymap,
            ...defaultKeymap,
            ...searchKeymap,
            ...historyKeymap,
            ...completionKeymap,
            ...lintKeymap,
          ]),
        ],
      }),
    });
  }

  get text(): string {
    return this.view.state.doc.toString();
  }

  set text(text: string) {
    this.view.dispatch({ changes: { from: 0, to: this.view.state.doc.length, insert: text } });
  }

  /** Underline mistakes and warnings. */
  mark(errors: Diagnostic[], warnings: Diagnostic[]): void {
    const doc = this.view.state.doc;
    const marks = [
      ...errors.map((one) => mark(doc, one, "error")),
      ...warnings.map((one) => mark(doc, one, "warning")),
    ].filter((one): one is Mark => one !== null);
    this.view.dispatch(setDiagnostics(this.view.state, marks));
  }

  /** Put the cursor to a place. */
  go(line: number, column: number): void {
    const position = offset(this.view.state.doc, line, column);
    this.view.dispatch({ selection: { anchor: position }, scrollIntoView: true });
    this.view.focus();
  }
}

function mark(doc: Text, one: Diagnostic, severity: "error" | "warning"): Mark | null {
  if (one.line === null || one.column === null) return null;
  const from = offset(doc, one.line, one.column);
  const end = offset(doc, one.end_line ?? one.line, one.end_column ?? one.column);
  const to = end > from ? end : Math.min(doc.length, from + 1);
  const message = one.help ? `${one.message}\n${one.help}` : one.message;
  return { from: to > from ? from : Math.max(0, from - 1), to, severity, message };
}

/** The place of a line and a column, which count whole characters from 1. */
function offset(doc: Text, line: number, column: number): number {
  const found = doc.line(Math.max(1, Math.min(line, doc.lines)));
  const before = Array.from(found.text).slice(0, column - 1).join("");
  return Math.min(found.to, found.from + before.length);
}
