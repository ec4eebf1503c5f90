/** Paths among words: the name of the file is seen however narrow it gets, and a long one breaks at its slashes. */

import { Fragment } from "preact";

/** On one line. Its folders give way before its name does. */
export function ShownPath({ path, whole }: { path: string; whole: string }) {
  const name = Math.max(path.lastIndexOf("/"), path.lastIndexOf("\\")) + 1;
  return (
    <span class="path" title={whole}>
      {name > 0 && <span class="path-folder">{path.slice(0, name)}</span>}
      <span class="path-name">{path.slice(name)}</span>
    </span>
  );
}

/** Words that may have paths in them, on as many lines as it takes. */
export function Breakable({ text }: { text: string }) {
  return (
    <>
      {text.split(/(?<=[\\/])(?=[^\\/\s])/).map((part, at) => (
        <Fragment key={at}>
          {at > 0 && <wbr />}
          {part}
        </Fragment>
      ))}
    </>
  );
}
