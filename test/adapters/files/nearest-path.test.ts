import { expect, it } from 'vitest';
import { mkdir, writeFile } from 'node:fs/promises';
import { suggestNearest } from '../../../src/adapters/files/nearest-path.ts';
import { readKeptTrajectories } from '../../../src/app/rollouts/kept-rollouts.ts';
import { InputError } from '../../../src/kernel/errors.ts';
import { ScratchDirectory } from '../../policy-distribution/scratch-directory.ts';

/** The message of the error for a path, below a directory with suite.yaml and examples/game.yaml. */
async function messageFor(given: string, code = 'suite.missing'): Promise<string> {
  await using scratch = await ScratchDirectory.make();
  await mkdir(`${scratch.path}/examples`);
  for (const file of ['suite.yaml', 'examples/game.yaml']) await writeFile(`${scratch.path}/${file}`, '');
  const missing = suggestNearest(`${scratch.path}/${given}`, () => Promise.reject(new InputError(code, 'it does not exist')));
  return await missing.then(
    () => 'no error',
    (error: unknown) => String(error).replaceAll(scratch.path, '…'),
  );
}

it.each([
  ['with a slip in its name', 'suit.yaml', '…/suite.yaml'],
  ['without its ending', 'suite', '…/suite.yaml'],
  ['in a directory that is written wrongly', 'exmples/game.yaml', '…/examples/game.yaml'],
  ['that is nowhere, in a directory that is written wrongly', 'exmples/no-such-game.yaml', '…/examples'],
])('a path %s is answered with the path that was meant', async (_, given, meant) => {
  expect(await messageFor(given)).toContain(`it does not exist; did you mean ${meant}?`);
});

it('the directory of an evaluation whose trajectories are wanted is answered likewise', async () => {
  await using scratch = await ScratchDirectory.make();
  await mkdir(`${scratch.path}/results`);
  await expect(readKeptTrajectories(`${scratch.path}/resluts`).next()).rejects.toMatchObject({
    code: 'rollouts.missing',
    message: expect.stringContaining(`did you mean ${scratch.path}/results?`),
  });
});

it.each([
  ['a path that is like no other', 'quite-different.yaml', 'suite.missing'],
  ['a path at which there is something', 'suite.yaml', 'suite.missing'],
  ['another error', 'suit.yaml', 'suite.key'],
])('nothing is suggested for %s', async (_, given, code) => {
  expect(await messageFor(given, code)).toMatch(/it does not exist$/);
});
