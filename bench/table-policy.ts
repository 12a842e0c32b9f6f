import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { PACKAGE_ROOT } from '../src/kernel/package-root.ts';
import { PYTHON } from './machine.ts';

const run = promisify(execFile);

/** Runs policies/table_policy.py. @returns what it says. */
export async function tablePolicy(...words: readonly string[]): Promise<string> {
  const env = { ...process.env, PYTHONPATH: join(PACKAGE_ROOT, 'runner') };
  const { stdout } = await run(PYTHON, [join(PACKAGE_ROOT, 'bench/policies/table_policy.py'), ...words], { env });
  return stdout;
}
