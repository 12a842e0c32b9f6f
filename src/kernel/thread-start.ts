import { workerData } from 'node:worker_threads';
import type { ThreadData } from './thread.ts';

/** Entry of every `Thread`: evaluates the thread's own module, then reports that it has. */

const { module, evaluating }: ThreadData = workerData;
await import(module);
evaluating.close();
