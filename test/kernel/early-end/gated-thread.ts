import { parentPort, workerData } from 'node:worker_threads';
import type { ThreadData } from '../../../src/kernel/thread.ts';
import { awaited } from './awaited.ts';

/** After the gate has opened: they take longer than it takes a thread to notice that it is terminated. */
const TURNS = 10_000_000;

// In the middle of its evaluation until the gate opens.
const { data: gate }: ThreadData<Int32Array> = workerData;
parentPort?.postMessage(awaited);
Atomics.wait(gate, 0, 0);
for (let turns = 0; turns < TURNS; turns += 1) Atomics.load(gate, 0);
