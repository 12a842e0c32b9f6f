import type { EvaluationStore } from '../../evaluation-store/evaluation-store.ts';
import type { Clock } from '../../kernel/clock.ts';
import { getMessage } from '../../kernel/errors.ts';
import type { Digest } from '../../kernel/ids.ts';
import type { Log } from '../../kernel/log.ts';
import type { CheckpointStore } from '../../policy-distribution/store/checkpoint-store.ts';
import type { Uploads } from '../../policy-distribution/uploads/uploads.ts';
import { Chore } from '../../kernel/chore.ts';
import { listContents, orderSchema } from '../orders/evaluation-order.ts';

export interface CheckpointKeeperOptions {
  readonly store: Pick<EvaluationStore, 'evaluations' | 'usage'>;
  readonly checkpoints: Pick<CheckpointStore, 'retain'>;
  readonly uploads: Pick<Uploads, 'sweep'>;
  /** Lists contents that others than evaluations need. */
  readonly alsoNeeded: () => Promise<readonly Digest[]>;
  readonly clock: Clock;
  readonly log: Log;
  /** Returns the limit for the files of all checkpoints together; undefined when there is none. */
  readonly maxBytes: () => number | undefined;
}

/** Checkpoints that were used within the last hour stay anyway. */
const EVERY_MILLISECONDS = 3_600_000;
const EVALUATIONS_AT_A_TIME = 200;

/**
 * Makes room every hour: removes abandoned uploads, stores unused files as deltas, and removes the least recently used checkpoints beyond the limit.
 */
export function createCheckpointKeeper(options: CheckpointKeeperOptions): Chore {
  const { store, checkpoints, uploads, clock, log, maxBytes } = options;
  return new Chore(clock, async (closing) => {
    try {
      const swept = await uploads.sweep();
      const needed = await findNeeded(options);
      const isNeeded = (digest: Digest): boolean => needed.has(digest);
      const retention = { maxBytes: maxBytes(), isNeeded };
      const { forgotten, removed, packed, bytes } = await checkpoints.retain(retention, closing);
      for (const digest of removed) await store.usage.creditCheckpoint(digest);
      if (swept + bytes > 0)
        log.info({ uploads: swept, checkpoints: forgotten.length, packed: packed.length, bytes }, 'made room for checkpoints');
    } catch (error) {
      if (!closing.aborted) log.warn({ error: getMessage(error) }, 'no room could be made for checkpoints');
    }
    return EVERY_MILLISECONDS;
  });
}

/** Finds the checkpoints of evaluations and streams that are not over. */
async function findNeeded({ store, alsoNeeded }: CheckpointKeeperOptions): Promise<ReadonlySet<Digest>> {
  const needed = new Set(await alsoNeeded());
  let after: string | undefined;
  do {
    const page = await store.evaluations.list({ states: ['waiting', 'running'] }, { limit: EVALUATIONS_AT_A_TIME, after });
    for (const { request } of page.items) {
      const order = orderSchema.safeParse(request).data;
      for (const { digest } of order ? listContents(order) : []) needed.add(digest);
    }
    after = page.next;
  } while (after !== undefined);
  return needed;
}
