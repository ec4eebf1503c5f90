/** As much of VS Code as the host's side of the conversation needs, so that it can be run without one. */

import { register } from "node:module";

const STUB = `
  export class EventEmitter {
    #listeners = new Set();
    event = (listener) => {
      this.#listeners.add(listener);
      return { dispose: () => this.#listeners.delete(listener) };
    };
    fire(event) {
      for (const listener of [...this.#listeners]) listener(event);
    }
    dispose() {}
  }
  export const workspace = { isTrusted: true };
  export const window = {};
`;

const HOOK = `
  export const resolve = (specifier, context, next) =>
    specifier === "vscode"
      ? { url: ${JSON.stringify(source(STUB))}, shortCircuit: true }
      : next(specifier, context);
`;

/** What is imported after this gets the stub. */
register(source(HOOK));

function source(code: string): string {
  return `data:text/javascript,${encodeURIComponent(code)}`;
}
