import { once } from 'node:events';
import { BENCHMARKS } from './all-benchmarks.ts';
import type { Report } from './benchmark.ts';

/** Runs one benchmark in this process, as its parent asks, and tells it all that comes of it: `one-benchmark.ts NAME [--quick]`. */

/** What the parent says, once. */
export interface Order {
  /** By their names, what an earlier run has measured. */
  readonly kept: Readonly<Record<string, unknown>>;
}

export type BenchmarkMessage =
  | { readonly kind: 'started'; readonly name: string }
  | { readonly kind: 'measured'; readonly name: string; readonly seconds: number; readonly value: unknown }
  | { readonly kind: 'report'; readonly report: Report };

const [name, flag] = process.argv.slice(2);
const benchmark = await BENCHMARKS[name ?? '']?.();
if (!benchmark || !process.send) throw new Error('started by bench/run.ts only');
const send = (message: BenchmarkMessage): void => void process.send?.(message);
const [first] = await once(process, 'message');
const { kept }: Order = first;
const quick = flag === '--quick';
const left = new Set(benchmark.measurements(quick));

const report = await benchmark.run({
  quick,
  say: (text) => process.stderr.write(`${benchmark.name}: ${text}\n`),
  measured: async (what, measure) => {
    if (!left.delete(what)) throw new Error(`"${what}" is none of the measurements of ${benchmark.name}, or was made already`);
    if (Object.hasOwn(kept, what)) return JSON.parse(JSON.stringify(kept[what]));
    send({ kind: 'started', name: what });
    const start = performance.now();
    const value = JSON.stringify(await measure(), assertKeeps);
    send({ kind: 'measured', name: what, seconds: (performance.now() - start) / 1000, value: JSON.parse(value) });
    return JSON.parse(value);
  },
});
if (left.size > 0) throw new Error(`${benchmark.name} has not measured ${[...left].join(', ')}`);
send({ kind: 'report', report });
process.disconnect();

/** @throws Error for what JSON would change without a word. */
function assertKeeps(key: string, value: unknown): unknown {
  const isLost = typeof value === 'number' ? !Number.isFinite(value) : value instanceof Map || value instanceof Set;
  if (isLost) throw new Error(`a measurement of ${name} has something as ${key} that JSON cannot keep`);
  return value;
}
