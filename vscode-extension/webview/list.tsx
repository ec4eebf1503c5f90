/**
 * The conversation as a list that draws only what is near the viewport. Rows are placed by their measured heights, by
 * estimates where they were never drawn. What the user reads stays where it is: the row at the top of the viewport is the
 * anchor, whatever changes above it. At the end it follows the end.
 */

import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Item } from "../src/chat/state.ts";
import { Boundary } from "./boundary.tsx";
import { Icon } from "./chrome/button.tsx";
import { RowContent, rowLabel } from "./items/item.tsx";
import { rangeOf } from "./items/layout.ts";
import { holds, type Row, rowsOf } from "./items/rows.ts";
import {
  adopt,
  begin,
  bringToTop,
  destination,
  hold,
  indexes,
  isOutside,
  measure,
  place,
  reveal,
  save,
  scrolled,
  wantedTop,
} from "./items/viewport.ts";
import { aimAt } from "./view.ts";

interface ListProps {
  items: readonly Item[];
  sessionId: string | undefined;
  /** The message to go to, which may be among the next items only. */
  wanted: string | undefined;
}

export function List({ items, sessionId, wanted }: ListProps) {
  const scroller = useRef<HTMLDivElement>(null);
  const feed = useRef<HTMLDivElement>(null);
  const [, redraw] = useState(0);
  const [active, setActive] = useState<string>();
  const [focused, setFocused] = useState<string>();
  const [view] = useState(() => begin(sessionId));
  adopt(view, rowsOf(items, view.rows));
  const { rows, places, tops } = view;
  view.range = rangeOf(tops, wantedTop(view), view.height, view.range);
  const drawn = indexes(view.range, [places.get(focused ?? ""), places.get(view.toFocus ?? "")]);
  const hasJump = !view.isFollowing;
  const tabStop = active !== undefined && places.has(active) ? active : rows.at(-1)?.key;

  const settle = () => {
    // Behind a page it has no size.
    if (scroller.current === null || feed.current === null || scroller.current.clientHeight === 0) return;
    measure(view, scroller.current, feed.current);
    place(view, scroller.current, feed.current);
    if (isOutside(view) || hasJump !== !view.isFollowing) redraw((count) => count + 1);
    if (view.toFocus !== undefined) {
      rowElement(feed.current, view.toFocus)?.focus({ preventScroll: true });
      view.toFocus = undefined;
    }
  };
  const settleNow = useRef(settle);
  settleNow.current = settle;
  const observer = useMemo(() => new ResizeObserver(() => settleNow.current()), []);
  useLayoutEffect(() => {
    if (scroller.current !== null) observer.observe(scroller.current);
    return () => observer.disconnect();
  }, [observer]);
  useLayoutEffect(settle);
  useLayoutEffect(() => {
    const found = wanted === undefined ? undefined : rows.find((row) => holds(row, wanted));
    if (found === undefined) return;
    aimAt(undefined);
    bringToTop(view, found.key);
    setActive(found.key);
    redraw((count) => count + 1);
  }, [wanted, rows, view]);

  const onScroll = () => {
    const box = scroller.current;
    if (box === null) return;
    scrolled(view, box.scrollTop);
    save(view, sessionId);
    if (isOutside(view) || hasJump !== !view.isFollowing) redraw((count) => count + 1);
  };
  const goTo = (index: number) => {
    const row = rows[Math.min(rows.length - 1, Math.max(0, index))];
    if (row === undefined) return;
    reveal(view, row.key);
    view.toFocus = row.key;
    setActive(row.key);
    redraw((count) => count + 1);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    // Arrows inside of a row belong to what is in there.
    if (!(event.target instanceof HTMLElement) || event.target.dataset.key === undefined) return;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Enter" || event.key === " ") {
      event.target.querySelector<HTMLElement>("[aria-expanded]")?.click();
      event.preventDefault();
      return;
    }
    const at = places.get(event.target.dataset.key) ?? 0;
    const to = destination(event.key, at, view);
    if (to === undefined) return;
    event.preventDefault();
    goTo(to);
  };
  const jump = () => {
    view.isFollowing = true;
    redraw((count) => count + 1);
  };

  return (
    <div class="list">
      <div class="list-scroller" ref={scroller} onScroll={onScroll}>
        <div
          class="list-feed"
          role="feed"
          aria-label="Conversation"
          ref={feed}
          onKeyDown={onKeyDown}
          onClickCapture={(event) => hold(view, event.target)}
          onFocusIn={(event) => {
            const key = keyAround(event.target);
            setFocused(key);
            setActive(key);
          }}
          onFocusOut={() => setFocused(undefined)}
        >
          {drawn.map((index) => {
            const row = rows[index];
            if (row === undefined) return null;
            const props = { row, index, count: rows.length, observer, isTabStop: row.key === tabStop };
            return <RowView key={row.key} {...props} />;
          })}
        </div>
      </div>
      {hasJump && (
        <button type="button" class="list-jump" onClick={jump}>
          <Icon name="arrow-down" /> Jump to latest
        </button>
      )}
    </div>
  );
}

interface RowViewProps {
  row: Row;
  index: number;
  count: number;
  observer: ResizeObserver;
  isTabStop: boolean;
}

function RowView({ row, index, count, observer, isTabStop }: RowViewProps) {
  const element = useRef<HTMLElement>(null);
  const content = useMemo(
    () => (
      <Boundary name={`row ${row.items[0].kind}`} of={row}>
        <RowContent row={row} />
      </Boundary>
    ),
    [row],
  );
  useLayoutEffect(() => {
    const { current } = element;
    if (current === null) return;
    observer.observe(current);
    return () => observer.unobserve(current);
  }, [observer]);
  return (
    <article
      class={`row row-${row.items[0].kind}`}
      ref={element}
      data-key={row.key}
      tabIndex={isTabStop ? 0 : -1}
      aria-posinset={index + 1}
      aria-setsize={count}
      aria-label={rowLabel(row)}
    >
      {content}
    </article>
  );
}

function rowElement(feed: HTMLElement, key: string): HTMLElement | undefined {
  return [...(feed.children as HTMLCollectionOf<HTMLElement>)].find((row) => row.dataset.key === key);
}

function keyAround(target: EventTarget | null): string | undefined {
  return target instanceof Element ? target.closest<HTMLElement>(".row")?.dataset.key : undefined;
}
