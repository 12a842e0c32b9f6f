import { createAbortError, raceWithAbort } from '../../../kernel/abort.ts';
import type { SharedContent } from '../../../pool/ports/shared-content.ts';
import type { Inbox } from '../local/inbox.ts';

/** The right to find a content's files where they are. */
export interface SharedPath extends Disposable {
  /** The path for zygotes, and for sandboxes that have been given the content themselves. */
  readonly path: string;
}

/** A content's files, for as long as they are held. */
interface HeldContent {
  readonly path: Promise<string>;
  /** The names that are directly in the inbox because of it. */
  readonly names: Set<string>;
  holders: number;
}

/**
 * Holds the files that zygotes load, under the path that the files have in every sandbox, so that code loaded before the fork finds its own files
 * after it. Each content is there once, however many callers hold it.
 */
export class SharedFiles {
  readonly #inbox: Pick<Inbox, 'receive' | 'remove'>;
  readonly #onProblem: (problem: unknown) => void;
  readonly #contents = new Map<string, HeldContent>();
  /** Removals that are under way, by what was there. */
  readonly #leaving = new Map<string, Promise<void>>();

  /** @param onProblem gets the reason when a file could not be removed. */
  constructor(inbox: Pick<Inbox, 'receive' | 'remove'>, onProblem: (problem: unknown) => void) {
    this.#inbox = inbox;
    this.#onProblem = onProblem;
  }

  /**
   * Has it delivered unless it is there. Disposing what is returned lets go of it; what zygotes have mapped or open they keep.
   *
   * @throws as delivering it does, and the signal's reason.
   */
  async hold(content: SharedContent, signal: AbortSignal): Promise<SharedPath> {
    const { digest } = content;
    for (;;) {
      for (let leaving = this.#leaving.get(digest); leaving; leaving = this.#leaving.get(digest)) await raceWithAbort(leaving, signal);
      // Nothing is awaited from here until the holder is counted: otherwise a content that is there could begin to leave meanwhile.
      if (signal.aborted) throw createAbortError(signal);
      const known = this.#contents.get(digest);
      const held = known ?? this.#begin(content, signal);
      held.holders += 1;
      try {
        const path = await raceWithAbort(held.path, signal);
        return this.#createHold(digest, held, path);
      } catch (error) {
        this.#letGo(digest, held);
        // Another holder's attempt may have failed because it was aborted.
        if (signal.aborted || known === undefined) throw error;
      }
    }
  }

  #begin(content: SharedContent, signal: AbortSignal): HeldContent {
    const names = new Set<string>();
    const receive: Parameters<SharedContent['deliver']>[0]['upload'] = (file, source, until) => {
      names.add(file.split('/', 1)[0] ?? file);
      return this.#inbox.receive(file, source, until);
    };
    const held: HeldContent = { path: content.deliver({ upload: receive }, signal), names, holders: 0 };
    this.#contents.set(content.digest, held);
    held.path.catch(() => this.#leave(content.digest, held));
    return held;
  }

  #createHold(digest: string, held: HeldContent, path: string): SharedPath {
    let isHeld = true;
    return {
      path,
      [Symbol.dispose]: () => {
        if (isHeld) this.#letGo(digest, held);
        isHeld = false;
      },
    };
  }

  #letGo(digest: string, held: HeldContent): void {
    held.holders -= 1;
    if (held.holders === 0) this.#leave(digest, held);
  }

  /** Removes the content. The next holder waits for that, and has it delivered again. */
  #leave(digest: string, held: HeldContent): void {
    if (this.#contents.get(digest) !== held) return;
    this.#contents.delete(digest);
    const left = this.#remove(held).finally(() => this.#leaving.delete(digest));
    this.#leaving.set(digest, left);
  }

  /** Never rejects. */
  async #remove({ path, names }: HeldContent): Promise<void> {
    await path.catch(() => {});
    const removals = await Promise.allSettled(Array.from(names, async (name) => this.#inbox.remove(name)));
    for (const removal of removals) if (removal.status === 'rejected') this.#onProblem(removal.reason);
  }
}

/** Holds all of the content or nothing: the first failure aborts the others, and all are awaited. */
export async function holdAll(places: SharedFiles, content: readonly SharedContent[], signal: AbortSignal): Promise<readonly SharedPath[]> {
  const failed = new AbortController();
  const either = AbortSignal.any([signal, failed.signal]);
  const attempts = await Promise.all(
    content.map(async (each) => {
      try {
        return await places.hold(each, either);
      } catch (error) {
        failed.abort(error);
        return undefined;
      }
    }),
  );
  const holds = attempts.filter((hold) => hold !== undefined);
  if (!failed.signal.aborted) return holds;
  for (const hold of holds) hold[Symbol.dispose]();
  throw failed.signal.reason;
}
