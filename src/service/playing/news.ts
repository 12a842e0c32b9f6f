import type { Clock } from '../../kernel/clock.ts';
import type { EvaluationId } from '../../kernel/ids.ts';
import type { RunningFigures } from '../orders/running-figures.ts';

/** `end`: it is over, or at least no longer this process's. */
export type NewsKind = 'progress' | 'end';

type Notify = (kind: NewsKind) => void;
/** @param running the figures, where they are all that has changed. */
export type NotifyOfAll = (evaluation: EvaluationId, running: RunningFigures | undefined) => void;

/** Wakes waits for a change of an evaluation. Changes by other processes are not announced here, so waits also check by themselves. */
export class News {
  readonly #waiting = new Map<EvaluationId, Set<Notify>>();
  readonly #listeningToAll = new Set<NotifyOfAll>();

  announce(evaluation: EvaluationId, kind: NewsKind, running?: RunningFigures): void {
    for (const notify of this.#listeningToAll) notify(evaluation, running);
    for (const notify of this.#waiting.get(evaluation) ?? []) notify(kind);
  }

  /** Calls `notify` for every evaluation of this process until disposed. */
  listenToAll(notify: NotifyOfAll): Disposable {
    this.#listeningToAll.add(notify);
    return { [Symbol.dispose]: () => void this.#listeningToAll.delete(notify) };
  }

  /** Listens from now on, so that nothing is missed between looking and waiting. @param wanted all news, or of its end only. */
  listen(evaluation: EvaluationId, wanted: NewsKind): Listener {
    return new Listener((wake) => {
      const notify: Notify = (kind) => {
        if (wanted === 'progress' || kind === 'end') wake();
      };
      const listeners = this.#waiting.get(evaluation) ?? new Set();
      this.#waiting.set(evaluation, listeners.add(notify));
      return () => {
        listeners.delete(notify);
        if (listeners.size === 0) this.#waiting.delete(evaluation);
      };
    });
  }
}

/** One wait, which checks again each time it is woken. */
export class Listener implements Disposable {
  readonly #leave: () => void;
  #isNews = false;
  #wake: (() => void) | undefined;

  constructor(join: (wake: () => void) => () => void) {
    this.#leave = join(() => {
      this.#isNews = true;
      this.#wake?.();
    });
  }

  /** Resolves when there was news since the last call, after `milliseconds`, or when the signal is aborted, whichever comes first. */
  async next(clock: Clock, milliseconds: number, signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wake = resolve;
    const timer = clock.after(milliseconds, resolve);
    const onAbort = (): void => resolve();
    signal.addEventListener('abort', onAbort, { once: true });
    if (!this.#isNews && !signal.aborted) await promise;
    signal.removeEventListener('abort', onAbort);
    timer[Symbol.dispose]();
    this.#wake = undefined;
    this.#isNews = false;
  }

  [Symbol.dispose](): void {
    this.#leave();
  }
}
