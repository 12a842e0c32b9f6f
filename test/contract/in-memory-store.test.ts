import { inMemoryEvaluationStore } from '../support/in-memory-store/in-memory-evaluation-store.ts';
import { Memory } from '../support/in-memory-store/memory.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { evaluationStoreContract } from './evaluation-store.ts';

evaluationStoreContract(
  'memory',
  async () => {
    const clock = new ManualClock();
    const memory = new Memory(clock);
    return {
      place: undefined,
      clock,
      open: async () => inMemoryEvaluationStore(memory),
      [Symbol.asyncDispose]: async () => undefined,
    };
  },
  {
    'a writer that is killed leaves everything whose storing was confirmed, and nothing half': {
      reason: 'it is gone with its process',
      error: /^no other process can open it$/,
    },
  },
);
