import { parentPort } from 'node:worker_threads';
import { measure } from './measurement.ts';
import { scenarioNamed } from './scenarios.ts';
import type { Batch } from './study.ts';

// Measures one batch of trials after another, until the study ends the thread.
parentPort?.on('message', ({ title, first, runs }: Batch) => {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
  parentPort?.postMessage(measure(scenarioNamed(title), first, runs));
});
