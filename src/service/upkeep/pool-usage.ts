import type { Clock } from '../../kernel/clock.ts';
import type { SandboxUsage } from '../../kernel/sandbox-usage.ts';

/** The resource usage of a pool's sandboxes, as of the last measurement. */
export interface PoolUsage {
  /** Number of measured sandboxes. */
  readonly sandboxes: number;
  /** Processor seconds a second between the last two measurements; undefined before the second one. */
  readonly processors: number | undefined;
  /** Sum of the sandboxes' peaks. */
  readonly memoryBytes: number;
  readonly largestMemoryBytes: number;
}

/**
 * Least time between two measurements, in milliseconds. It grows with the number of sandboxes, so that single measurements are as frequent in total
 * as in usage-meter.ts.
 */
const LEAST_PAUSE = 2000;
const PAUSE_PER_SANDBOX = 10;

/** The usage of one pool. It is measured only while callers request it, and they get the latest measurement. */
export class PoolUsageMeter {
  readonly #read: () => Promise<ReadonlyMap<string, SandboxUsage>>;
  readonly #clock: Clock;
  #before: { readonly at: number; readonly usages: ReadonlyMap<string, SandboxUsage> } | undefined;
  #latest: PoolUsage | undefined;
  #nextAt = -Infinity;

  /** @param read never rejects. */
  constructor(read: () => Promise<ReadonlyMap<string, SandboxUsage>>, clock: Clock) {
    this.#read = read;
    this.#clock = clock;
  }

  /** It is undefined before the first measurement, and where nothing is measured. */
  get latest(): PoolUsage | undefined {
    if (this.#clock.now() >= this.#nextAt) {
      this.#nextAt = Infinity;
      void this.#look();
    }
    return this.#latest;
  }

  async #look(): Promise<void> {
    const usages = await this.#read();
    const at = this.#clock.now();
    this.#latest = this.#sum(usages, at);
    this.#before = { at, usages };
    this.#nextAt = at + Math.max(LEAST_PAUSE, PAUSE_PER_SANDBOX * usages.size);
  }

  #sum(usages: ReadonlyMap<string, SandboxUsage>, at: number): PoolUsage | undefined {
    if (usages.size === 0) return undefined;
    const memory = Array.from(usages.values(), ({ peakMemoryBytes = 0 }) => peakMemoryBytes);
    return {
      sandboxes: usages.size,
      processors: this.#computeProcessors(usages, at),
      memoryBytes: memory.reduce((sum, bytes) => sum + bytes, 0),
      largestMemoryBytes: Math.max(...memory),
    };
  }

  /** Computes the processors in use since the measurement before. Sandboxes that were made since then count from their start. */
  #computeProcessors(usages: ReadonlyMap<string, SandboxUsage>, at: number): number | undefined {
    const before = this.#before;
    if (!before || at <= before.at) return undefined;
    let seconds = 0;
    for (const [id, { cpuSeconds = 0 }] of usages) seconds += Math.max(0, cpuSeconds - (before.usages.get(id)?.cpuSeconds ?? 0));
    return (1000 * seconds) / (at - before.at);
  }
}
