import type { FoundCheckpoint } from './found-checkpoints.ts';
import type { Score } from './watch-record.ts';

/** @param after until it has settled, the checkpoint is only made ready. */
export type BeginEvaluation = (checkpoint: FoundCheckpoint, after: Promise<unknown> | undefined, signal: AbortSignal) => Promise<Score>;

interface Begun {
  readonly checkpoint: FoundCheckpoint;
  readonly score: Promise<Score>;
  giveUp(reason: unknown): void;
}

/** The running evaluation, and the one that is being prepared meanwhile, if there is one. */
export class BegunEvaluations implements AsyncDisposable {
  readonly #begin: BeginEvaluation;
  #present: Begun | undefined;
  #next: Begun | undefined;

  constructor(begin: BeginEvaluation) {
    this.#begin = begin;
  }

  /**
   * Evaluates the prepared checkpoint, or starts from the beginning, and then gives up the previous one. @param signal gives it up. @throws as it
   * does.
   */
  async evaluate(checkpoint: FoundCheckpoint, signal: AbortSignal): Promise<Score> {
    const next = this.#next;
    this.#next = undefined;
    if (next && !isSame(next.checkpoint, checkpoint)) await giveUp(next);
    const present = next && isSame(next.checkpoint, checkpoint) ? next : this.#start(checkpoint, undefined);
    this.#present = present;
    // The prepared one is given up first: the end of the present one would start it.
    const onAbort = (): void => [this.#next, present].forEach((begun) => begun?.giveUp(signal.reason));
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      return await present.score;
    } finally {
      signal.removeEventListener('abort', onAbort);
      this.#present = undefined;
      if (signal.aborted) await this[Symbol.asyncDispose]();
    }
  }

  /** Prepares the checkpoint for when the present one is over, and drops any other prepared one. */
  async prepare(checkpoint: FoundCheckpoint): Promise<void> {
    if (!this.#present || (this.#next && isSame(this.#next.checkpoint, checkpoint))) return;
    const before = this.#next;
    this.#next = this.#start(checkpoint, this.#present.score);
    if (before) await giveUp(before);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const begun = [this.#present, this.#next].filter((each) => each !== undefined);
    [this.#present, this.#next] = [undefined, undefined];
    await Promise.all(begun.map(giveUp));
  }

  #start(checkpoint: FoundCheckpoint, after: Promise<unknown> | undefined): Begun {
    const stop = new AbortController();
    const score = this.#begin(checkpoint, after, stop.signal);
    // Its evaluation reports it.
    score.catch(() => undefined);
    return { checkpoint, score, giveUp: (reason) => stop.abort(reason) };
  }
}

async function giveUp(begun: Begun): Promise<void> {
  begun.giveUp(new DOMException('another checkpoint is evaluated', 'AbortError'));
  await begun.score.catch(() => undefined);
}

function isSame(one: FoundCheckpoint, other: FoundCheckpoint): boolean {
  return one.name === other.name && one.fingerprint === other.fingerprint;
}
