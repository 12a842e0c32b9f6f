import { spawn } from 'node:child_process';
import { runContained } from './contained-process.ts';
import { dependent } from './dependent-process.ts';
import { Ending, watchForEnding } from './ending.ts';

/** Runs a program of Node so that it leaves nothing behind, also when it is interrupted: node scripts/contain.ts PROGRAM [ARGUMENT]… */

async function main(): Promise<number> {
  using watch = watchForEnding();
  const command = dependent(process.execPath, process.argv.slice(2));
  const start = (directory: string) =>
    spawn(...command, { env: { ...process.env, TMPDIR: directory }, stdio: ['ignore', 'inherit', 'inherit'], detached: true });
  const code = await runContained(start, watch.signal);
  const { reason }: { readonly reason: unknown } = watch.signal;
  return reason instanceof Ending ? reason.exitCode : code;
}

process.exitCode = await main();
