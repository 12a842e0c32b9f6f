import { randomBytes } from 'node:crypto';
import { access, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it } from 'vitest';
import { runGit } from '../../../src/adapters/preparation/git-process.ts';
import { GitRepository } from '../../../src/adapters/preparation/git-repository.ts';
import { RepositoryFixture } from '../../support/repository-fixture.ts';

it('a repository with more objects than may be cloned is refused while it is cloned, and one that is not there or has no commit', async () => {
  await using made = await RepositoryFixture.make();
  await made.commit('Begin', { 'noise.txt': randomBytes(2 ** 20).toString('base64') });
  const scratch = await mkdtemp(path.join(tmpdir(), 'muster-clones-'));
  try {
    const { signal } = new AbortController();
    const cloned = GitRepository.clone(made.repository, scratch, signal, 2 ** 19);
    await expect(cloned).rejects.toMatchObject({ code: 'repository.too-large', message: expect.stringContaining('524288 bytes') });
    expect(await readdir(scratch)).toEqual([]);
    const missing = GitRepository.clone(path.join(made.directory, 'nowhere'), scratch, signal);
    await expect(missing).rejects.toThrow(/nowhere cannot be cloned: git clone: fatal: .*; expected a path, a bundle, or a URL/);
    await using whole = await GitRepository.clone(made.repository, scratch, signal);
    expect(await whole.listCommits(9, signal)).toHaveLength(1);
    await using empty = await RepositoryFixture.make();
    await using without = await GitRepository.clone(empty.repository, scratch, signal);
    await expect(without.readHead(signal)).rejects.toThrow('expected a repository with commits on the branch that is checked out');
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
});

it('a reflog that holds a commit is found without a program that the settings of the repository name', async () => {
  await using made = await RepositoryFixture.make();
  await made.commit('Begin', { 'sums.py': 'a = 1\n' });
  const struck = path.join(made.directory, 'struck');
  await made.git('config', 'log.showSignature', 'true');
  const program = path.join(made.directory, 'sign');
  const signature = "printf '\\n[GNUPG:] SIG_CREATED \\n' >&2\necho '-----BEGIN PGP SIGNATURE-----'\n";
  await writeFile(program, `#!/bin/sh\ncat > ${struck}\n${signature}`, { mode: 0o755 });
  await made.git('config', 'gpg.program', program);
  await made.git('commit', '-q', '-S', '--allow-empty', '-m', 'Sign');
  // As any look at the history would run it.
  await rm(struck);
  await made.git('log', '-1');
  await rm(struck);
  await using cloned = await GitRepository.clone(made.repository, path.join(made.directory, 'clones'), AbortSignal.timeout(60_000));
  const signed = await made.git('rev-parse', 'HEAD');
  expect(await cloned.listWaysTo(signed, new AbortController().signal)).toEqual(['reference refs/heads/main', 'reflog']);
  await expect(access(struck)).rejects.toThrow('ENOENT');
  await made.git('reflog', 'expire', '--expire=all', '--all');
  expect(await cloned.listWaysTo(signed, new AbortController().signal)).toEqual(['reference refs/heads/main']);
});

it('git ends when it has used its processor time', async () => {
  const spin = ['-c', 'alias.spin=!while :; do :; done', 'spin'];
  const ended = runGit(spin, { seconds: 1, bytes: 9 }, new AbortController().signal);
  await expect(ended).rejects.toMatchObject({
    code: 'repository.slow',
    message: expect.stringContaining('more than 1 s of processor time'),
  });
});
