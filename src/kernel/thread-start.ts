import { workerData } from 'node:worker_threads';
import type { ThreadData } from './thread.ts';

/** Where every `Thread` begins: it evaluates the thread's own module, and tells that this is done. */

const { module, evaluating }: ThreadData = workerData;
await import(module);
evaluating.close();
