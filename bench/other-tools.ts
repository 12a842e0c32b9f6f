import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { availableParallelism } from 'node:os';
import type { BenchmarkContext, Cell } from './benchmark.ts';
import { PYTHON } from './machine.ts';
import { peerRates } from './vector-environments.ts';

const run = promisify(execFile);

/** Tools that people use for the same work, with scripts of bench/peers; measured where they are installed. */
const TOOLS = [
  { name: 'EnvPool, one process', module: 'envpool', script: 'envpool_episodes.py' },
  { name: 'Stable-Baselines3, evaluate_policy, one process', module: 'stable_baselines3', script: 'sb3_episodes.py' },
];

/** Rows of a table of steps a second. */
export async function otherTools(checkpoint: string, { quick, say }: BenchmarkContext): Promise<readonly (readonly Cell[])[]> {
  const python = process.env['MUSTER_PEERS_PYTHON'] ?? PYTHON;
  const rows: Cell[][] = [];
  for (const { name, module, script } of TOOLS) {
    if (!(await has(python, module))) {
      rows.push([name, 'not installed', '']);
      continue;
    }
    say(name);
    const args = ['--threads', `${availableParallelism()}`, '--seconds', quick ? '1' : '5', checkpoint];
    rows.push([name, Math.round((await peerRates(python, script, args)).stepsPerSecond), '']);
  }
  return rows;
}

async function has(python: string, module: string): Promise<boolean> {
  try {
    await run(python, ['-c', `import importlib.util, sys; sys.exit(importlib.util.find_spec(${JSON.stringify(module)}) is None)`]);
    return true;
  } catch {
    return false;
  }
}
