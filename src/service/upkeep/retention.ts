import type { EvaluationStore } from '../../evaluation-store/evaluation-store.ts';
import type { Clock } from '../../kernel/clock.ts';
import { getMessage } from '../../kernel/errors.ts';
import type { Log } from '../../kernel/log.ts';
import { Chore } from '../../kernel/chore.ts';

export interface RetentionConfig {
  /** The time for which an evaluation is kept after its end. */
  readonly retentionMilliseconds: number;
}

export interface RetentionOptions {
  readonly store: EvaluationStore;
  readonly clock: Clock;
  readonly log: Log;
  readonly config: RetentionConfig;
}

/** The time between two runs. No request waits for them. */
const EVERY_MILLISECONDS = 600_000;
/** The number of evaluations in one transaction, so small that other writes are not delayed. */
const AT_A_TIME = 20;

/** Removes evaluations whose retention has ended. */
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
