/**
 * Watches that nothing leaves the machine and that nothing runs that should not. All that Chromium sends anywhere but
 * to 127.0.0.1 goes to a proxy of ours that answers nothing and writes it down, so that not even a preconnect is missed;
 * frames report scripts that ran and what their policies refused.
 */

import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { BrowserContext } from "playwright-core";

export interface Guard {
  /** For Chromium: all but 127.0.0.1 goes through the proxy. */
  chromiumFlags: readonly string[];
  watch(context: BrowserContext): Promise<void>;
  /** What left, or tried to: addresses. */
  readonly left: readonly string[];
  /** Scripts that ran although they came as text: each payload's canary. */
  readonly ran: readonly string[];
  readonly dialogs: readonly string[];
  /** Pages that were opened beside the editor's. */
  readonly pages: readonly string[];
  /** What a content security policy refused, as `directive address`. */
  readonly refused: readonly string[];
  /** Frames that went elsewhere. */
  readonly navigations: readonly string[];
  /** For a test that provokes what is watched for. */
  forget(): void;
  close(): Promise<void>;
}

/** What Chromium asks its makers for by itself, whatever is open in it. */
const CHROMIUM_ITSELF =
  /^(https?:\/\/)?(update|content-autofill|optimizationguide-pa|clients\d)\.googleapis\.com\b|^(accounts\.google|redirector\.gvt1)\.com\b/;

export async function startGuard(): Promise<Guard> {
  const left: string[] = [];
  const leaves = (method: string | undefined, address: string | undefined): void => {
    if (!CHROMIUM_ITSELF.test(address ?? "")) {
      left.push(`${method} ${address}`);
    }
  };
  const proxy = createServer((request, response) => {
    leaves(request.method, request.url);
    response.writeHead(502).end();
  });
  proxy.on("connect", (request, socket) => {
    leaves("CONNECT", request.url);
    socket.on("error", goneMeanwhile);
    socket.end("HTTP/1.1 502 Bad Gateway\r\n\r\n");
  });
  proxy.on("upgrade", (request, socket) => {
    leaves("UPGRADE", request.url);
    socket.on("error", goneMeanwhile);
    socket.destroy();
  });
  const port = await listen(proxy);
  const ran: string[] = [];
  const dialogs: string[] = [];
  const pages: string[] = [];
  const refused: string[] = [];
  const navigations: string[] = [];
  return {
    chromiumFlags: [`--proxy-server=http://127.0.0.1:${port}`, "--proxy-bypass-list=127.0.0.1"],
    left,
    ran,
    dialogs,
    pages,
    refused,
    navigations,
    watch: async (context) => {
      await context.exposeBinding("__reverieRan", (_source, what: unknown) => {
        ran.push(String(what));
      });
      await context.exposeBinding("__reverieRefused", (_source, what: unknown) => {
        refused.push(String(what));
      });
      await context.addInitScript(reportFromFrame);
      const editor = context.pages()[0];
      context.on("page", (page) => {
        if (page !== editor) {
          pages.push(page.url());
        }
      });
      context.on("dialog", async (dialog) => {
        // The workbench asks before it is left; that is its own business.
        if (dialog.type() === "beforeunload") {
          await dialog.accept();
          return;
        }
        dialogs.push(dialog.message());
        await dialog.dismiss();
      });
      editor?.on("framenavigated", (frame) => {
        const { protocol, hostname } = new URL(frame.url());
        const ours = hostname === "127.0.0.1" || protocol === "about:" || protocol === "blob:";
        if (!ours) {
          navigations.push(frame.url());
        }
      });
    },
    forget: () => {
      left.length = 0;
    },
    close: async () => {
      proxy.closeAllConnections();
      await new Promise((resolve) => proxy.close(resolve));
    },
  };
}

/** A browser that ends waits for no answer, and that is no failure of anybody's. */
function goneMeanwhile(): void {}

/** Runs in every frame before anything else. `__hacked` is what payloads set when they run. */
function reportFromFrame(): void {
  const report = (name: string, what: unknown): void => {
    const binding: unknown = Reflect.get(window, name);
    if (typeof binding === "function") {
      binding(what);
    }
  };
  Object.defineProperty(window, "__hacked", {
    get: () => undefined,
    set: (what) => report("__reverieRan", what ?? "something"),
  });
  document.addEventListener("securitypolicyviolation", (event) => {
    report("__reverieRefused", `${event.effectiveDirective} ${event.blockedURI}`);
  });
}

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return (server.address() as AddressInfo).port;
}
