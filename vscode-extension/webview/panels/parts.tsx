/** The pieces that pages are made of. */

import type { ComponentChildren } from "preact";
import type { Gate } from "../../src/protocol.ts";
import { ago, moment } from "../../src/when.ts";
import { Icon } from "../chrome/button.tsx";

export function Problem({ text }: { text?: string }) {
  return text ? (
    <div class="page-problem" role="alert">
      <Icon name="error" />
      <span>{text}</span>
    </div>
  ) : null;
}

interface SectionProps {
  title: string;
  aside?: ComponentChildren;
  children: ComponentChildren;
}

export function Section({ title, aside, children }: SectionProps) {
  return (
    <section class="page-section" aria-label={title}>
      <h2 class="page-heading">
        {title}
        {aside && <span class="page-aside">{aside}</span>}
      </h2>
      {children}
    </section>
  );
}

/** How long ago, with the moment itself in the tooltip. */
export function Ago({ at }: { at: string }) {
  return (
    <time dateTime={at} title={moment(at)}>
      {ago(at, Date.now())}
    </time>
  );
}

/** Facts in one line, those that there are. */
export function Facts({ children }: { children: ComponentChildren[] }) {
  return (
    <span class="page-facts">
      {children.filter(Boolean).map((fact, index) => (
        <span key={index}>{fact}</span>
      ))}
    </span>
  );
}

/** The conditions of running by itself. */
export function Gates({ gates }: { gates: readonly Gate[] }) {
  return (
    <ul class="page-gates">
      {gates.map((gate) => (
        <li key={gate.name} class={gate.open ? "page-gate-open" : "page-gate-closed"}>
          <Icon name={gate.open ? "check" : "close"} />
          <span>
            <span class="sr-only">{gate.open ? "open: " : "closed: "}</span>
            {gate.detail}
          </span>
        </li>
      ))}
    </ul>
  );
}
