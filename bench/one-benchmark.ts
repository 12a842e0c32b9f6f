import { BENCHMARKS } from './all-benchmarks.ts';

/** Runs one benchmark in this process and sends its report to the parent: `one-benchmark.ts NAME [--quick]`. */
const [name, flag] = process.argv.slice(2);
const benchmark = BENCHMARKS.find((candidate) => candidate.name === name);
if (!benchmark || !process.send) throw new Error('started by bench/run.ts only');
const report = await benchmark.run({
  quick: flag === '--quick',
  say: (text) => process.stderr.write(`${benchmark.name}: ${text}\n`),
});
process.send(report, () => process.disconnect());
