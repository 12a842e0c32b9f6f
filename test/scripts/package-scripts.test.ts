import { spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { sampled } from '../support/full-form.ts';

const PACKAGE = z.object({ scripts: z.record(z.string(), z.string()) });
const { scripts } = PACKAGE.parse(JSON.parse(await readFile(path.resolve('package.json'), 'utf8')));

/** Who has just cloned the repository has an older Node and nothing of what the scripts stand on. */
describe('a script of package.json in a fresh clone', () => {
  let clone: string;
  let oldNode: string;

  beforeEach(async () => {
    clone = await mkdtemp(path.join(tmpdir(), 'muster-clone-'));
    oldNode = path.join(clone, 'old-node');
    await mkdir(path.join(clone, 'scripts'));
    await mkdir(oldNode);
    await symlink(process.execPath, path.join(oldNode, 'node'));
  });
  afterEach(async () => await rm(clone, { recursive: true }));

  /** As npm runs it: by a shell, with the packages' commands before the machine's. */
  function run(command: string) {
    return spawnSync('sh', ['-c', command], {
      cwd: clone,
      encoding: 'utf8',
      env: { PATH: [path.join(clone, 'node_modules/.bin'), oldNode, '/usr/bin', '/bin'].join(':') },
    });
  }

  test.each(Object.entries(scripts))('%s sets up what it needs, and goes no further when that fails', async (_, command) => {
    await writeFile(path.join(clone, 'scripts/setup.mjs'), `process.stdout.write('set up'); process.exit(3);`);
    const { status, stdout, stderr } = run(command);
    expect({ status, stdout, stderr }).toEqual({ status: 3, stdout: 'set up', stderr: '' });
  });

  test('a set-up that was interrupted while it made the Python environment is finished by the next one', async () => {
    const write = async (name: string, text: string): Promise<void> => {
      await mkdir(path.dirname(path.join(clone, name)), { recursive: true });
      await writeFile(path.join(clone, name), text, { mode: 0o755 });
    };
    await write('scripts/setup.mjs', await readFile('scripts/setup.mjs', 'utf8'));
    await write('node_modules/.bin/node', '#!/bin/sh\necho v24');
    for (const tool of ['npm', 'bwrap']) await write(`old-node/${tool}`, '#!/bin/sh');
    await write('.venv/bin/python', '#!/bin/sh\necho No module named pip >&2; exit 1');
    await write('python', `#!/bin/sh\n[ "$2" = venv ] && printf '#!/bin/sh' > "$3/bin/python"; exit 0`);
    const { status, stderr } = run(`PYTHON=./python ${process.execPath} scripts/setup.mjs`);
    expect({ status, stderr }).toEqual({
      status: 0,
      stderr: expect.stringMatching(/making a Python environment in \.venv\n[^]*ready \(Node v24\)/),
    });
  });

  test('a set-up that is interrupted ends after the step that it is in, and refuses options that it does not have', async () => {
    await writeFile(path.join(clone, 'scripts/setup.mjs'), await readFile('scripts/setup.mjs', 'utf8'));
    await writeFile(path.join(oldNode, 'npm'), '#!/bin/sh\nkill -INT $PPID; echo > taken-back; exit 1', { mode: 0o755 });
    const { status, stderr } = run('node scripts/setup.mjs');
    expect({ status, stderr }).toEqual({ status: 130, stderr: expect.stringMatching(/setup: interrupted; [^\n]*\n$/) });
    expect(await readdir(clone)).toContain('taken-back');
    expect(run('node scripts/setup.mjs --help')).toMatchObject({ status: 2, stderr: expect.stringContaining('expected --bench') });
  });

  const inTypeScript = Object.entries(scripts).filter(([, command]) => /^[^&]*&& [^&(]*node \S+\.ts/.test(command));
  test('there are scripts in TypeScript', () => expect(inTypeScript.map(([name]) => name)).toContain('bench'));

  // A shell remembers where it found a command: after "node scripts/setup.mjs", "node" is still the older one.
  test.each(inTypeScript)('%s runs on the Node that was set up just now', async (_, command) => {
    await writeFile(
      path.join(clone, 'scripts/setup.mjs'),
      `import { mkdirSync, writeFileSync } from 'node:fs';
       mkdirSync('node_modules/.bin', { recursive: true });
       writeFileSync('node_modules/.bin/node', '#!/bin/sh\\necho new Node: "$@"', { mode: 0o755 });`,
    );
    const { status, stdout, stderr } = run(command);
    expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: expect.stringMatching(/^new Node: \S+\.ts( \S+)*\n$/), stderr: '' });
  });
});

/** The scripts that take options, by what they run once everything is set up. */
test.each(
  sampled(['bench', 'chaos', 'coverage-study', 'fuzz', 'images', 'screenshots'], (name) => name === 'images' || name === 'screenshots'),
)('%s tells its options, also to a pipe that nobody reads any more, and refuses others in one line', (name) => {
  const program = /node (?:scripts\/contain\.ts )?(?<file>\S+\.ts)/.exec(scripts[name] ?? '')?.groups?.['file'] ?? '';
  const start = (flag: string) => spawnSync(process.execPath, [program, flag], { encoding: 'utf8' });
  expect(start('--help')).toMatchObject({ status: 0, stdout: expect.stringContaining(`npm run ${name} -- `), stderr: '' });
  expect(start('--nonsense')).toMatchObject({ status: 2, stdout: '', stderr: "Unknown option '--nonsense'; see --help\n" });
  // The shell's own end of the pipe is closed before the program writes.
  const unread = spawnSync('bash', ['-c', 'exec > >(:); wait $!; exec "$0" "$@"', process.execPath, program, '--help'], {
    encoding: 'utf8',
  });
  expect(unread.stderr).toBe('');
});
