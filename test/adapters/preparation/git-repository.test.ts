import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it } from 'vitest';
import { GitRepository } from '../../../src/adapters/preparation/git-repository.ts';
import { RepositoryFixture } from '../../support/repository-fixture.ts';

it('a repository with more objects than may be cloned is refused while it is cloned, and leaves nothing', async () => {
  await using made = await RepositoryFixture.make();
  await made.commit('Begin', { 'noise.txt': randomBytes(2 ** 20).toString('base64') });
  const scratch = await mkdtemp(path.join(tmpdir(), 'muster-clones-'));
  try {
    const { signal } = new AbortController();
    const cloned = GitRepository.clone(made.repository, scratch, signal, 2 ** 19);
    await expect(cloned).rejects.toMatchObject({ code: 'repository.too-large', message: expect.stringContaining('524288 bytes') });
    expect(await readdir(scratch)).toEqual([]);
    await using whole = await GitRepository.clone(made.repository, scratch, signal);
    expect(await whole.commits(9, signal)).toHaveLength(1);
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
});
