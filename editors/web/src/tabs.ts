/** The tabs: one panel at a time, arrow keys move between them. */

import { find } from "./dom";

export type Tab = "answers" | "why" | "decide" | "learn" | "graph" | "models";
export const TABS: Tab[] = ["answers", "why", "decide", "learn", "graph", "models"];

export class Tabs {
  current: Tab = "answers";

  constructor(private readonly shown: (tab: Tab) => void) {
    TABS.forEach((tab, i) => {
      const button = find(`tab-${tab}`);
      button.addEventListener("click", () => this.show(tab));
      button.addEventListener("keydown", (event) => {
        const to = { ArrowRight: i + 1, ArrowLeft: i + TABS.length - 1, Home: 0, End: TABS.length - 1 }[event.key];
        const next = to === undefined ? undefined : TABS[to % TABS.length];
        if (!next) return;
        this.show(next);
        find(`tab-${next}`).focus();
      });
    });
  }

  show(tab: Tab): void {
    this.current = tab;
    for (const one of TABS) {
      const button = find(`tab-${one}`);
      button.setAttribute("aria-selected", String(one === tab));
      button.tabIndex = one === tab ? 0 : -1;
      find(one).hidden = one !== tab;
    }
    this.shown(tab);
  }
}
