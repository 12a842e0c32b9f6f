import { raceWithAbort } from '../../../src/kernel/abort.ts';
import type { CheckpointListing, CheckpointSource, ListedFile } from '../../../src/policy-distribution/checkpoint-source.ts';
import { RunWatch, type WatchTerms } from '../../../src/service/watching/run-watch.ts';
import type { WatchEvent } from '../../../src/service/watching/watch-event.ts';
import { NOTHING_YET, type Score, type WatchMemory, type WatchRecord } from '../../../src/service/watching/watch-record.ts';
import { ManualClock } from '../../support/manual-clock.ts';

const SECOND = 1000;

/** A training run in memory, and a watch of it; what checkpoints are worth is what the test says. */
export class WatchFixture {
  readonly clock = new ManualClock();
  readonly files = new Map<string, ListedFile>();
  readonly events: WatchEvent[] = [];
  readonly evaluated: string[] = [];
  readonly pointed: string[] = [];
  /** What was made ready, and what of it was given up before its turn. */
  readonly readied: string[] = [];
  /** What the evaluation of a checkpoint comes to; its name's number and a narrow interval otherwise. */
  readonly answers = new Map<string, (signal: AbortSignal) => Promise<Score>>();
  remembered: WatchRecord = NOTHING_YET;
  listing: (() => Promise<CheckpointListing>) | undefined;
  isPointable = true;
  readonly #stop = new AbortController();
  #writes = 0;

  put(path: string, size = 10): void {
    this.#writes += 1;
    this.files.set(path, { path, size, address: `/run/${path}`, revision: `write ${this.#writes}` });
  }

  start(terms: Partial<WatchTerms> = {}): Promise<WatchRecord> {
    const all = { uri: '/run', marker: undefined, stale: 'skip', everyMs: 30 * SECOND, once: false, ...terms } as const;
    const ports = {
      source: this.#source,
      maxFiles: 100,
      memory: this.#memory,
      clock: this.clock,
      evaluate: (name: string, uri: string, signal: AbortSignal, after?: Promise<unknown>) => this.#evaluate(name, uri, signal, after),
      report: async (event: WatchEvent) => void this.events.push(event),
      pointTo: async ({ name }: Score) => {
        if (this.isPointable) this.pointed.push(name);
        return this.isPointable;
      },
    };
    const ended = RunWatch.run(all, ports, this.#stop.signal);
    ended.catch(() => undefined);
    return ended;
  }

  /** Ends the watch as Ctrl-C does. */
  stop(reason = new DOMException('interrupted', 'AbortError')): void {
    this.#stop.abort(reason);
  }

  pass(seconds: number): Promise<void> {
    return this.clock.advance(seconds * SECOND);
  }

  get #memory(): WatchMemory {
    const hold = async (): Promise<AsyncDisposable> => ({ [Symbol.asyncDispose]: () => Promise.resolve() });
    return { hold, read: async () => this.remembered, write: async (record) => void (this.remembered = record) };
  }

  get #source(): CheckpointSource {
    return {
      list: async () => this.listing?.() ?? { kind: 'directory', files: [...this.files.values()] },
      read: () => {
        throw new Error('a watch reads nothing itself');
      },
    };
  }

  async #makeReady(name: string, after: Promise<unknown>, signal: AbortSignal): Promise<void> {
    this.readied.push(name);
    await raceWithAbort(Promise.allSettled([after]), signal).catch((error: unknown) => {
      this.readied.push(`no ${name}`);
      throw error;
    });
  }

  async #evaluate(name: string, uri: string, signal: AbortSignal, after: Promise<unknown> | undefined): Promise<Score> {
    if (after) await this.#makeReady(name, after, signal);
    this.evaluated.push(uri);
    const answer = this.answers.get(name);
    return answer ? answer(signal) : scoreWith(name, Number(/\d+/.exec(name)?.[0] ?? 0));
  }
}

/** Of a checkpoint with such a mean and an interval around it. */
export function scoreWith(name: string, mean: number, halfWidth = 1): Score {
  const interval = {
    low: mean - halfWidth,
    high: mean + halfWidth,
    confidence: 0.95,
    method: 'certified',
    guarantee: 'at least the stated confidence',
  } as const;
  return { name, uri: `/run/${name}`, digest: `sha256:${name}`, episodes: 100, mean, interval };
}
