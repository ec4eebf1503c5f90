/** What is offered where the server does not run. The chat view may run these commands of the extension, and no others. */

import type { ServerHelp } from "./chat/state.ts";

export const HELP = {
  restart: { label: "Restart", command: "reverie.restartServer" },
  log: { label: "Show log", command: "reverie.showLog" },
  settings: { label: "Open settings", command: "reverie.openSettings" },
  doctor: { label: "Doctor", command: "reverie.doctor" },
} as const satisfies Record<string, ServerHelp>;
