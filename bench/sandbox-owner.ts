import { RealSandboxes } from './real-sandboxes.ts';

/** A Muster in a process of its own, to be killed: `sandbox-owner.ts COUNT`. Tells its parent once all of its sandboxes are warm. */
const count = Number(process.argv[2]);
if (!Number.isInteger(count) || count < 1 || !process.send) throw new Error('started by bench/killed-owner.ts only');
const { directory, owner } = await RealSandboxes.warm(count, 'forked');
process.send({ directory, owner });
// The process that started it is gone.
process.once('disconnect', () => process.exit(1));
