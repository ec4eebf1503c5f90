/** The line at the composer: which model and mode, how full the window is, what it cost. */

import type { ComponentChildren } from "preact";
import type { ChatState, Meter } from "../../src/chat/state.ts";
import type { Model } from "../../src/protocol.ts";
import { money, percent, tokens } from "../panels/format.ts";
import { levelWords, MODE_NAMES, modeWords } from "../panels/words.ts";
import { showPage, tell } from "../view.ts";
import { Icon } from "./button.tsx";

export function Status({ state }: { state: ChatState }) {
  return (
    <div class="chrome-status">
      <span class="chrome-pickers">
        <Mode mode={state.mode} />
        <ModelPicker model={state.model} models={state.models} />
      </span>
      {state.meter && <Meters meter={state.meter} />}
    </div>
  );
}

function Mode({ mode }: { mode: string }) {
  const modes = MODE_NAMES.includes(mode) ? MODE_NAMES : [...MODE_NAMES, mode];
  return (
    <Picker label="Mode" value={mode} onChange={(mode) => tell("host/configure", { mode })}>
      {modes.map((name) => (
        <option key={name} value={name}>
          {modeWords(name)}
        </option>
      ))}
    </Picker>
  );
}

function ModelPicker({ model, models }: { model?: string; models: readonly Model[] }) {
  const value = model ?? models.find((one) => one.default)?.id;
  if (value === undefined) {
    return null;
  }
  return (
    <Picker label="Model" value={value} onChange={(model) => tell("host/configure", { model })}>
      {!models.some((one) => one.id === value) && <option value={value}>{value}</option>}
      {models.map((one) => (
        <option key={one.id} value={one.id} disabled={!one.available}>
          {one.available ? one.name : `${one.name} (no key)`}
        </option>
      ))}
    </Picker>
  );
}

interface PickerProps {
  label: string;
  value: string;
  onChange: (value: string) => void;
  children: ComponentChildren;
}

function Picker({ label, value, onChange, children }: PickerProps) {
  return (
    <span class="chrome-picker">
      <select
        aria-label={label}
        title={label}
        value={value}
        onChange={(event) => {
          const chosen = event.currentTarget.value;
          // What is shown is what the server said; it comes back as `configured`.
          event.currentTarget.value = value;
          onChange(chosen);
        }}
      >
        {children}
      </select>
      <Icon name="chevron-down" />
    </span>
  );
}

function Meters({ meter }: { meter: Meter }) {
  const share = meter.window > 0 ? meter.used / meter.window : 0;
  const room = `${tokens(meter.used)} of ${tokens(meter.window)} tokens, ${levelWords(meter.level)}; next: ${meter.nextStep}`;
  return (
    <span class="chrome-meters">
      <button
        type="button"
        class={`chrome-meter chrome-meter-${meter.level}`}
        title={`Context: ${room}`}
        aria-label={`Context ${percent(share)} used: ${room}`}
        onClick={() => showPage("context")}
      >
        <Ring share={share} />
        {percent(share)}
        {meter.level !== "normal" && ` ${levelWords(meter.level)}`}
      </button>
      <button
        type="button"
        class="chrome-meter"
        title="What this session cost, and how much of the last request came from the cache"
        onClick={() => showPage("context")}
      >
        {money(meter.costUsd)} · {percent(meter.cacheHitRate)} cached
      </button>
    </span>
  );
}

const RADIUS = 5;
const ROUND = 2 * Math.PI * RADIUS;

function Ring({ share }: { share: number }) {
  return (
    <svg class="chrome-ring" viewBox="0 0 14 14" aria-hidden="true">
      <circle class="chrome-ring-track" cx="7" cy="7" r={RADIUS} />
      <circle
        class="chrome-ring-fill"
        cx="7"
        cy="7"
        r={RADIUS}
        stroke-dasharray={`${Math.min(share, 1) * ROUND} ${ROUND}`}
        transform="rotate(-90 7 7)"
      />
    </svg>
  );
}
