/**
 * A real VS Code (code-server) in a real Chromium, with the extension as it is packaged, the real server and the
 * scripted model: everything in a fresh folder, everything on 127.0.0.1, and nothing of it outlives its test.
 */

import assert from "node:assert/strict";
import type { ChildProcess } from "node:child_process";
import { createHash } from "node:crypto";
import { access, cp, mkdir, mkdtemp, readdir, readFile, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { TestContext } from "node:test";
import type { BrowserContext, Page } from "playwright-core";
import { type Guard, startGuard } from "./guard.ts";
import { type Model, startModel } from "./model.ts";
import { CODE_SERVER, FAILURES, fromRig, NODE, SERVER, VSIX } from "./places.ts";
import { end, run, start } from "./processes.ts";
import { PATIENCE, succeeds } from "./waiting.ts";
import { type Workbench, workbench } from "./workbench.ts";

const { chromium } = fromRig("playwright-core") as typeof import("playwright-core");

export interface EditorOptions {
  /** Paths and texts, in the workspace. */
  files?: Readonly<Record<string, string>>;
  /** Names and texts, in the project's memory directory. */
  memories?: Readonly<Record<string, string>>;
  /** The user's settings of the agent. */
  agentSettings?: object;
  /** Over the settings of VS Code that all tests have. */
  settings?: object;
  /** The program of the server, if it is another; empty: nothing is said about where it is. */
  server?: string;
  /** The program of a server that comes with the extension, in a copy of the extension. */
  bundled?: string;
  environment?: Readonly<Record<string, string>>;
  /** Nobody has said that the workspace may be trusted. */
  untrusted?: boolean;
  /** The model that needs no server answers instead of the scripted one. */
  offline?: boolean;
  /** Without it the user finds the workbench at its usual size. */
  size?: { width: number; height: number };
  /** Dots of a picture for each pixel. */
  scale?: number;
  /** Chromium writes down all that its network does, names that it looked up included. */
  netLog?: boolean;
  /** Called with the home and the workspace before anything starts. */
  prepare?: (folders: { home: string; workspace: string; project: string }) => Promise<void>;
}

export interface Editor extends Workbench {
  context: BrowserContext;
  model: Model;
  guard: Guard;
  /** Of code-server; all that belongs to the editor is below it. */
  pid: number;
  /** The folder of VS Code's own data, settings among it. */
  user: string;
  home: string;
  workspace: string;
  /** Where transcripts and memories of the workspace are. */
  project: string;
  /** Of the file in the workspace, on disk. */
  onDisk(path: string): Promise<string>;
  /** Reloads the window, by VS Code's own command. */
  reload(): Promise<void>;
  /** Ends Chromium and returns the log of its network. */
  finishNetLog(): Promise<string>;
}

export async function openEditor(test: TestContext, options: EditorOptions = {}): Promise<Editor> {
  // Not below this repository, whose instructions and memories are none of the test's business.
  const folder = await mkdtemp(join(await realpath(tmpdir()), "reverie-vscode-"));
  const [home, workspace, user] = ["home", "workspace", "user"].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  const configuration = join(home, ".claude");
  const project = join(configuration, "projects", workspace.replaceAll(/[^a-zA-Z0-9]/g, "-"));
  await mkdir(workspace, { recursive: true });
  await writeAll(workspace, options.files ?? {});
  await writeAll(join(project, "memory"), options.memories ?? {});
  await writeAll(configuration, { "settings.json": JSON.stringify(options.agentSettings ?? {}) });
  await writeAll(join(user, "User"), { "settings.json": JSON.stringify(editorSettings(options), null, 2) });
  await writeAll(join(user, "Machine"), { "settings.json": JSON.stringify(machineSettings(options)) });
  await options.prepare?.({ home, workspace, project });

  const guard = await startGuard();
  const model = await startModel();
  await model.always("title", "A conversation");
  await model.always("recall", '{"selected": []}');
  const environment = {
    PATH: `${dirname(NODE)}:${process.env.PATH}`,
    HOME: home,
    CLAUDE_CONFIG_DIR: configuration,
    LANG: "C.UTF-8",
    SHELL: "/bin/bash",
    EXTENSIONS_GALLERY: "{}",
    ...(options.offline ? {} : { ANTHROPIC_BASE_URL: model.url, ANTHROPIC_API_KEY: "test-key" }),
    ...options.environment,
  };
  const installed = await installedExtensions(environment);
  const extensions =
    options.bundled === undefined
      ? installed
      : await withServer(installed, join(folder, "extensions"), options.bundled);
  const server = start(NODE, codeServerFlags(folder, extensions, options), {
    env: environment,
    cwd: folder,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const log = collect(server);
  const netLog = join(folder, "network.json");
  let context: BrowserContext | undefined;
  const closeBrowser = async (): Promise<void> => {
    await context?.close();
    context = undefined;
  };
  // Registered before anything can fail, so that a failure anywhere leaves nothing behind.
  test.after(async () => {
    // Newer than its types.
    const failed = Reflect.get(test, "passed") !== true;
    if (failed) {
      await keepEvidence(test, context, user, home, log());
    }
    await closeBrowser();
    await end(server);
    await guard.close();
    const used = model.finish();
    used.catch(() => undefined);
    if (failed) {
      await used.catch((error: unknown) => console.error(error));
    }
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    if (!failed) {
      await used;
      assert.deepEqual(guard.left, [], "something left the machine");
    }
  });

  const port = await listeningPort(server, log);
  context = await chromium.launchPersistentContext(join(folder, "browser"), {
    executablePath: "/usr/bin/chromium",
    headless: true,
    viewport: options.size ?? { width: 1400, height: 900 },
    deviceScaleFactor: options.scale ?? 1,
    permissions: ["clipboard-read", "clipboard-write"],
    args: [
      "--headless",
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
      ...guard.chromiumFlags,
      ...(options.netLog ? [`--log-net-log=${netLog}`, "--net-log-capture-mode=Everything"] : []),
    ],
  });
  context.setDefaultTimeout(PATIENCE);
  await guard.watch(context);
  const page = context.pages()[0] ?? (await context.newPage());
  const address = `http://127.0.0.1:${port}/?folder=${encodeURIComponent(workspace)}`;
  await page.goto(address);
  await settled(page);
  const window = workbench(page);
  return {
    ...window,
    context,
    model,
    guard,
    pid: server.pid ?? 0,
    user,
    home,
    workspace,
    project,
    onDisk: (path) => readFile(join(workspace, path), "utf8"),
    reload: async () => {
      const loaded = page.waitForEvent("load");
      await window.command("Developer: Reload Window");
      await loaded;
      await settled(page);
    },
    finishNetLog: async () => {
      await closeBrowser();
      return await readFile(netLog, "utf8");
    },
  };
}

/** The workbench is there, and knows what the extension adds to it. */
async function settled(page: Page): Promise<void> {
  await page.locator('.part.activitybar .action-label[aria-label^="Reverie"]').waitFor();
}

function editorSettings(options: EditorOptions): object {
  return {
    "workbench.startupEditor": "none",
    "workbench.tips.enabled": false,
    "workbench.enableExperiments": false,
    "telemetry.telemetryLevel": "off",
    "update.mode": "none",
    "extensions.autoUpdate": false,
    "extensions.autoCheckUpdates": false,
    "extensions.ignoreRecommendations": true,
    "chat.disableAIFeatures": true,
    "security.workspace.trust.enabled": options.untrusted === true,
    "security.workspace.trust.startupPrompt": "never",
    "files.autoSave": "off",
    "git.openRepositoryInParentFolders": "never",
    "editor.minimap.enabled": false,
    "editor.lightbulb.enabled": "off",
    ...options.settings,
  };
}

/** What belongs to the machine and not to the user is read from a file of its own. */
function machineSettings({ server }: EditorOptions): object {
  return server === "" ? {} : { "reverie.server.path": server ?? SERVER };
}

function codeServerFlags(folder: string, extensions: string, options: EditorOptions): string[] {
  return [
    CODE_SERVER,
    "--bind-addr=127.0.0.1:0",
    "--auth=none",
    "--disable-telemetry",
    "--disable-update-check",
    "--disable-getting-started-override",
    ...(options.untrusted ? [] : ["--disable-workspace-trust"]),
    `--user-data-dir=${join(folder, "user")}`,
    `--extensions-dir=${extensions}`,
    `--config=${join(folder, "config.yaml")}`,
    // Without it a closed browser leaves an extension host, and our server, alive for hours.
    "--reconnection-grace-time=5",
  ];
}

/** The packaged extension, unpacked by VS Code once for each package and kept for the next test. */
async function installedExtensions(environment: NodeJS.ProcessEnv): Promise<string> {
  const key = createHash("sha256")
    .update(await readFile(VSIX))
    .digest("hex")
    .slice(0, 16);
  const all = join(dirname(VSIX), "extensions");
  const folder = join(all, key);
  const ready = join(folder, "installed");
  if (await succeeds(access(ready))) {
    return folder;
  }
  await rm(all, { recursive: true, force: true });
  const flags = [`--extensions-dir=${folder}`, `--user-data-dir=${join(all, "user")}`];
  await run(NODE, [CODE_SERVER, ...flags, "--install-extension", VSIX], { env: environment });
  await writeFile(ready, "");
  return folder;
}

/** A copy of the installed extensions in which ours brings a server along. */
async function withServer(installed: string, folder: string, program: string): Promise<string> {
  await cp(installed, folder, { recursive: true });
  const names = await readdir(folder);
  for (const name of names.filter((name) => name.startsWith("reverie.reverie-"))) {
    await mkdir(join(folder, name, "bin"), { recursive: true });
    await symlink(program, join(folder, name, "bin", "reverie"));
  }
  return folder;
}

function collect(server: ChildProcess): () => string {
  let text = "";
  for (const stream of [server.stdout, server.stderr]) {
    stream?.on("data", (data) => {
      text += data;
    });
  }
  return () => text;
}

async function listeningPort(server: ChildProcess, log: () => string): Promise<number> {
  return await new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`VS Code did not start:\n${log()}`)), PATIENCE);
    const look = (): void => {
      const port = /listening on http:\/\/127\.0\.0\.1:(\d+)/.exec(log())?.[1];
      if (port) {
        clearTimeout(timer);
        resolve(Number(port));
      }
    };
    server.stdout?.on("data", look);
    server.once("exit", () => {
      clearTimeout(timer);
      reject(new Error(`VS Code ended:\n${log()}`));
    });
  });
}

/** What one needs to understand a failure: a picture, and the logs of VS Code, of the extension and of the server. */
async function keepEvidence(
  test: TestContext,
  context: BrowserContext | undefined,
  user: string,
  home: string,
  log: string,
): Promise<void> {
  const folder = join(FAILURES, test.fullName.replaceAll(/[^a-zA-Z0-9]+/g, "-"));
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  await context
    ?.pages()[0]
    ?.screenshot({ path: join(folder, "screen.png"), timeout: 10_000 })
    .catch((error: unknown) => console.error("no picture:", error));
  await writeFile(join(folder, "code-server.log"), log);
  for (const [name, from] of [
    ["vscode", join(user, "logs")],
    ["home", home],
  ] as const) {
    await cp(from, join(folder, name), { recursive: true }).catch(() => undefined);
  }
  const logs = await readdir(folder, { recursive: true });
  for (const name of logs.filter((name) => /reverie[^/]*\.log$/i.test(name))) {
    const text = await readFile(join(folder, name), "utf8");
    console.error(`== the end of ${name}\n${text.split("\n").slice(-30).join("\n")}`);
  }
  console.error(`== more in ${folder}`);
}

async function writeAll(folder: string, files: Readonly<Record<string, string>>): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), text);
  }
}
