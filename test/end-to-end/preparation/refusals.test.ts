import { execFile } from 'node:child_process';
import { access, mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { PATIENCE_MS, prepareFixture } from '../../support/prepared-repository.ts';
import { RepositoryFixture, SUMS } from '../../support/repository-fixture.ts';

const COMMIT = '1'.repeat(40);

/** A change of source code and tests, which is what a candidate is. */
function change(name: string): Readonly<Record<string, string>> {
  return { [`${name}.py`]: `def ${name}():\n    return 1\n`, [`tests/test_${name}.py`]: `def test_${name}():\n    pass\n` };
}

/** Puts an entry into the index that no work tree has. */
async function stage(made: RepositoryFixture, mode: string, object: string, name: Buffer): Promise<void> {
  const line = Buffer.concat([Buffer.from(`${mode} ${object}\t`), name, Buffer.from('\0')]);
  const running = promisify(execFile)('git', ['update-index', '-z', '--index-info'], { cwd: made.repository });
  running.child.stdin?.end(line);
  await running;
}

it(
  'an unsuitable commit is refused with its reason, before anything of the repository runs',
  async () => {
    await using made = await RepositoryFixture.make();
    const repository = made.repository;
    const commit = (message: string): Promise<string> => made.git('commit', '-q', '-m', message);
    await made.commit('Begin with sums', SUMS.before);

    await symlink('/etc/passwd', path.join(repository, 'passwords'));
    await made.commit('Link to passwords', {});
    await made.commit('Change what stands beside a link', change('beside'));
    await rm(path.join(repository, 'passwords'));
    await made.commit('Take the link away', {});

    await stage(made, '160000', COMMIT, Buffer.from('library'));
    await writeFile(path.join(repository, 'more.py'), 'more = 1\n');
    await mkdir(path.join(repository, 'tests'), { recursive: true });
    await writeFile(path.join(repository, 'tests/test_more.py'), 'def test_more():\n    pass\n');
    await made.git('add', 'more.py', 'tests/test_more.py');
    await commit('Use a submodule');
    await made.git('rm', '-q', '--cached', 'library');
    await commit('Take the submodule away');

    const blob = await made.git('hash-object', '-w', 'more.py');
    await stage(made, '100644', blob, Buffer.from([0x61, 0xff, 0x2e, 0x70, 0x79]));
    await writeFile(path.join(repository, 'tests/test_more.py'), 'def test_more_of_it():\n    pass\n');
    await made.git('add', 'tests/test_more.py');
    await commit('Add a name that is no text');
    await made.git('read-tree', 'HEAD~1');
    await commit('Take the name away');

    await made.commit('Add much', { ...change('much'), 'data.bin': '0'.repeat(33 * 2 ** 20) });
    await rm(path.join(repository, 'data.bin'));
    await made.commit('Take it away', {});
    await made.commit('Test more', { 'tests/test_only.py': 'def test_only():\n    pass\n' });

    await made.commit('Filter what is read', { '.gitattributes': '*.py filter=strike\n' });

    const struck = path.join(made.directory, 'struck');
    await writeFile(path.join(repository, '.git/hooks/post-checkout'), `#!/bin/sh\ntouch ${struck}\n`, { mode: 0o755 });
    await made.git('config', 'filter.strike.smudge', `touch ${struck}; cat`);
    await made.git('config', 'core.fsmonitor', `touch ${struck}`);

    const { candidates } = await prepareFixture(made);
    const reasons = Object.fromEntries(candidates.map(({ title, refusal }) => [title, `${refusal?.step ?? ''}: ${refusal?.reason ?? ''}`]));
    expect(reasons).toMatchObject({
      'Change what stands beside a link': 'filter: passwords is a link out of the tree',
      'Use a submodule': 'filter: it changes library, which is a link or a submodule',
      'Add a name that is no text': expect.stringMatching(/^filter: the name .* is not UTF-8$/),
      'Add much': expect.stringContaining('filter: data.bin has 34603008 bytes'),
      'Test more': 'discover: it changes tests only',
      'Filter what is read': 'discover: it changes no source code',
    });
    expect(candidates.every(({ refusal }) => refusal !== null)).toBe(true);
    const foreign = await prepareFixture(made, { licences: ['ISC'] });
    expect(foreign.candidates.find(({ title }) => title === 'Use a submodule')?.refusal).toEqual({
      step: 'filter',
      reason: 'its licence is MIT; allowed are ISC',
    });
    // What git would have run on a check-out, or to look at a work tree.
    await expect(access(struck)).rejects.toThrow('ENOENT');
  },
  PATIENCE_MS,
);
