import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import nock from 'nock';
import { beforeAll, expect, it } from 'vitest';
import { GitRepository } from '../../../src/adapters/preparation/git-repository.ts';
import { StepStore } from '../../../src/adapters/preparation/step-store.ts';
import { ModelServers } from '../../../src/app/grading/model-servers.ts';
import { instruct, InstructionWriter, readWriter } from '../../../src/app/preparation/instruction-writer.ts';
import { systemClock } from '../../../src/kernel/clock.ts';
import { ScriptedModelServer } from '../../support/model-server.ts';
import { RepositoryFixture, SUMS } from '../../support/repository-fixture.ts';

beforeAll(() => nock.enableNetConnect('127.0.0.1'));

it('a model writes the instruction of a fix without a useful message once, and its text names no test', async () => {
  await using made = await RepositoryFixture.make();
  await made.commit('Begin with sums', SUMS.before);
  await made.commit('fix', SUMS.fix);
  const { signal } = new AbortController();
  await using history = await GitRepository.clone(made.repository, path.join(made.directory, 'clones'), signal);
  const [commit] = await history.listCommits(1, signal);
  if (commit === undefined) throw new Error('the repository has no commit');
  const text = 'The mean of no numbers is an error; it has to be 0.0.\nSee test_mean_of_none.';
  await using server = await ScriptedModelServer.start(() => ({ text }));
  const file = path.join(made.directory, 'writer.yaml');
  await writeFile(file, `agent: model\nendpoint: ${server.url}\nmodel: scripted\n`);
  using models = new ModelServers(made.config.models, true, systemClock, Math.random);
  const steps = new StepStore(path.join(made.directory, 'steps'));
  const ask = async (message: string): ReturnType<typeof instruct> => {
    const model = await readWriter(file);
    const writer = new InstructionWriter(model, models.getEndpoint(model), steps);
    const candidate = { kind: 'fix', id: 'a', commit: { ...commit, message }, changes: [] } as const;
    return await instruct({ writer, history }, candidate, ['test_mean_of_none'], [], signal);
  };
  const written = {
    text: 'The mean of no numbers is an error; it has to be 0.0.\n\nHidden tests judge the change.\n',
    source: 'model',
    leftOut: ['See test_mean_of_none.'],
  };
  expect(await ask('fix')).toEqual(written);
  expect(await ask('fix')).toEqual(written);
  expect((await ask('Give a mean of no numbers')).source).toBe('commit');
  expect(server.asked).toHaveLength(1);
  const [{ content = '' } = {}] = server.asked[0]?.messages.slice(1) ?? [];
  expect(content).toMatch(/^The message of the change:\n\nfix\n/);
  expect(content).toContain('+    if not list(numbers):\n+        return 0.0\n');
});

it('only a file that names a model writes instructions', async () => {
  await using made = await RepositoryFixture.make();
  const file = path.join(made.directory, 'writer.yaml');
  await expect(readWriter(file)).rejects.toThrow(`--writer: ${file} cannot be read: ENOENT: no such file or directory; expected`);
  await expect(readWriter(made.directory)).rejects.toThrow('expected one that says "agent: model"');
  await writeFile(file, 'agent: nop\n');
  await expect(readWriter(file)).rejects.toThrow('has "agent: nop"; only a model writes, expected "agent: model"');
});
