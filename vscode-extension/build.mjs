// Builds dist/: the extension for the extension host, the chat view for its web view.
// `--watch` builds again at each change, `--minify` is what a package gets.
import { copyFile, mkdir, stat } from "node:fs/promises";
import esbuild from "esbuild";

/** What a chat view may weigh, all its files together. */
const WEBVIEW_BUDGET = 1_000_000;

const minify = process.argv.includes("--minify");
const shared = { bundle: true, minify, sourcemap: minify ? false : "linked", logLevel: "info", legalComments: "none" };

const builds = [
  {
    ...shared,
    entryPoints: ["src/extension.ts"],
    outfile: "dist/extension.cjs",
    platform: "node",
    format: "cjs",
    target: "node20",
    external: ["vscode"],
  },
  {
    ...shared,
    entryPoints: ["src/web.ts"],
    outfile: "dist/web.cjs",
    platform: "browser",
    format: "cjs",
    target: "es2022",
    external: ["vscode"],
  },
  {
    ...shared,
    entryPoints: { webview: "webview/main.tsx", style: "webview/style.css" },
    outdir: "dist/webview",
    platform: "browser",
    format: "iife",
    target: "es2022",
    jsx: "automatic",
    jsxImportSource: "preact",
    loader: { ".ttf": "file" },
    assetNames: "[name]",
  },
];

await mkdir("dist/webview", { recursive: true });
await copyFile("node_modules/@vscode/codicons/dist/codicon.ttf", "dist/webview/codicon.ttf");

if (process.argv.includes("--watch")) {
  const contexts = await Promise.all(builds.map((options) => esbuild.context(options)));
  await Promise.all(contexts.map((context) => context.watch()));
} else {
  await Promise.all(builds.map((options) => esbuild.build(options)));
  const files = ["webview.js", "style.css", "codicon.ttf"];
  const sizes = await Promise.all(files.map(async (file) => (await stat(`dist/webview/${file}`)).size));
  const total = sizes.reduce((sum, size) => sum + size, 0);
  console.log(`web view: ${Math.round(total / 1000)} KB of ${WEBVIEW_BUDGET / 1000} KB`);
  if (minify && total > WEBVIEW_BUDGET) {
    console.error("the web view is over its budget");
    process.exit(1);
  }
}
