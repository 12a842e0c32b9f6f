import type { Clock } from '../../kernel/clock.ts';

/**
 * A plan costs about a tenth of a microsecond a sandbox. With one millisecond between plans for every 200 sandboxes, planning takes at most
 * some two per cent of the time at any size, and a pool of fewer than 200 plans as soon as something happens.
 */
const SANDBOXES_PER_MS_BETWEEN_PLANS = 200;

/** Returns the milliseconds between two plans of a pool. */
export function computePlanInterval(sandboxes: number): number {
  return Math.floor(sandboxes / SANDBOXES_PER_MS_BETWEEN_PLANS);
}

/**
 * Decides when to run: soon after an event, once for many events, and no more often than the interval allows; or at a requested time. Runs
 * never nest.
 */
export class Pacer implements Disposable {
  readonly #clock: Clock;
  readonly #run: () => void;
  /** Present minimum of milliseconds between two runs. */
  readonly #intervalMs: () => number;
  #ranAt = -Infinity;
  #queued = false;
  #timer: { readonly at: number; readonly handle: Disposable } | undefined;
  #disposed = false;

  constructor(clock: Clock, intervalMs: () => number, run: () => void) {
    this.#clock = clock;
    this.#intervalMs = intervalMs;
    this.#run = run;
  }

  runPaced(): void {
    const earliest = this.#ranAt + this.#intervalMs();
    if (earliest > this.#clock.now()) this.#startTimer(earliest);
    else this.runSoon();
  }

  /** Runs as soon as the current code has returned, whatever the interval. */
  runSoon(): void {
    if (this.#queued || this.#disposed) return;
    this.#queued = true;
    queueMicrotask(() => this.#start());
  }

  runAt(time: number): void {
    this.#startTimer(Math.max(time, this.#ranAt + this.#intervalMs()));
  }

  [Symbol.dispose](): void {
    this.#disposed = true;
    this.#stopTimer();
  }

  #startTimer(at: number): void {
    if (this.#disposed || (this.#timer !== undefined && this.#timer.at <= at)) return;
    this.#stopTimer();
    const delayMs = Math.max(0, at - this.#clock.now());
    this.#timer = { at, handle: this.#clock.after(delayMs, () => this.#start()) };
  }

  #stopTimer(): void {
    this.#timer?.handle[Symbol.dispose]();
    this.#timer = undefined;
  }

  #start(): void {
    this.#queued = false;
    this.#stopTimer();
    if (this.#disposed) return;
    this.#ranAt = this.#clock.now();
    this.#run();
  }
}
