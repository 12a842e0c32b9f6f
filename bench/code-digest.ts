import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PACKAGE_ROOT } from '../src/kernel/package-root.ts';
import type { Machine } from './machine.ts';

/** What figures depend on: a change anywhere in it makes those of before another thing's. */
const CODE = ['src', 'runner', 'config', 'bench', 'examples/game', 'test/support', 'test/cluster', 'package-lock.json'];
const MEASURED_ANEW = /(^|\/)(results|__pycache__|node_modules|\.[a-z_]+)(\/|$)/;

/** Of the code, whatever a commit is called, the machine and the variables that choose what is measured. */
export function settingsDigest({ machine, quick }: { readonly machine: Machine; readonly quick: boolean }): string {
  const hash = createHash('sha256');
  const { date: _date, load: _load, ...same } = machine;
  const variables = Object.entries(process.env).filter(([name]) => name.startsWith('MUSTER_'));
  hash.update(JSON.stringify([same, variables.toSorted(([a], [b]) => (a < b ? -1 : 1))]));
  for (const path of CODE.flatMap(filesOf)) hash.update(`${path}\0`).update(readFileSync(join(PACKAGE_ROOT, path)));
  return `${quick ? 'quick' : 'full'}-${hash.digest('hex').slice(0, 12)}`;
}

function filesOf(path: string): readonly string[] {
  if (path.endsWith('.json')) return [path];
  const entries = readdirSync(join(PACKAGE_ROOT, path), { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name).slice(PACKAGE_ROOT.length + 1));
  return files.filter((file) => !MEASURED_ANEW.test(file)).toSorted();
}
