import type { EvaluationStore } from '../evaluation-store/evaluation-store.ts';
import type { Clock } from '../kernel/clock.ts';
import { messageOf } from '../kernel/errors.ts';
import type { Log } from '../kernel/log.ts';

export interface RetentionConfig {
  /** For how long an evaluation is kept that is over. */
  readonly retentionMilliseconds: number;
}

export interface RetentionOptions {
  readonly store: EvaluationStore;
  readonly clock: Clock;
  readonly log: Log;
  readonly config: RetentionConfig;
}

/** Often enough for nothing to be kept much longer than was asked for; nobody waits for it. */
const EVERY_MILLISECONDS = 600_000;
/** Few, so that other writes get in between. */
const AT_A_TIME = 20;

/** Forgets evaluations that have been over for long. */
export class Retention {
  readonly #options: RetentionOptions;
  #isOpen = false;
  #timer: Disposable | undefined;
  #forgetting: Promise<void> = Promise.resolve();

  constructor(options: RetentionOptions) {
    this.#options = options;
  }

  open(): void {
    this.#isOpen = true;
    this.#forgetting = this.#forget().finally(() => {
      if (this.#isOpen) this.#timer = this.#options.clock.after(EVERY_MILLISECONDS, () => this.open());
    });
  }

  async close(): Promise<void> {
    this.#isOpen = false;
    this.#timer?.[Symbol.dispose]();
    await this.#forgetting;
  }

  async #forget(): Promise<void> {
    const { store, clock, log, config } = this.#options;
    const before = clock.date();
    before.setTime(before.getTime() - config.retentionMilliseconds);
    try {
      for (let forgotten = AT_A_TIME; this.#isOpen && forgotten === AT_A_TIME;)
        forgotten = await store.evaluations.forgetEnded(before, AT_A_TIME);
    } catch (error) {
      log.warn({ error: messageOf(error) }, 'old evaluations could not be forgotten');
    }
  }
}
