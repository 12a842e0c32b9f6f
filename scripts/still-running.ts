import { systemClock, type Clock } from '../src/kernel/clock.ts';

const BEAT_SECONDS = 15;

/** Tells again and again, until it is disposed of, for how long something has been going on. A program that is silent for longer looks as if it hung. */
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
