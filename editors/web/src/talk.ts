/** Talking with the server: requests with numbers, replies that carry them back. */

export interface Diagnostic {
  line: number | null;
  column: number | null;
  end_line: number | null;
  end_column: number | null;
  code: string;
  message: string;
  help: string;
}

/** How far a request is: its stage in words, and the share of it that is done, if known. */
export interface Progress {
  stage: string;
  share: number | null;
}

/** A reply that is no result: errors of the program, or words of the server. */
export class Refusal extends Error {
  constructor(
    readonly diagnostics: Diagnostic[],
    message: string,
    readonly left = 0, // diagnostics that are not listed
  ) {
    super(message);
  }
}

interface Waiting {
  task: string;
  progress: Progress | null;
  resolve: (value: never) => void;
  reject: (reason: Refusal) => void;
}

/** How the connection stands; "refused" comes with the server's own words. */
export type State = "open" | "closed" | "forbidden" | "refused";
type Listener = (state: State, words: string) => void;

/** A connection that opens again when it breaks. */
export class Talk {
  private socket: WebSocket | null = null;
  private waiting = new Map<number, Waiting>();
  private next = 1;
  private tries = 0;
  private since = 0;
  private words = ""; // of a server that takes no requests now

  /** `allowed` finds out whether the server would take this browser's requests. */
  constructor(
    private readonly listener: Listener,
    private readonly busy: () => void,
    private readonly allowed: () => Promise<boolean>,
  ) {
    this.connect();
  }

  /** Ask for something; rejects with a Refusal. */
  ask<T>(task: string, request: Record<string, unknown>): Promise<T> {
    if (this.socket?.readyState !== WebSocket.OPEN)
      return Promise.reject(new Refusal([], "The playground is not connected."));
    const id = this.next++;
    if (!this.waiting.size) this.since = performance.now();
    return new Promise<T>((resolve, reject) => {
      this.waiting.set(id, { task, progress: null, resolve: resolve as (value: never) => void, reject });
      this.busy();
      this.socket?.send(JSON.stringify({ id, task, ...request }));
    });
  }

  /** End what is under way; everything that waits is refused. */
  stop(): void {
    if (!this.waiting.size) return;
    this.socket?.send(JSON.stringify({ id: this.next++, task: "stop" }));
    this.refuseAll("Stopped.");
  }

  /** For how many milliseconds something has been under way; 0 if nothing is. */
  get working(): number {
    return this.waiting.size ? Math.max(1, performance.now() - this.since) : 0;
  }

  /** What is under way: the request that came first, and how far it is. */
  get doing(): { task: string; progress: Progress | null } | undefined {
    return this.waiting.values().next().value;
  }

  private connect(): void {
    const url = new URL("talk", location.href);
    url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
    url.hash = url.search = "";
    const socket = new WebSocket(url);
    this.socket = socket;
    socket.onopen = () => {
      this.words = "";
      this.listener("open", "");
    };
    socket.onmessage = (event) => this.receive(JSON.parse(String(event.data)));
    socket.onclose = () => void this.closed();
  }

  private async closed(): Promise<void> {
    this.refuseAll("The connection was lost.");
    window.setTimeout(() => this.connect(), Math.min(10_000, 500 * 2 ** ++this.tries));
    if (this.words) this.listener("refused", this.words);
    else this.listener((await this.allowed()) ? "closed" : "forbidden", "");
  }

  private receive(reply: Record<string, unknown>): void {
    const id = reply["id"] as number | null;
    if (id === null) {
      this.words = String(reply["refused"] ?? ""); // to nobody in particular: it closes now
      return;
    }
    this.tries = 0;
    const waiting = this.waiting.get(id);
    if ("progress" in reply) {
      if (waiting) waiting.progress = reply["progress"] as Progress;
      this.busy();
      return;
    }
    this.waiting.delete(id);
    this.busy();
    if (!waiting) return;
    if ("ok" in reply) waiting.resolve(reply["ok"] as never);
    else if ("errors" in reply) {
      const found = reply["errors"] as Diagnostic[];
      const left = Number(reply["left"] ?? 0);
      waiting.reject(new Refusal(found, found[0]?.message ?? "Something is wrong.", left));
    } else if ("bug" in reply) {
      waiting.reject(new Refusal([], `This is a bug in dPASP: ${String(reply["bug"])}`));
    } else {
      waiting.reject(new Refusal([], String(reply["refused"] ?? reply["stopped"])));
    }
  }

  private refuseAll(why: string): void {
    const all = [...this.waiting.values()];
    this.waiting.clear();
    this.busy();
    for (const one of all) one.reject(new Refusal([], why));
  }
}
