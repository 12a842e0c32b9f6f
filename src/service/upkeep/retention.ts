import type { EvaluationStore } from '../../evaluation-store/evaluation-store.ts';
import type { Clock } from '../../kernel/clock.ts';
import { getMessage } from '../../kernel/errors.ts';
import type { Log } from '../../kernel/log.ts';
import { Chore } from '../../kernel/chore.ts';

export interface RetentionConfig {
  /** How long an evaluation is kept after its end. */
  readonly retentionMilliseconds: number;
}

export interface RetentionOptions {
  readonly store: EvaluationStore;
  readonly clock: Clock;
  readonly log: Log;
  readonly config: RetentionConfig;
}

/** Often enough that nothing is kept much longer than configured; no request waits for it. */
const EVERY_MILLISECONDS = 600_000;
/** Few, so that other writes are not delayed. */
const AT_A_TIME = 20;

/** Forgets evaluations that have been over for long. */
export function createRetention({ store, clock, log, config }: RetentionOptions): Chore {
  return new Chore(clock, async (closing) => {
    const before = clock.date();
    before.setTime(before.getTime() - config.retentionMilliseconds);
    try {
      for (let forgotten = AT_A_TIME; !closing.aborted && forgotten === AT_A_TIME;)
        forgotten = await store.evaluations.forgetEnded(before, AT_A_TIME);
    } catch (error) {
      log.warn({ error: getMessage(error) }, 'old evaluations could not be forgotten');
    }
    return EVERY_MILLISECONDS;
  });
}
