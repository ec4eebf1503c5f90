/** What cannot be drawn says so in its place, and the rest of the view goes on. */

import type { ComponentChildren } from "preact";
import { useErrorBoundary, useLayoutEffect, useRef } from "preact/hooks";
import { tell } from "./view.ts";

interface BoundaryProps {
  /** Names the part in the details. */
  name: string;
  /** What is drawn: another one is tried again. */
  of: unknown;
  children: ComponentChildren;
}

export function Boundary({ name, of, children }: BoundaryProps) {
  const [error, reset] = useErrorBoundary((thrown: unknown) => console.error(`Reverie: ${name}`, thrown));
  const failed = useRef<unknown>(undefined);
  useLayoutEffect(() => {
    if (error === undefined) failed.current = of;
    else if (failed.current !== of) {
      failed.current = of;
      reset();
    }
  });
  if (error === undefined) return <>{children}</>;
  return (
    <div class="broken" role="alert">
      <span>This could not be shown.</span>
      <button type="button" class="text-button" onClick={() => tell("host/copy", { text: details(name, error) })}>
        Copy details
      </button>
      <button type="button" class="text-button" onClick={reset}>
        Try again
      </button>
    </div>
  );
}

/** Where it went wrong, for a report. */
function details(name: string, error: unknown): string {
  return `${name}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`;
}
