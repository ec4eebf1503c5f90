/** Asking the host from a page: what was answered, what went wrong in words, and that only the last answer counts. */

import { useCallback, useEffect, useRef, useState } from "preact/hooks";

export interface Loaded<T> {
  /** The last answer; it stays while a newer one is on its way. */
  value?: T;
  problem?: string;
  reload: () => void;
}

/** Asks now, again when `causes` change, and when told to. */
export function useLoad<T>(ask: () => Promise<T>, causes: readonly unknown[]): Loaded<T> {
  const [answer, setAnswer] = useState<{ value?: T; problem?: string }>({});
  const asked = useRef(0);
  const latest = useRef(ask);
  latest.current = ask;
  const reload = useCallback(() => {
    const number = ++asked.current;
    latest.current().then(
      (value) => number === asked.current && setAnswer({ value }),
      (error: Error) => number === asked.current && setAnswer((old) => ({ value: old.value, problem: error.message })),
    );
  }, []);
  useEffect(() => {
    reload();
    // An answer that comes after the page is gone is for nobody.
    return () => {
      asked.current++;
    };
  }, causes);
  return { ...answer, reload };
}

export interface Action {
  /** Names what is under way. */
  busy?: string;
  problem?: string;
  act: (name: string, work: () => Promise<unknown>) => void;
}

/** Does one thing at a time for a button, and then something that shows what came of it. */
export function useAction(then: () => void): Action {
  const [state, setState] = useState<{ busy?: string; problem?: string }>({});
  const act = useCallback(
    (name: string, work: () => Promise<unknown>) => {
      setState({ busy: name });
      work()
        .then(
          () => setState({}),
          (error: Error) => setState({ problem: error.message }),
        )
        .then(then);
    },
    [then],
  );
  return { ...state, act };
}
