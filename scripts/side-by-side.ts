import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { endOnClosedOutput } from '../src/cli/terminal/output.ts';
import { dependent } from './dependent-process.ts';
import { Ending, watchForEnding } from './ending.ts';

/**
 * Runs npm scripts at the same time, because most of them wait at times. Shows the output of the last script as it arrives, and that of
 * each other script when it has ended. Fails when one of them fails.
 *
 * node scripts/side-by-side.ts check test:python:repository test:python:clients test:unit
 */

const scripts = process.argv.slice(2);

async function run(script: string, isShownAsItComes: boolean, signal: AbortSignal): Promise<boolean> {
  // npm passes SIGTERM on to what it runs.
  const command = dependent('sh', ['-c', `exec npm run --silent ${script} 2>&1`], 'TERM');
  const child = spawn(...command, { stdio: ['ignore', 'pipe', 'inherit'] });
  signal.addEventListener('abort', () => child.kill('SIGTERM'));
  if (isShownAsItComes) child.stdout.pipe(process.stdout, { end: false });
  const [output] = await Promise.all([isShownAsItComes ? '' : text(child.stdout), once(child, 'close')]);
  const { exitCode: code } = child;
  const failure = signal.aborted ? 'interrupted' : `failed (exit code ${code})`;
  process.stdout.write(`${output}${script}: ${code === 0 ? 'passed' : failure}\n`);
  return code === 0;
}

async function main(): Promise<number> {
  using watch = watchForEnding();
  const passed = await Promise.all(scripts.map((script, at) => run(script, at === scripts.length - 1, watch.signal)));
  const { reason }: { readonly reason: unknown } = watch.signal;
  if (reason instanceof Ending) return reason.exitCode;
  return passed.every(Boolean) ? 0 : 1;
}

endOnClosedOutput(process);
process.exitCode = await main();
