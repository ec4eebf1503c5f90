/** Messages that are kept until those they are for are there to hear them. Pure. */

export interface Mailbox<T> {
  post(message: T): void;
  /** Returns how to stop. */
  listen(listener: (message: T) => void): () => void;
  /** Everybody listens: gives out what waited, in its order. From now on nothing waits. */
  open(): void;
}

export function createMailbox<T>(): Mailbox<T> {
  const listeners = new Set<(message: T) => void>();
  const waiting: T[] = [];
  let isOpen = false;
  function give(message: T): void {
    for (const listener of [...listeners]) listener(message);
  }
  return {
    post(message) {
      if (isOpen) give(message);
      else waiting.push(message);
    },
    listen(listener) {
      listeners.add(listener);
      return () => {
        listeners.delete(listener);
      };
    },
    open() {
      isOpen = true;
      for (const message of waiting.splice(0)) give(message);
    },
  };
}
