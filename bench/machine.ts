import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { availableParallelism, cpus, loadavg, release, totalmem } from 'node:os';
import { join } from 'node:path';
import { PACKAGE_ROOT } from '../src/kernel/package-root.ts';

/** Where figures were taken: without it they say nothing. */
export interface Machine {
  readonly date: string;
  readonly processor: string;
  readonly processors: number;
  readonly memoryGiB: number;
  readonly kernel: string;
  readonly node: string;
  readonly python: string;
  readonly packages: string;
  readonly bubblewrap: string;
  /** Average number of running processes over the last minute, before anything was measured: others disturb. */
  readonly load: number;
}

export const PYTHON = join(PACKAGE_ROOT, '.venv', 'bin', 'python');

const VERSIONS = `
import gymnasium, numpy, platform
print(platform.python_version())
print(f"gymnasium {gymnasium.__version__}, NumPy {numpy.__version__}")
`;

export function describeMachine(): Machine {
  const [python = 'unknown', packages = 'unknown'] = firstLines(PYTHON, ['-c', VERSIONS]);
  const [bubblewrap = 'missing'] = firstLines('bwrap', ['--version']);
  return {
    date: new Date().toISOString().slice(0, 10),
    processor: cpus()[0]?.model ?? 'unknown',
    processors: availableParallelism(),
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    kernel: release(),
    node: process.version,
    python,
    packages,
    bubblewrap,
    load: Number((loadavg()[0] ?? 0).toFixed(2)),
  };
}

function firstLines(command: string, args: readonly string[]): readonly string[] {
  return execFileSync(command, args, { encoding: 'utf8' }).trim().split('\n');
}

export function showMachine(machine: Machine): string {
  const { date, processor, processors, memoryGiB, kernel, node, python, packages, bubblewrap, load } = machine;
  return [
    `${date}: ${processor}, ${processors} processors, ${memoryGiB} GiB, Linux ${kernel}`,
    `Node ${node}, Python ${python}, ${packages}, ${bubblewrap}; load before the start ${load}`,
  ].join('\n');
}

/** Milliseconds that the machine's processors have been busy since it started: all but the fourth and fifth figure, in hundredths of a second. */
export function readMachineMs(): number {
  const [first = ''] = readFileSync('/proc/stat', 'utf8').split('\n');
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0] = first.split(/\s+/).slice(1).map(Number);
  return 10 * (user + nice + system + irq + softirq);
}
