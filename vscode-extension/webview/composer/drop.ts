/** Drag and drop onto the view: anywhere in it, since nothing else there takes a drop. */

import { useEffect, useState } from "preact/hooks";
import { isAttachable } from "./files.ts";

/** Whether something that can be attached is held over the view. */
export function useDrop(onDrop: (data: DataTransfer) => void): boolean {
  const [isOver, setOver] = useState(false);
  useEffect(() => {
    const over = (event: DragEvent) => {
      if (isAttachable(event.dataTransfer)) {
        event.preventDefault();
        setOver(true);
      }
    };
    const leave = (event: DragEvent) => {
      // From one element of the view to another is no leaving.
      if (event.relatedTarget === null) {
        setOver(false);
      }
    };
    const drop = (event: DragEvent) => {
      setOver(false);
      if (event.dataTransfer && isAttachable(event.dataTransfer)) {
        event.preventDefault();
        onDrop(event.dataTransfer);
      }
    };
    const end = () => setOver(false);
    window.addEventListener("dragenter", over);
    window.addEventListener("dragover", over);
    window.addEventListener("dragleave", leave);
    window.addEventListener("dragend", end);
    window.addEventListener("drop", drop);
    return () => {
      window.removeEventListener("dragenter", over);
      window.removeEventListener("dragover", over);
      window.removeEventListener("dragleave", leave);
      window.removeEventListener("dragend", end);
      window.removeEventListener("drop", drop);
    };
  }, [onDrop]);
  return isOver;
}
