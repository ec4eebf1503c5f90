/**
 * Looks at every element that comes into the chat view, for as long as it is there: what could load, run, navigate or
 * cover something is written down. Runs in the page.
 */

import assert from "node:assert/strict";
import type { Frame, Page } from "playwright-core";
import type { Editor } from "./harness.ts";
import type { Sink } from "./payloads.ts";

export interface Inspection {
  /** What was loaded, ran, went elsewhere or was drawn though it should not, in words. */
  problems(): Promise<string[]>;
  /** Goes through the whole conversation and opens all that can be opened. */
  walk(): Promise<void>;
  /** Does what no text may do, and fails if that is not noticed. */
  provoke(): Promise<void>;
}

export async function inspectChat({ chat, page, context, guard }: Editor, sink: Sink): Promise<Inspection> {
  const body = await chat.locator("body").elementHandle();
  const frame = await body?.ownerFrame();
  assert.ok(frame, "the view is a frame");
  await frame.evaluate(watch);
  const found = () => frame.evaluate(() => (Reflect.get(window, "__reverieFound") as () => string[])());
  const asked: string[] = [];
  context.on("request", (request) => {
    if (!request.isNavigationRequest() && request.serviceWorker() === null && isInside(request.frame(), frame)) {
      asked.push(request.url());
    }
  });
  return {
    problems: async () => [
      ...(await found()).map((words) => `drawn: ${words}`),
      ...(await hostileAddresses(page, sink)).map((words) => `drawn in the workbench: ${words}`),
      ...asked.map((address) => `asked for by the view: ${address}`),
      ...sink.hits.map((address) => `reached the sink: ${address}`),
      ...guard.left.map((address) => `left: ${address}`),
      ...guard.ran.map((id) => `ran: ${id}`),
      ...guard.dialogs.map((words) => `dialog: ${words}`),
      ...guard.pages.map((address) => `opened: ${address}`),
      ...guard.navigations.map((address) => `went to: ${address}`),
      ...guard.refused.map((words) => `refused: ${words}`),
    ],
    walk: async () => {
      const { rows, drawn } = await frame.evaluate(walkThrough);
      assert.equal(drawn, rows, "every row was drawn");
    },
    provoke: async () => {
      await frame.evaluate(async (url) => {
        const refused = new Promise((resolve) => document.addEventListener("securitypolicyviolation", resolve));
        Reflect.set(window, "__hacked", "control");
        const image = document.createElement("img");
        image.src = `${url}/control`;
        document.body.append(image);
        await refused;
      }, sink.url);
      const words = (await found()).join("\n");
      assert.match(words, /^element img/m);
      assert.match(words, /^refused img-src http:\/\/127\.0\.0\.1:\d+\/control/m);
      assert.deepEqual(guard.ran, ["control"]);
    },
  };
}

function isInside(frame: Frame, outer: Frame): boolean {
  for (let at: Frame | null = frame; at !== null; at = at.parentFrame()) if (at === outer) return true;
  return false;
}

/** Of the workbench itself, what would follow an address that came as text. */
async function hostileAddresses(page: Page, sink: Sink): Promise<string[]> {
  return await page.evaluate((port) => {
    const names = ["action", "data", "data-href", "href", "poster", "src", "srcdoc", "srcset", "style"];
    const foreign = new RegExp(
      `hostile\\.invalid|127\\.0\\.0\\.1:${port}\\b|__reverieRan|workbench\\.action\\.(quit|terminal)`,
    );
    return names.flatMap((name) =>
      [...document.querySelectorAll(`[${name}]`)]
        .filter((element) => foreign.test(element.getAttribute(name) ?? ""))
        .map((element) => element.outerHTML.slice(0, 300)),
    );
  }, sink.port);
}

function watch(): void {
  const TAGS = new Set(
    (
      "a article blockquote body br button caption code dd del details div dl dt em fieldset form h1 h2 h3 h4 h5 h6 " +
      "header hr html input kbd label legend li main nav ol option p pre s section select span strong summary table " +
      "tbody td textarea th thead time tr ul wbr"
    ).split(" "),
  );
  /** Attributes that a browser follows. */
  const ADDRESSES = new Set(
    (
      "action archive background cite classid code codebase data dynsrc formaction href icon imagesizes imagesrcset " +
      "longdesc lowsrc manifest ping poster profile src srcdoc srcset usemap xlink:href xml:base"
    ).split(" "),
  );
  const CLASSES =
    /^(md-|code$|code-|hljs-|language-|[a-z]+_+$|align-(left|center|right)$|codicon(-[a-z-]+)?$|icon-button$)/;
  const found = new Set<string>();
  const known = new Set<Element>(document.querySelectorAll("script, style, link, meta, title, head"));

  const problem = (element: Element): string | undefined => {
    if (known.has(element) || element.closest(".chrome-ring") !== null) return undefined;
    const tag = element.tagName.toLowerCase();
    if (!TAGS.has(tag) || element.namespaceURI !== "http://www.w3.org/1999/xhtml") return `element ${tag}`;
    const isContent = element.closest(".md-block") !== null && !element.classList.contains("md-block");
    if (tag === "form" && !element.classList.contains("page-compact")) return "form";
    for (const { name, value } of element.attributes) {
      const attribute = name.toLowerCase();
      if (attribute.startsWith("on")) return `handler ${attribute}`;
      if (ADDRESSES.has(attribute)) return `address ${attribute}`;
      if (attribute === "style" && (isContent || /url\(|image-set|expression|@import/i.test(value))) return "style";
      if ((attribute === "id" || attribute === "name") && isContent) return attribute;
      if (attribute === "data-url" && !/^(https?:\/\/|mailto:)/i.test(value)) return "data-url";
      if (attribute === "data-path" && /^[a-z][a-z0-9+.-]+:(?!\d)/i.test(value)) return "data-path";
    }
    const foreign = isContent ? [...element.classList].find((name) => !CLASSES.test(name)) : undefined;
    return foreign === undefined ? undefined : `class ${foreign}`;
  };
  const check = (element: Element): void => {
    const words = problem(element);
    if (words !== undefined) found.add(`${words}: ${element.outerHTML.slice(0, 300)}`);
  };
  const observer = new MutationObserver((records) => {
    for (const { target, type, addedNodes } of records) {
      if (type === "attributes" && target instanceof Element) check(target);
      for (const node of addedNodes) {
        if (!(node instanceof Element)) continue;
        check(node);
        node.querySelectorAll("*").forEach(check);
      }
    }
  });
  // The page of a view is written into its frame, which takes away whoever listened before.
  document.addEventListener("securitypolicyviolation", ({ effectiveDirective, blockedURI }) => {
    found.add(`refused ${effectiveDirective} ${blockedURI}`);
  });
  observer.observe(document, { subtree: true, childList: true, attributes: true });
  document.body.querySelectorAll("*").forEach(check);
  Reflect.set(window, "__reverieFound", () => {
    const all = [...found];
    found.clear();
    return all;
  });
}

async function walkThrough(): Promise<{ rows: number; drawn: number }> {
  const painted = () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
  const scroller = document.querySelector(".list-scroller");
  const drawn = new Set<string>();
  let rows = 0;
  if (scroller === null) throw new Error("there is no conversation");
  scroller.scrollTop = 0;
  for (let isAtEnd = false; !isAtEnd; ) {
    await painted();
    const folded = '.row [aria-expanded="false"], .row .diff .more-button';
    for (const button of document.querySelectorAll<HTMLElement>(folded)) button.click();
    await painted();
    let bottom = 0;
    for (const row of document.querySelectorAll(".row")) {
      drawn.add(row.getAttribute("aria-posinset") ?? "");
      rows = Number(row.getAttribute("aria-setsize"));
      bottom = Math.max(bottom, row.getBoundingClientRect().bottom - scroller.getBoundingClientRect().top);
    }
    const before = scroller.scrollTop;
    scroller.scrollTop = before + bottom;
    isAtEnd = scroller.scrollTop <= before + 1;
  }
  return { rows, drawn: drawn.size };
}
