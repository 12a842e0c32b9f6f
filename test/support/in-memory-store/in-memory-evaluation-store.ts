import type { EvaluationStore } from '../../../src/evaluation-store/evaluation-store.ts';
import { InMemoryAudit } from './in-memory-audit.ts';
import { InMemoryCatalogue } from './in-memory-catalogue.ts';
import { InMemoryCheckpointRights } from './in-memory-checkpoint-rights.ts';
import { InMemoryEpisodes } from './in-memory-episodes.ts';
import { InMemoryRuns } from './in-memory-runs.ts';
import { InMemoryTokens } from './in-memory-tokens.ts';
import { InMemoryUsage } from './in-memory-usage.ts';
import { InMemoryWebhooks } from './in-memory-webhooks.ts';
import type { Memory } from './memory.ts';

/** For tests of what stands on a store. @param memory outlives the store, as a database would. */
export function inMemoryEvaluationStore(memory: Memory): EvaluationStore {
  const runs = new InMemoryRuns(memory);
  const episodes = new InMemoryEpisodes(memory);
  const catalogue = new InMemoryCatalogue(memory);
  return {
    evaluations: catalogue,
    ownerships: runs,
    course: runs,
    episodes,
    cache: episodes,
    answers: catalogue,
    events: runs,
    webhooks: new InMemoryWebhooks(memory),
    audit: new InMemoryAudit(memory),
    tokens: new InMemoryTokens(memory),
    usage: new InMemoryUsage(memory),
    rights: new InMemoryCheckpointRights(memory),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}
