/** What is typed and attached and not sent yet, and that the host keeps it through a reload. */

import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import type { Draft } from "../../src/chat/messages.ts";
import type { Attachment } from "../../src/chat/state.ts";
import { saveDraft } from "../view.ts";
import { type Content, hold, rejoin, standing } from "./mentions.ts";

export interface DraftControl {
  content: Content;
  /** What there is now, for handlers that run before the next render. */
  latest: () => Content;
  change: (change: Partial<Content>) => void;
  /** Tells the host now rather than soon. */
  save: () => void;
  /**
   * Empties the box for as long as what was in it is being sent. The host keeps that too until it is sent; where it
   * cannot be, it comes back.
   */
  release: (work: Promise<unknown>) => Promise<void>;
}

const SAVE_AFTER_MS = 300;
/** Pictures beyond this are sent but not kept: the whole draft goes to the host with every pause in typing. */
const KEPT_IMAGE_CHARACTERS = 1_000_000;

export function useDraft(given: Draft, onDraft: (draft: Draft) => void): DraftControl {
  const [content, show] = useState<Content>(() => contentOf(given));
  const latest = useRef(content);
  const timer = useRef<number | undefined>(undefined);
  const isOurs = useRef(false);
  const released = useRef<readonly Content[]>([]);

  const save = useCallback(() => {
    if (timer.current === undefined) {
      return;
    }
    window.clearTimeout(timer.current);
    timer.current = undefined;
    const { text, held } = released.current.reduceRight((all, one) => rejoin(one, all), latest.current);
    const draft: Draft = { text, attachments: kept(standing(text, held)) };
    saveDraft(draft);
    onDraft(draft);
  }, [onDraft]);

  const change = useCallback(
    (change: Partial<Content>) => {
      isOurs.current = true;
      latest.current = { ...latest.current, ...change };
      show(latest.current);
      timer.current ??= window.setTimeout(save, SAVE_AFTER_MS);
    },
    [save],
  );

  // The host's copy is older than what somebody has begun to type.
  useEffect(() => {
    if (!isOurs.current) {
      latest.current = contentOf(given);
      show(latest.current);
    }
  }, [given]);

  const release = useCallback(
    async (work: Promise<unknown>) => {
      const mine = latest.current;
      released.current = [...released.current, mine];
      change({ text: "", held: [] });
      const settle = (content: Content) => {
        released.current = released.current.filter((one) => one !== mine);
        change(content);
        save();
      };
      try {
        await work;
        settle(latest.current);
      } catch (error) {
        settle(rejoin(mine, latest.current));
        throw error;
      }
    },
    [change, save],
  );

  return { content, latest: useCallback(() => latest.current, []), change, save, release };
}

function contentOf({ text, attachments }: Draft): Content {
  return { text, held: hold(text, attachments) };
}

function kept(attachments: readonly Attachment[]): readonly Attachment[] {
  const characters = attachments.reduce((sum, one) => sum + (one.kind === "image" ? one.data.length : 0), 0);
  return characters <= KEPT_IMAGE_CHARACTERS ? attachments : attachments.filter((one) => one.kind !== "image");
}
