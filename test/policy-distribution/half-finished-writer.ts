import { systemClock } from '../../src/kernel/clock.ts';
import type { CheckpointSource } from '../../src/policy-distribution/checkpoint-source.ts';
import { CheckpointStore } from '../../src/policy-distribution/store/checkpoint-store.ts';

/** Started as a process of its own, to be killed: it writes the first half of a file, says so, and waits for a second half that never comes. */
const [directory = ''] = process.argv.slice(2);
const store = await CheckpointStore.open({ directory, limits: { maxBytes: 1000, maxFiles: 1 }, clock: systemClock });
const source: CheckpointSource = {
  list: async () => ({ kind: 'file', files: [{ path: 'policy.bin', size: 8, address: 'policy.bin', revision: '1' }] }),
  async *read() {
    yield Buffer.from('half');
    process.stdout.write('half\n');
    await new Promise(() => process.stdin.resume());
  },
};
await store.add(source, 'policy.bin', new AbortController().signal);
