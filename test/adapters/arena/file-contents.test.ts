import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { FileContentsDirectory } from '../../../src/adapters/arena/file-contents-directory.ts';
import { openSqliteStore } from '../../../src/adapters/store/sqlite/open-sqlite-store.ts';
import { parseAgentEpisodeId } from '../../../src/agents/arena/episode-ids.ts';
import { digestBytes } from '../../../src/kernel/canonical-json.ts';
import { systemClock } from '../../../src/kernel/clock.ts';
import { fileContentsContract } from '../../contract/file-contents.ts';
import { ScratchDirectory } from '../../policy-distribution/scratch-directory.ts';

fileContentsContract('a directory', async () => {
  const directory = await ScratchDirectory.make();
  return {
    contents: new FileContentsDirectory(join(directory.path, 'files')),
    [Symbol.asyncDispose]: () => directory[Symbol.asyncDispose](),
  };
});

fileContentsContract('a database', async () => {
  const directory = await ScratchDirectory.make();
  const store = await openSqliteStore(join(directory.path, 'muster.db'), systemClock);
  return {
    contents: store.contents,
    [Symbol.asyncDispose]: async () => {
      await store[Symbol.asyncDispose]();
      await directory[Symbol.asyncDispose]();
    },
  };
});

it('a file that a crash of the machine has changed is counted as missing, and is written again', async () => {
  await using directory = await ScratchDirectory.make();
  const contents = new FileContentsDirectory(directory.path);
  const tree = parseAgentEpisodeId('ep-tree');
  const content = Buffer.from('whole');
  const kept = new Map([[digestBytes(content), content]]);
  await contents.keep(tree, kept);
  const [name] = await readdir(join(directory.path, tree));
  await writeFile(join(directory.path, tree, name ?? ''), 'wh');
  expect(await contents.read(tree, digestBytes(content))).toBeUndefined();
  await contents.keep(tree, kept);
  expect((await contents.read(tree, digestBytes(content)))?.toString()).toBe('whole');
});
