// Builds the page into src/dpasp/playground/static: one script, one style sheet, the page
// itself, and the licences of what is inside.

import { build } from "esbuild";
import { createHash } from "node:crypto";
import { cpSync, readFileSync, readdirSync, writeFileSync } from "node:fs";

const OUT = new URL("../../src/dpasp/playground/static/", import.meta.url).pathname;

const result = await build({
  entryPoints: ["src/main.ts", "src/style.css"],
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2022",
  legalComments: "none",
  entryNames: "[name]",
  outdir: OUT,
  metafile: true,
});
cpSync("src/index.html", `${OUT}index.html`);
cpSync("src/icon.svg", `${OUT}icon.svg`);
writeFileSync(`${OUT}LICENSES.txt`, licences(packages(result.metafile)));
writeFileSync(`${OUT}built-from.txt`, `${digest()}\n`);

/** A digest of all that the page is built from; a test says when the page is older. */
function digest() {
  const hash = createHash("sha256");
  const sources = readdirSync("src").sort().map((name) => `src/${name}`);
  for (const file of ["build.mjs", "package-lock.json", ...sources]) hash.update(readFileSync(file));
  return hash.digest("hex");
}

/** The packages whose code is in the bundle, by name. */
function packages(metafile) {
  const found = Object.keys(metafile.inputs).map((file) =>
    /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(file)?.[1],
  );
  return [...new Set(found.filter(Boolean))].sort();
}

/** Their licences, one after the other. */
function licences(names) {
  const texts = names.map((name) => {
    const folder = `node_modules/${name}`;
    const { version, license } = JSON.parse(readFileSync(`${folder}/package.json`, "utf8"));
    const file = readdirSync(folder).find((one) => /^licen[cs]e/i.test(one));
    const text = file ? readFileSync(`${folder}/${file}`, "utf8") : "";
    return `${name} ${version} (${license})\n\n${text.trim()}\n`;
  });
  return `The script of the playground holds code of these packages.\n\n${texts.join("\n---\n\n")}`;
}
