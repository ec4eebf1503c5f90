/** What comes into the composer from elsewhere: words to edit, attachments of a command, the focus. */

import { useLayoutEffect } from "preact/hooks";
import type { Attachment } from "../../src/chat/state.ts";
import { onCommand } from "../view.ts";

export interface Incoming {
  /** Puts words before what is typed, for the user to go on with. */
  begin: (words: string) => void;
  attach: (attachments: readonly Attachment[]) => void;
  focus: () => void;
}

/** The three must stay the same from render to render. */
export function useIncoming({ begin, attach, focus }: Incoming): void {
  // With the first drawing: what waits is given out right after it.
  useLayoutEffect(
    () =>
      onCommand((command) => {
        if (command.type === "focus") {
          focus();
        } else if (command.type === "attach") {
          // The words first: what they name needs no chip.
          if (command.text) {
            begin(command.text);
          }
          if (command.attachments.length > 0) {
            attach(command.attachments);
          }
        }
      }),
    [begin, attach, focus],
  );
}
