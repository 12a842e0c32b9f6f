import { systemClock } from '../../src/kernel/clock.ts';
import { parseDigest } from '../../src/kernel/ids.ts';
import { CheckpointStore } from '../../src/policy-distribution/store/checkpoint-store.ts';

/** Started as a process of its own, to be killed: it holds a checkpoint, says so, and never lets go of it. */
const [directory = '', digest = ''] = process.argv.slice(2);
const store = await CheckpointStore.open({ directory, limits: { maxBytes: 1000, maxFiles: 1 }, clock: systemClock });
await store.hold(parseDigest(digest));
process.stdout.write('held\n');
process.stdin.resume();
