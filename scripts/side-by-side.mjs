/**
 * Runs npm scripts at the same time, and shows the output of each when it has ended. Fails when one of them does.
 *
 *   node scripts/side-by-side.mjs check test:python:repository test:python:clients
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';

const codes = await Promise.all(
  process.argv.slice(2).map(async (script) => {
    const child = spawn(`npm run --silent ${script} 2>&1`, { shell: true, stdio: ['ignore', 'pipe', 'inherit'] });
    const [output, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')]);
    process.stdout.write(`${output}${script}: ${code === 0 ? 'passed' : `failed (exit code ${code})`}\n`);
    return code;
  }),
);
process.exitCode = codes.every((code) => code === 0) ? 0 : 1;
