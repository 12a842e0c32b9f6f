import { once } from 'node:events';
import { Thread } from '../../../src/kernel/thread.ts';

/** Terminates a thread while it evaluates a module that imports one with an `await` at its top level. */
const gate = new Int32Array(new SharedArrayBuffer(4));
const thread = new Thread(new URL('gated-thread.ts', import.meta.url), { data: gate });
await once(thread, 'message');
const ended = thread.terminate();
Atomics.store(gate, 0, 1);
Atomics.notify(gate, 0);
await ended;
process.stdout.write('ended');
