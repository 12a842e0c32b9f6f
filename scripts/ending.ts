import { constants } from 'node:os';
import { systemClock, type Clock } from '../src/kernel/clock.ts';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
const LOOK_MILLISECONDS = 500;

/** Why a script has to end before its work is done. */
export class Ending extends Error {
  readonly exitCode: number;

  constructor(signal: (typeof SIGNALS)[number]) {
    super(`ended by ${signal}`);
    this.exitCode = 128 + constants.signals[signal];
  }
}

export interface EndingWatch extends Disposable {
  /** Its reason is an `Ending`. */
  readonly signal: AbortSignal;
}

/** Watches for a signal to end, and for the end of npm, which says nothing when it is killed. */
export function watchForEnding(clock: Clock = systemClock): EndingWatch {
  const controller = new AbortController();
  const end = (name: (typeof SIGNALS)[number]): void => controller.abort(new Ending(name));
  for (const name of SIGNALS) process.on(name, end);
  const parent = process.ppid;
  const look = (): Disposable =>
    clock.after(LOOK_MILLISECONDS, () => {
      if (process.ppid === parent) timer = look();
      else end('SIGHUP');
    });
  // A shell may end before a program that it has started in the background.
  let timer = process.env['npm_lifecycle_event'] === undefined ? undefined : look();
  return {
    signal: controller.signal,
    [Symbol.dispose]: () => {
      for (const name of SIGNALS) process.off(name, end);
      timer?.[Symbol.dispose]();
    },
  };
}
