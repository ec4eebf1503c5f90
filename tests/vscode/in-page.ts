/**
 * What runs inside the chat view to measure it, frame by frame. Each function is sent there as it stands, so that none
 * may use anything from outside of itself; what they find is kept on `window` under the name that each says.
 */

/** As `opening`: milliseconds from the next click to the frame in which these words are painted in the list. */
export function watchOpening(_body: Element, words: string): void {
  const isPainted = (): boolean => {
    const scroller = document.querySelector(".list-scroller");
    const found = [...document.querySelectorAll(".list-scroller .row p")].find((one) => one.textContent === words);
    if (!scroller || !found) return false;
    const [view, place] = [scroller.getBoundingClientRect(), found.getBoundingClientRect()];
    if (place.height === 0 || place.top < view.top || place.bottom > view.bottom) return false;
    const hit = document.elementFromPoint(place.left + 5, (place.top + place.bottom) / 2);
    return hit !== null && (hit === found || found.contains(hit));
  };
  const opening = new Promise<number>((resolve, reject) => {
    const clicked = (event: Event): void => {
      const look = (): void => {
        if (performance.now() - event.timeStamp > 30_000) {
          reject(new Error(`it does not open: ${document.body.textContent?.slice(0, 500)}`));
          return;
        }
        // The frame after the one in which it is there: by then it was painted.
        if (isPainted()) requestAnimationFrame(() => resolve(performance.now() - event.timeStamp));
        else requestAnimationFrame(look);
      };
      look();
    };
    window.addEventListener("click", clicked, { capture: true, once: true });
  });
  Reflect.set(window, "opening", opening);
}

/** As `keys`: milliseconds from each key to the end of the frame that has it in the box. */
export function watchKeys(_body: Element): void {
  const keys: number[] = [];
  Reflect.set(window, "keys", keys);
  window.addEventListener(
    "keydown",
    (event) => {
      const box = event.target;
      if (!(box instanceof HTMLTextAreaElement) || event.key.length !== 1) return;
      const before = box.value;
      const look = (): void => {
        if (box.value === before) {
          requestAnimationFrame(look);
          return;
        }
        // A message is heard when the frame is done.
        const { port1, port2 } = new MessageChannel();
        port1.onmessage = () => {
          keys.push(performance.now() - event.timeStamp);
          port1.close();
        };
        port2.postMessage(null);
      };
      requestAnimationFrame(look);
    },
    { capture: true },
  );
}

/** What `watchList` finds. */
export interface Watched {
  frames: number;
  /** Places in the viewport where no row was. */
  blanks: string[];
  /** Rows that did not go with the others, or went back. */
  jumps: string[];
  /** How far what is read has moved down. */
  moved: number;
  /** Frames since anything moved. */
  still: number;
  mostElements: number;
  mostRows: number;
}

/** As `watched`: looks at the list in each frame, until `isOver` is set on it. */
export function watchList(_body: Element): void {
  const watched = { frames: 0, blanks: [], jumps: [], moved: 0, still: 0, mostElements: 0, mostRows: 0 } as Watched;
  Reflect.set(window, "watched", watched);
  const scroller = document.querySelector(".list-scroller") as HTMLElement;
  let before = new Map<string, DOMRect>();
  const isRow = (x: number, y: number): boolean =>
    document.elementsFromPoint(x, y).some((one) => one.closest(".row") !== null);
  const look = (): void => {
    const view = scroller.getBoundingClientRect();
    const rows = [...scroller.querySelectorAll<HTMLElement>(".row")];
    const places = rows.map((row) => [row.dataset.key ?? "", row.getBoundingClientRect()] as const);
    const seen = places.filter(([, place]) => place.bottom > view.top && place.top < view.bottom);
    // Under the last row of all there is a little space.
    const end = scroller.scrollTop + scroller.clientHeight > scroller.scrollHeight - 16 ? 16 : 2;
    const x = view.left + view.width / 2;
    const parts = 16;
    for (let part = 0; part <= parts; part += 1) {
      const y = view.top + 2 + ((view.height - 2 - end) * part) / parts;
      // Where one row ends and the next begins there may be no whole pixel of either.
      if (!isRow(x, y) && !isRow(x, y - 1.5) && !isRow(x, y + 1.5)) {
        watched.blanks.push(`frame ${watched.frames}, ${Math.round(y - view.top)} of ${Math.round(view.height)}`);
      }
    }
    const steps = seen.flatMap(([key, place]) => {
      const old = before.get(key);
      return old === undefined ? [] : [{ key, step: place.top - old.top }];
    });
    const [first] = steps;
    if (first !== undefined) {
      watched.moved += first.step;
      watched.still = Math.abs(first.step) < 0.01 ? watched.still + 1 : 0;
      for (const { key, step } of steps) {
        if (step < -1 || Math.abs(step - first.step) > 1) {
          watched.jumps.push(`frame ${watched.frames}: ${key} by ${step}, others by ${first.step}`);
        }
      }
    } else {
      watched.still = 0;
    }
    before = new Map(places);
    watched.frames += 1;
    watched.mostElements = Math.max(watched.mostElements, document.querySelectorAll("*").length);
    watched.mostRows = Math.max(watched.mostRows, rows.length);
    if (!Reflect.has(watched, "isOver")) requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
}

/** Answers when nothing has moved for some frames since. */
export function stillness(_body: Element, frames: number): Promise<Watched> {
  const watched = Reflect.get(window, "watched") as Watched;
  watched.still = 0;
  return new Promise((resolve) => {
    const look = (): void => {
      if (watched.still >= frames) resolve({ ...watched });
      else requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
  });
}
