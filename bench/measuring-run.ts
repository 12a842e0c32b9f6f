import type { Benchmark, Report } from './benchmark.ts';
import { showFigures } from './figures-text.ts';
import { tellStillRunning } from '../scripts/still-running.ts';
import { RecordedMeasurements, type StoredMeasurement } from './recorded-measurements.ts';
import { KnownSeconds } from './known-seconds.ts';
import type { Machine } from './machine.ts';
import type { BenchmarkMessage } from './one-benchmark.ts';
import { inOwnProcess } from './own-process.ts';
import { showReport } from './table-text.ts';
import { showSeconds, showTimeLeft } from './time-left.ts';

export interface Results {
  readonly machine: Machine;
  readonly quick: boolean;
  readonly reports: Record<string, Report>;
  /** How long each measurement took, and when it was made: before this run when that goes on from one that was interrupted. */
  readonly measurements: Record<string, readonly Omit<StoredMeasurement, 'value'>[]>;
}

interface RunOptions {
  readonly benchmarks: readonly Benchmark[];
  readonly quick: boolean;
  /** What an interrupted run has kept is forgotten. */
  readonly afresh: boolean;
  readonly settings: string;
  /** Directory of what unfinished runs have measured. */
  readonly keep: string;
  /** To be filled. */
  readonly results: Results;
  readonly say: (text: string) => void;
  readonly signal: AbortSignal;
}

/** One run of some benchmarks: what is measured is shown and kept at once, with the time that is left. */
export class MeasuringRun {
  readonly #options: RunOptions;
  readonly #kept: ReadonlyMap<string, RecordedMeasurements>;
  readonly #known: KnownSeconds;
  readonly #made: number[] = [];
  /** Reports that the present measurement is still running. */
  #beats: Disposable | undefined;

  private constructor(options: RunOptions, kept: ReadonlyMap<string, RecordedMeasurements>, known: KnownSeconds) {
    this.#options = options;
    this.#kept = kept;
    this.#known = known;
  }

  static async open(options: RunOptions): Promise<MeasuringRun> {
    const { benchmarks, afresh, settings, keep } = options;
    const kept = new Map<string, RecordedMeasurements>();
    for (const { name } of benchmarks) {
      if (afresh) await RecordedMeasurements.forget(keep, name, settings);
      kept.set(name, await RecordedMeasurements.open(keep, name, settings));
    }
    return new MeasuringRun(options, kept, await KnownSeconds.open(keep, options.quick));
  }

  /** @throws Error when it fails; the signal's reason when it is aborted. */
  async measure({ name, measurements }: Benchmark): Promise<void> {
    const { quick, signal, results, say } = this.#options;
    const kept = this.#keptOf(name);
    const already = kept.all;
    say(`\n${name}: ${countMeasurements(measurements(quick).length)}, ${this.#timeLeft()}`);
    for (const { name: what, value, date } of already) say(`${name}: ${what}: ${showFigures(value)}; kept from ${date}`);
    const order = { kept: Object.fromEntries(already.map(({ name: what, value }) => [what, value])) };
    try {
      await inOwnProcess({ name, quick, order, signal }, (message) => this.#handle(name, message));
    } finally {
      this.#beats?.[Symbol.dispose]();
    }
    const report = results.reports[name];
    if (!report) throw new Error(`benchmark ${name} ended without a report`);
    results.measurements[name] = kept.all.map(({ value: _value, ...rest }) => rest);
    say(`\n${showReport(name, report)}`);
  }

  /** What an interrupted run leaves, for people. */
  whatIsKept(): string {
    const all = [...this.#kept.values()].filter(({ all: { length } }) => length > 0);
    if (all.length === 0) return 'nothing was measured yet';
    const lines = all.map(({ path, all: { length } }) => `  ${path}: ${countMeasurements(length)}`);
    return `the same command goes on from what is kept (--afresh measures anew):\n${lines.join('\n')}`;
  }

  /** All is measured. */
  async discard(): Promise<void> {
    for (const kept of this.#kept.values()) await kept.discard();
  }

  async #handle(benchmark: string, message: BenchmarkMessage): Promise<void> {
    const { results, say } = this.#options;
    switch (message.kind) {
      case 'started': {
        const { name } = message;
        const before = this.#known.get(`${benchmark}/${name}`);
        const known = before === undefined ? '' : ` of about ${showSeconds(before)}`;
        say(`${benchmark}: ${name} …`);
        this.#beats = tellStillRunning((seconds) => say(`${benchmark}: ${name}: ${showSeconds(seconds)}${known} so far`));
        return;
      }
      case 'measured': {
        const { name, seconds, value } = message;
        this.#beats?.[Symbol.dispose]();
        await this.#keptOf(benchmark).add({ name, seconds, date: new Date().toISOString(), value: JSON.parse(JSON.stringify(value)) });
        this.#made.push(seconds);
        await this.#known.set(`${benchmark}/${name}`, seconds);
        say(`${benchmark}: ${name}: ${showFigures(value)}; ${showSeconds(seconds)}, ${this.#timeLeft()}`);
        return;
      }
      case 'report':
        results.reports[benchmark] = message.report;
    }
  }

  #timeLeft(): string {
    const { benchmarks, quick } = this.#options;
    const left = benchmarks.flatMap(({ name, measurements }) => {
      const made = new Set(this.#keptOf(name).all.map((each) => each.name));
      const missing = measurements(quick).filter((what) => !made.has(what));
      return missing.map((what) => this.#known.get(`${name}/${what}`));
    });
    return showTimeLeft({ made: this.#made, left });
  }

  #keptOf(benchmark: string): RecordedMeasurements {
    const kept = this.#kept.get(benchmark);
    if (!kept) throw new Error(`${benchmark} is none of this run's benchmarks`);
    return kept;
  }
}

function countMeasurements(count: number): string {
  return count === 1 ? '1 measurement' : `${count} measurements`;
}
