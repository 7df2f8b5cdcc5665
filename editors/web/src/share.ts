/** A program in a link: its text, packed, after the # (which browsers send to nobody). */

export interface Shared {
  text: string;
  semantics: string[];
  table: string; // to learn from
}

export async function pack(shared: Shared): Promise<string> {
  const bytes = new TextEncoder().encode(JSON.stringify([shared.text, shared.semantics, ...(shared.table ? [shared.table] : [])]));
  const packed = await through(bytes, new CompressionStream("deflate-raw"), Infinity);
  const letters = btoa(Array.from(packed, (byte) => String.fromCharCode(byte)).join(""));
  return letters.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** What was packed; rejects where it is something else, or more than `most` bytes. */
export async function unpack(letters: string, most: number): Promise<Shared> {
  const text = atob(letters.replaceAll("-", "+").replaceAll("_", "/"));
  const bytes = Uint8Array.from(text, (letter) => letter.charCodeAt(0));
  const inflated = await through(bytes, new DecompressionStream("deflate-raw"), most);
  const found = JSON.parse(new TextDecoder().decode(inflated));
  if (typeof found?.[0] !== "string" || !Array.isArray(found?.[1])) throw new Error("it is something else");
  return { text: found[0], semantics: found[1].map(String), table: String(found[2] ?? "") };
}

/** What a stream makes of some bytes; it is cancelled as soon as that is more than `most` bytes. */
async function through(bytes: Uint8Array, stream: GenericTransformStream, most: number): Promise<Uint8Array> {
  const piped = new Blob([bytes as BlobPart]).stream().pipeThrough(stream as ReadableWritablePair<Uint8Array>);
  const reader = piped.getReader();
  const parts: Uint8Array[] = [];
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    size += value.length;
    if (size > most) {
      void reader.cancel();
      throw new Error("it is too large");
    }
    parts.push(value);
  }
  const whole = new Uint8Array(size);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
