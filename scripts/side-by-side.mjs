/**
 * Runs npm scripts at the same time, because most of them wait at times. Shows the output of the last script as it arrives, and that of
 * each other script when it has ended. Fails when one of them fails.
 *
 * node scripts/side-by-side.mjs check test:python:repository test:python:clients test:unit
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';

const scripts = process.argv.slice(2);

async function run(script, isShownAsItComes) {
  const child = spawn(`npm run --silent ${script} 2>&1`, { shell: true, stdio: ['ignore', 'pipe', 'inherit'] });
  if (isShownAsItComes) child.stdout.pipe(process.stdout, { end: false });
  const [output, [code]] = await Promise.all([isShownAsItComes ? '' : text(child.stdout), once(child, 'close')]);
  process.stdout.write(`${output}${script}: ${code === 0 ? 'passed' : `failed (exit code ${code})`}\n`);
  return code;
}

const codes = await Promise.all(scripts.map((script, at) => run(script, at === scripts.length - 1)));
process.exitCode = codes.every((code) => code === 0) ? 0 : 1;
