/** A program in a link: its text, packed, after the # (which browsers send to nobody). */

export interface Shared {
  text: string;
  semantics: string[];
}

export async function pack(shared: Shared): Promise<string> {
  const bytes = new TextEncoder().encode(JSON.stringify([shared.text, shared.semantics]));
  const packed = await through(bytes, new CompressionStream("deflate-raw"));
  const letters = btoa(Array.from(packed, (byte) => String.fromCharCode(byte)).join(""));
  return letters.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

export async function unpack(letters: string): Promise<Shared> {
  const text = atob(letters.replaceAll("-", "+").replaceAll("_", "/"));
  const bytes = Uint8Array.from(text, (letter) => letter.charCodeAt(0));
  const found = JSON.parse(new TextDecoder().decode(await through(bytes, new DecompressionStream("deflate-raw"))));
  if (typeof found?.[0] !== "string" || !Array.isArray(found?.[1])) throw new Error("not a program");
  return { text: found[0], semantics: found[1].map(String) };
}

async function through(bytes: Uint8Array, stream: GenericTransformStream): Promise<Uint8Array> {
  const blob = new Blob([bytes as BlobPart]).stream().pipeThrough(stream as ReadableWritablePair);
  return new Uint8Array(await new Response(blob).arrayBuffer());
}
