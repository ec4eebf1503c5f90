/** What is there before anything was said. */

import { edit } from "../view.ts";

const EXAMPLES = [
  "Explain what this project does and how it is built",
  "Find a bug in the file I have open, and fix it",
  "Remember that we use conventional commits",
];

export function Welcome() {
  return (
    <div class="welcome">
      <h2>What shall we do?</h2>
      <p class="quiet">Reverie works in this folder with you, and remembers what matters.</p>
      <ul>
        {EXAMPLES.map((example) => (
          <li key={example}>
            <button type="button" class="welcome-example" onClick={() => edit(example)}>
              {example}
            </button>
          </li>
        ))}
      </ul>
      <p class="quiet">
        <kbd>@</kbd> files and symbols, <kbd>/</kbd> commands, <kbd>Enter</kbd> sends, <kbd>Shift+Enter</kbd> begins a
        line.
      </p>
    </div>
  );
}
