import { systemClock, type Clock } from '../src/kernel/clock.ts';

const BEAT_SECONDS = 15;

/** Calls `tell` every 15 seconds with the seconds since the start, until it is disposed of. A program that is silent for longer seems to hang. */
export function tellStillRunning(tell: (seconds: number) => void, clock: Clock = systemClock): Disposable {
  const start = clock.now();
  const wait = (): Disposable =>
    clock.after(BEAT_SECONDS * 1000, () => {
      timer = wait();
      tell(Math.round((clock.now() - start) / 1000));
    });
  let timer = wait();
  return { [Symbol.dispose]: () => timer[Symbol.dispose]() };
}
