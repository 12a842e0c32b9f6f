import { systemClock, type Clock } from '../../src/kernel/clock.ts';
import { parseDigest } from '../../src/kernel/ids.ts';
import { CheckpointStore } from '../../src/policy-distribution/store/checkpoint-store.ts';

/** Started as a process of its own, to be killed: it packs and rebuilds the checkpoints of a store, over and over, and says when it begins anew. */
const [directory = '', ...digests] = process.argv.slice(2);
let later = 0;
const clock: Clock = { ...systemClock, date: () => new Date(systemClock.date().getTime() + later) };
const store = await CheckpointStore.open({ directory, limits: { maxBytes: 1e9, maxFiles: 10 }, clock });
for (;;) {
  later += 3 * 3_600_000;
  process.stdout.write('begun\n');
  await store.retain({ maxBytes: undefined, isNeeded: () => false }, new AbortController().signal);
  for (const digest of digests) await store.find(parseDigest(digest));
}
