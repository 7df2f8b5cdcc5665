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

/** A reply that is no result: errors of the program, or words of the server. */
export class Refusal extends Error {
  constructor(
    readonly diagnostics: Diagnostic[],
    message: string,
  ) {
    super(message);
  }
}

interface Waiting {
  resolve: (value: never) => void;
  reject: (reason: Refusal) => void;
}

type Listener = (state: "open" | "closed" | "forbidden") => void;

/** A connection that opens again when it breaks. */
export class Talk {
  private socket: WebSocket | null = null;
  private waiting = new Map<number, Waiting>();
  private next = 1;
  private tries = 0;
  private since = 0;

  constructor(
    private readonly listener: Listener,
    private readonly busy: (count: number) => void,
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
      this.waiting.set(id, { resolve: resolve as (value: never) => void, reject });
      this.busy(this.waiting.size);
      this.socket?.send(JSON.stringify({ id, task, ...request }));
    });
  }

  /** End what is under way; everything that waits is refused. */
  stop(): void {
    if (!this.waiting.size) return;
    this.socket?.send(JSON.stringify({ task: "stop" }));
    this.refuseAll("Stopped.");
  }

  /** For how many milliseconds something has been under way; 0 if nothing is. */
  get working(): number {
    return this.waiting.size ? Math.max(1, performance.now() - this.since) : 0;
  }

  private connect(): void {
    const url = new URL("talk", location.href);
    url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
    url.hash = "";
    const socket = new WebSocket(url);
    let opened = false;
    this.socket = socket;
    socket.onopen = () => {
      opened = true;
      this.tries = 0;
      this.listener("open");
    };
    socket.onmessage = (event) => this.receive(JSON.parse(String(event.data)));
    socket.onclose = () => {
      this.refuseAll("The connection was lost.");
      this.listener(opened || this.tries > 0 ? "closed" : "forbidden");
      this.tries += 1;
      window.setTimeout(() => this.connect(), Math.min(10_000, 500 * 2 ** this.tries));
    };
  }

  private receive(reply: Record<string, unknown>): void {
    const id = reply["id"] as number;
    const waiting = this.waiting.get(id);
    this.waiting.delete(id);
    this.busy(this.waiting.size);
    if (!waiting) return;
    if ("ok" in reply) waiting.resolve(reply["ok"] as never);
    else if ("errors" in reply) {
      const found = reply["errors"] as Diagnostic[];
      waiting.reject(new Refusal(found, found[0]?.message ?? "Something is wrong."));
    } else if ("bug" in reply) {
      waiting.reject(new Refusal([], `This is a bug in dPASP: ${String(reply["bug"])}`));
    } else {
      waiting.reject(new Refusal([], String(reply["refused"] ?? reply["stopped"])));
    }
  }

  private refuseAll(why: string): void {
    const all = [...this.waiting.values()];
    this.waiting.clear();
    this.busy(0);
    for (const one of all) one.reject(new Refusal([], why));
  }
}
