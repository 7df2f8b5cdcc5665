/** The language in the editor: colours of words, comments, and what can be completed. */

import type { Completion, CompletionContext, CompletionResult } from "@codemirror/autocomplete";
import { HighlightStyle, StreamLanguage, syntaxHighlighting, type StreamParser } from "@codemirror/language";
import { tags } from "@lezer/highlight";

export interface Directive {
  word: string;
  form: string;
  about: string;
}

interface State {
  comment: number; // how deep block comments are nested
  python: boolean; // inside #python … #end.
}

const parser: StreamParser<State> = {
  name: "dpasp",
  startState: () => ({ comment: 0, python: false }),
  token(stream, state) {
    if (state.comment > 0) {
      if (stream.match("%*")) state.comment += 1;
      else if (stream.match("*%")) state.comment -= 1;
      else stream.next();
      return "comment";
    }
    if (state.python && !stream.match("#end", false)) {
      stream.skipToEnd();
      return "meta";
    }
    if (stream.eatSpace()) return null;
    if (stream.match("%*")) {
      state.comment = 1;
      return "comment";
    }
    if (stream.match("%")) {
      stream.skipToEnd();
      return "comment";
    }
    if (stream.match(/"(?:[^"\\]|\\.)*"?/)) return "string";
    const directive = stream.match(/#[A-Za-z_]+/) as RegExpMatchArray | null;
    if (directive) {
      if (directive[0] === "#python" || directive[0] === "#script") state.python = true;
      if (directive[0] === "#end") state.python = false;
      return "keyword";
    }
    if (stream.match(/\d+\.\d+(?:[eE][+-]?\d+)?|\d+/)) return "number";
    if (stream.match(/@[A-Za-z_][\w.:]*/)) return "meta";
    if (stream.match(/(?:not|undef)\b/)) return "operatorKeyword";
    if (stream.match(/::|:-|:~|\.\./)) return "operator";
    if (stream.match(/_*[A-Z][\w']*|_/)) return "variableName";
    if (stream.match(/_*[a-z][\w']*/)) return "name";
    stream.next();
    return null;
  },
  languageData: { commentTokens: { line: "%", block: { open: "%*", close: "*%" } } },
};

export const language = StreamLanguage.define(parser);

export const colours = syntaxHighlighting(
  HighlightStyle.define([
    { tag: tags.comment, color: "var(--code-comment)", fontStyle: "italic" },
    { tag: tags.keyword, color: "var(--code-directive)" },
    { tag: tags.operatorKeyword, color: "var(--code-word)" },
    { tag: tags.operator, color: "var(--code-word)" },
    { tag: tags.number, color: "var(--code-number)" },
    { tag: tags.string, color: "var(--code-string)" },
    { tag: tags.variableName, color: "var(--code-variable)" },
    { tag: tags.meta, color: "var(--code-directive)" },
  ]),
);

/** Completion of directives, words and the names in the program; of semantics where one is named. */
export function completion(directives: Directive[], semantics: Record<string, string>) {
  const known: Completion[] = [
    ...directives.map((one) => ({
      label: one.word,
      type: "keyword",
      detail: one.about,
      info: one.form || undefined,
    })),
    { label: "not", type: "keyword" },
    { label: "undef", type: "keyword", detail: "neither true nor false" },
  ];
  const meanings = Object.entries(semantics).map(([label, detail]) => ({ label, type: "constant", detail }));
  return (context: CompletionContext): CompletionResult | null => {
    const word = context.matchBefore(/#?[\w']+|#/);
    if (!word || (word.from === word.to && !context.explicit)) return null;
    if (/^\d/.test(word.text)) return null;
    const line = context.state.doc.lineAt(word.from).text.slice(0, word.from - context.state.doc.lineAt(word.from).from);
    if (/#semantics\s[^.]*$/.test(line)) return { from: word.from, options: meanings, validFor: /^\w*$/ };
    const text = context.state.doc.toString().replace(/%[^\n]*/g, "");
    const names = new Set(text.match(/\b[a-z][\w']*/g) ?? []);
    names.delete(word.text);
    for (const one of known) names.delete(one.label.replace("#", ""));
    const own = [...names].map((label) => ({ label, type: "function" }));
    return { from: word.from, options: [...known, ...own], validFor: /^#?[\w']*$/ };
  };
}
