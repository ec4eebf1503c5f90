/** The small buttons of an item, seen when the pointer or the focus is on it, and links to files in what tools say. */

import { createContext } from "preact";
import { useContext, useState } from "preact/hooks";
import { IconButton } from "../chrome/button.tsx";
import { call, tell } from "../view.ts";
import { isOpenable, type Place, shownPath } from "./places.ts";

/** The folder of the session: paths inside it are shown without it. */
export const Folder = createContext<string | undefined>(undefined);

export function CopyButton({ text, label }: { text: string; label: string }) {
  const [isCopied, setCopied] = useState(false);
  const copy = () => {
    call("host/copy", { text }).then(
      () => {
        setCopied(true);
        setTimeout(() => setCopied(false), 1500);
      },
      () => setCopied(false),
    );
  };
  return <IconButton icon={isCopied ? "check" : "copy"} label={isCopied ? "Copied" : label} onClick={copy} />;
}

/** A file that opens in an editor. */
export function FileLink({ path, line, column, label }: Place & { label?: string }) {
  const folder = useContext(Folder);
  const shown = label ?? shownPath(path, folder);
  if (!isOpenable(path, folder)) return <span title={path}>{shown}</span>;
  return (
    <button
      type="button"
      class="file-link"
      title={`Open ${path}`}
      onClick={() => tell("host/open", { path, ...(line && { line }), ...(column && { column }) })}
    >
      {shown}
      {line !== undefined && label === undefined && `:${line}`}
    </button>
  );
}
