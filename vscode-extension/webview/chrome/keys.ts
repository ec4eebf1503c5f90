/** What a key is meant for. Pure. */

/** All keys belong to the input method while it composes a word; 229 is how some say so. */
export function isComposing({ isComposing, keyCode }: Pick<KeyboardEvent, "isComposing" | "keyCode">): boolean {
  return isComposing || keyCode === 229;
}
