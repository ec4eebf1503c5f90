/** Gives the focus to what is in sight: the workbench around the view would scroll by a few pixels to bring it there. */
export function focusOn(element: HTMLElement | null | undefined): void {
  element?.focus({ preventScroll: true });
}
