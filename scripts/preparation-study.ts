import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { type Preparation, preparationSchema } from '../src/agents/preparation/preparation-report.ts';
import { PACKAGE_ROOT } from '../src/kernel/package-root.ts';

/**
 * Prepares every repository in a directory with `muster prepare`, and prints a row of docs/prepare.md for each. It keeps finished work, as
 * the command itself does.
 */
const [repositories, out, ...flags] = process.argv.slice(2);
if (repositories === undefined || out === undefined) {
  process.stderr.write('usage: node scripts/preparation-study.ts REPOSITORIES OUT [flags of muster prepare]\n');
  process.exit(2);
}

for (const name of (await readdir(repositories)).sort()) {
  const directory = path.resolve(out, name);
  const words = ['prepare', path.join(repositories, name), '--out', directory, ...flags];
  await once(spawn(path.join(PACKAGE_ROOT, 'muster'), words, { stdio: ['ignore', 'ignore', 'inherit'] }), 'close');
  const text = await readFile(path.join(directory, 'report.json'), 'utf8').catch(() => undefined);
  process.stdout.write(text === undefined ? `| ${name} | no report | | | |\n` : formatRow(name, preparationSchema.parse(JSON.parse(text))));
}

function formatRow(name: string, { head, candidates, proof, seconds }: Preparation): string {
  const [language = ''] = candidates.flatMap(({ evidence }) => evidence.language ?? []).sort();
  const tasks = candidates.filter(({ task }) => task !== null);
  const refused = Map.groupBy(candidates, ({ refusal }) => refusal?.step ?? '');
  const counts = [...refused].filter(([step]) => step !== '').map(([step, each]) => `${each.length} ${step}`);
  const proven = proof.map(({ agent, mean }) => `${agent} ${mean ?? '–'}`).join(', ');
  const kinds = (kind: 'fix' | 'mutation'): number => tasks.filter((each) => each.kind === kind).length;
  const made = `${tasks.length} (${kinds('fix')} fixes, ${kinds('mutation')} mutations)`;
  return `| ${name} ${head?.slice(0, 8) ?? ''} ${language} | ${candidates.length} | ${made} | ${counts.join(', ')} | ${proven} | ${Math.round(seconds)} |\n`;
}
