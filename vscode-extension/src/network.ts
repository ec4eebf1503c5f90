/** Paths that lead to another computer. Pure: both sides keep away from them. */

/** To look at `\\host\share` or `//host/share` is to tell the host who one is. Devices are written in the same way. */
export function isNetworkPath(path: string): boolean {
  return /^\s*[/\\](?:[/\\]|\?\?[/\\])/.test(path);
}
