import { mkdtempDisposable, readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, test } from 'vitest';
import { descendants, untilGone } from '../../bench/process-tree.ts';
import { MusterCommand } from '../end-to-end/muster-command.ts';
import { eventually } from '../support/eventually.ts';
import { sampled } from '../support/full-form.ts';
import { listChildren, listProcesses } from '../support/process-table.ts';

/** Small forms of scripts that start servers and sandboxes. */
const SCRIPTS: Readonly<Record<string, (kept: string) => readonly string[]>> = {
  chaos: () => ['--evaluations', '3', '--kills', '1'],
  fuzz: () => ['--examples', '5'],
  bench: (kept) => ['--only', 'rollout-load', '--quick', '--keep', kept],
  'test:unit': () => ['test/end-to-end/serve.test.ts', '-t', 'every kill -9'],
};

/** How each ends, and whether something is left that can remove files. */
const WAYS: Readonly<Record<string, { readonly end: (command: MusterCommand) => void; readonly removesFiles: boolean }>> = {
  'Ctrl-C': { end: (command) => command.signalGroup('SIGINT'), removesFiles: true },
  'kill, sent to npm': { end: (command) => command.signal('SIGTERM'), removesFiles: true },
  'a closed terminal': { end: (command) => command.signalGroup('SIGHUP'), removesFiles: true },
  'kill -9, sent to npm': { end: (command) => command.signal('SIGKILL'), removesFiles: true },
  'kill -9, sent to its group': { end: (command) => command.signalGroup('SIGKILL'), removesFiles: false },
};
const CASES = Object.keys(SCRIPTS).flatMap((script) => Object.keys(WAYS).map((way) => ({ script, way })));
const SHORT = new Set(['chaos: Ctrl-C', 'chaos: kill -9, sent to npm', 'test:unit: kill, sent to npm', 'fuzz: kill -9, sent to its group']);

test.each(sampled(CASES, ({ script, way }) => SHORT.has(`${script}: ${way}`)))(
  'npm run $script that $way ends leaves no process behind, and no file',
  async ({ script, way }) => {
    await using kept = await mkdtempDisposable(path.join(tmpdir(), 'k-'));
    await using place = await mkdtempDisposable(path.join(tmpdir(), 'i-'));
    const environment = { TMPDIR: place.path, NODE_DISABLE_COMPILE_CACHE: '1' };
    await using command = new MusterCommand(['npm', 'run', script, '--', ...(SCRIPTS[script]?.(kept.path) ?? [])], { environment });
    const named = () => listProcesses().filter(({ argv }) => argv.some((word) => word.includes(place.path)));
    await command.until('a server has sandboxes', () =>
      named().some(({ pid, argv }) => argv.includes('serve') && listChildren(pid).length > 0),
    );
    const processes = descendants(command.pid);
    WAYS[way]?.end(command);
    await command.ended;
    await untilGone(processes);
    const filesLeft = async (): Promise<number> => (WAYS[way]?.removesFiles ? (await readdir(place.path)).length : 0);
    await eventually('neither process nor file is left', async () => named().length + (await filesLeft()) === 0);
    expect(named()).toEqual([]);
  },
);
