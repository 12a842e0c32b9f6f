import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import nock from 'nock';
import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { rewardSchema } from '../../src/agents/arena/episode-answers.ts';
import { startedGymEpisodeSchema } from '../../src/faces/http/schemas/agent-episode-schemas.ts';
import { connect } from '../../src/app/client/server-client.ts';
import { isFullForm } from '../support/full-form.ts';
import { Agent, episodeSchema, TASK, TASKS, type Answered } from './arena/http-agent.ts';
import { MusterServer } from './muster-server.ts';
import { REPOSITORY, Stage } from './stage.ts';

beforeAll(() => nock.enableNetConnect('127.0.0.1'));

function configOf(stage: Stage, changes: object = {}): Promise<string> {
  return stage.write('arena.json', { server: { port: 0, access: 'off' }, arena: { tasks: [TASKS] }, ...changes });
}

const solution = (): Promise<string> => readFile(join(TASKS, TASK, 'solution/sorting.py'), 'utf8');

describe('the arena', () => {
  it('plays the three calls of a Gym-style API, gives the same reward bytes each time, and runs the example', async () => {
    await using stage = await Stage.open();
    const { url } = await MusterServer.start(stage, await configOf(stage));
    const agent = new Agent(url);
    const begun = await agent.send('POST', '/episodes', { task_id: TASK, agent_id: 'claude-sonnet-4' });
    const { episode_id: id, observation, actions } = startedGymEpisodeSchema.parse(begun.json);
    expect(observation.text).toContain('sort_records');
    expect(actions.map(({ name }) => name)).toContain('edit_file');
    const written = { action: 'edit_file', file: 'src/sort.py', code: 'def sort(arr): ...' };
    expect((await agent.send('POST', `/episodes/${id}/steps`, written)).json).toMatchObject({ step: 1, done: false });
    const edit = { action: 'edit_file', file: 'sorting.py', code: await solution() };
    expect((await agent.send('POST', `/episodes/${id}/steps`, edit)).json).toMatchObject({ step: 2, done: false });
    expect(await agent.send('GET', `/v1/episodes/${id}/reward`)).toMatchObject({ status: 409, json: { code: 'episode.open' } });
    const reward = await agent.send('GET', `/episodes/${id}/reward`);
    expect(rewardSchema.parse(reward.json)).toMatchObject({ outcome: 'rewarded', reward: 1, tests_passed: 12, total_tests: 12 });
    expect((await agent.send('GET', `/v1/episodes/${id}/reward`)).text).toBe(reward.text);
    expect(await agent.send('POST', `/episodes/${id}/steps`, { action: 'submit' })).toMatchObject({
      status: 409,
      json: { code: 'episode.over' },
    });
    const events = await agent.send('GET', `/v1/episodes/${id}/events`);
    expect(events.text.match(/^event: \w+$/gm)).toEqual(['event: step', 'event: step', 'event: closed']);
    expect((await agent.send('GET', `/v1/episodes/${id}/steps`)).json).toMatchObject({ items: [{ action: written }, { action: edit }] });
    expect((await agent.send('GET', '/v1/episodes?state=closed')).json).toMatchObject({ items: [{ episode: id, reward: 1 }], next: null });
    const { stdout } = await promisify(execFile)('python3', [join(REPOSITORY, 'examples/arena/agent.py'), url]);
    expect(stdout).toContain('12 of 12 cases pass');
  });

  it('takes each step once, and an invalid action costs one', async () => {
    await using stage = await Stage.open();
    const agent = new Agent((await MusterServer.start(stage, await configOf(stage, { arena: { tasks: [TASKS], steps: 4 } }))).url);
    const id = await agent.start();
    const steps = `/v1/episodes/${id}/steps`;
    const append = { step: 1, action: 'run', command: 'echo once >>count; wc -l <count' };
    // Two at once: one is carried out, and both hear of it.
    const [first, second] = await Promise.all([agent.send('POST', steps, append), agent.send('POST', steps, append)]);
    expect(first.text).toBe(second.text);
    expect(first.json).toMatchObject({ step: 1, observation: { data: { stdout: { text: '1\n' } } } });
    expect(await agent.send('POST', steps, { ...append, command: 'true' })).toMatchObject({ status: 409, json: { code: 'step.conflict' } });
    expect(await agent.send('POST', steps, { ...append, step: 3 })).toMatchObject({
      status: 409,
      json: { code: 'step.gap', errors: [{ field: 'body.step', expected: '2' }] },
    });
    for (const body of [[], 'x', { step: 0, action: 'submit' }, { step: 'x' }])
      expect(await agent.send('POST', steps, body)).toMatchObject({ status: 400 });
    expect((await agent.send('POST', steps, { step: 2 })).json).toMatchObject({ detail: 'body.action: is missing; expected a value' });
    const refused = await agent.step(id, { action: 'dance' });
    expect(refused).toMatchObject({
      step: 2,
      observation: { data: { kind: 'refused', reason: 'unknown-action' } },
      remaining: { steps: 2 },
    });
    const outside = await agent.step(id, { action: 'read_file', file: '/etc/passwd' });
    expect(outside).toMatchObject({ step: 3, observation: { data: { reason: 'outside' } } });
    const last = await agent.step(id, { action: 'run', command: 'wc -l <count' });
    expect(last).toMatchObject({
      done: true,
      truncated: true,
      observation: { data: { stdout: { text: '1\n' } } },
      remaining: { steps: 0 },
    });
    // What lies there is graded; one kind of an action that was none costs less than any test is worth.
    expect((await agent.send('GET', `/v1/episodes/${id}/reward?wait=60`)).json).toMatchObject({
      endedBy: 'steps',
      reward: 0,
      components: { errors: 1 / 3 },
    });
    const given = await agent.start();
    expect((await agent.send('DELETE', `/v1/episodes/${given}`)).json).toMatchObject({
      state: 'closed',
      outcome: 'void',
      endedBy: 'abandoned',
    });
    expect((await agent.send('GET', `/v1/episodes/${given}/reward`)).json).toMatchObject({ reward: null });
    for (const task of [TASK.replace('fix', 'fxi'), TASK.replace('-function', '')])
      expect(await agent.send('POST', '/v1/episodes', { task, agent: 'x' })).toMatchObject({
        status: 404,
        json: { code: 'task.not-found', detail: expect.stringMatching(new RegExp(`which hold .*did you mean "${TASK}"\\?$`)) },
      });
  });

  // In the short form, arena/takeover.test.ts kills servers.
  it.runIf(isFullForm)('continues with the files of the step that was answered last when the server is killed', async () => {
    await using stage = await Stage.open();
    const config = await configOf(stage);
    const killed = await MusterServer.start(stage, config);
    const before = new Agent(killed.url);
    const [id, submitted] = [await before.start(), await before.start()];
    await before.step(id, {
      action: 'run',
      command: 'mkdir -p deep/er empty; echo kept >deep/er/file; ln -s deep/er/file link; rm sorting.py; chmod +x deep/er/file',
    });
    const answered = await before.step(id, { step: 2, action: 'write_file', file: 'sorting.py', content: await solution() });
    await before.step(submitted, { action: 'write_file', file: 'sorting.py', content: await solution() });
    await before.step(submitted, { action: 'submit' });
    await before.step(id, { step: 3, action: 'start', name: 'server', command: 'echo made >by-server; echo up; exec sleep 1000' });
    const polled = await before.step(id, { step: 4, action: 'poll', name: 'server', wait: 30 });
    expect(polled.observation.text).toBe('server runs\nstdout:\nup');
    killed.command.signalGroup('SIGKILL');
    await killed.command.ended;
    const agent = new Agent((await MusterServer.start(stage, config)).url);
    expect(await agent.step(id, { step: 2, action: 'write_file', file: 'sorting.py', content: await solution() })).toEqual(answered);
    const seen = await agent.step(id, { step: 5, action: 'run', command: 'cat link; ls; test -x deep/er/file && echo executable' });
    expect(seen).toMatchObject({
      notice: expect.stringContaining('made again'),
      observation: {
        data: { stdout: { text: expect.stringMatching(/^kept\nby-server\ndeep\nempty\nlink\nsorting.py\n(__pycache__\n)?executable\n$/) } },
      },
    });
    const gone = await agent.step(id, { step: 6, action: 'poll', name: 'server', wait: 30 });
    expect(gone.observation.data).toMatchObject({ kind: 'refused', reason: 'missing' });
    expect(await agent.step(id, { action: 'submit' })).toMatchObject({ step: 7, done: true, notice: null });
    for (const each of [id, submitted])
      expect((await agent.send('GET', `/v1/episodes/${each}/reward?wait=100`)).json).toMatchObject({ reward: 1, endedBy: 'submit' });
  });

  it('forks an episode behind any step, and reports its files and what has changed', async () => {
    await using stage = await Stage.open();
    const config = await configOf(stage);
    const server = await MusterServer.start(stage, config);
    const agent = new Agent(server.url);
    const id = await agent.start();
    await agent.step(id, { action: 'run', command: 'mkdir d && echo one >d/f && head -c 100000 /dev/zero >big && rm sorting.py' });
    await agent.step(id, { action: 'write_file', file: 'd/f', content: 'two\n' });
    const fork = async (body: object): Promise<string> => {
      const { status, json } = await agent.send('POST', `/v1/episodes/${id}/fork`, body);
      expect([status, json]).toEqual([201, expect.anything()]);
      const [made] = z.object({ items: z.array(episodeSchema) }).parse(json).items;
      if (made === undefined) throw new Error('no episode was made');
      return made.episode;
    };
    const first = await fork({ at: 1, agent: 'branch' });
    expect((await agent.send('GET', `/v1/episodes/${first}`)).json).toMatchObject({ steps: 1, origin: { episode: id, step: 1 } });
    const seen = await agent.step(first, { step: 2, action: 'run', command: 'cat d/f; wc -c <big; ls; echo three >d/f' });
    expect(seen).toMatchObject({
      notice: null,
      observation: { data: { stdout: { text: expect.stringMatching(/^one\n100000\nbig\nd\n/) } } },
    });
    const deeper = await (async () => {
      const { json } = await agent.send('POST', `/v1/episodes/${first}/fork`, {});
      return z.object({ items: z.tuple([episodeSchema]) }).parse(json).items[0].episode;
    })();
    expect((await agent.step(deeper, { action: 'run', command: 'cat d/f' })).observation.text).toContain('three');
    expect((await agent.step(id, { action: 'run', command: 'cat d/f' })).observation.text).toContain('two');
    const steps = await agent.send('GET', `/v1/episodes/${deeper}/steps`);
    expect(steps.json).toMatchObject({ items: [{ answer: { step: 1 } }, { answer: { step: 2 } }, { answer: { step: 3 } }] });
    const content = (at: number, path = '/app/d/f'): Promise<Answered> =>
      agent.send('GET', `/v1/episodes/${deeper}/files/content?at=${at}&path=${path}`);
    expect([(await content(1)).text, (await content(2)).text, (await content(0)).status]).toEqual(['one\n', 'three\n', 404]);
    expect((await content(0, '/app/sorting.py')).text).toContain('def ');
    const { json: diff } = await agent.send('GET', `/v1/episodes/${deeper}/diff?from=1`);
    expect(diff).toMatchObject({
      files: [{ path: '/app/d/f', change: 'changed', isShown: true }],
      patch: expect.stringContaining('-one\n+three'),
    });
    const { json: files } = await agent.send('GET', `/v1/episodes/${id}/files?at=2`);
    expect(
      z
        .object({ items: z.array(z.object({ path: z.string() })) })
        .parse(files)
        .items.map(({ path }) => path),
    ).toEqual(['/app/big', '/app/d', '/app/d/f']);
    expect(await agent.send('POST', `/v1/episodes/${id}/fork`, { at: 9 })).toMatchObject({ status: 422, json: { code: 'step.unknown' } });
    for (const path of ['files?at=9', 'files/content?at=9&path=/app/d/f', 'diff?from=9'])
      expect(await agent.send('GET', `/v1/episodes/${id}/${path}`)).toMatchObject({ status: 422, json: { code: 'step.unknown' } });
    // A name that cannot be stored: the files of these steps are unknown, until one catches up with them.
    const odd = await agent.start();
    const unstored = 'The files of this step are not stored: /app/\\xff has a name that is not UTF-8';
    const act = (body: object) => agent.step(odd, body);
    expect((await act({ action: 'run', command: "touch $'\\xff'; echo 1 >one" })).notice).toContain(unstored);
    expect((await act({ action: 'write_file', file: 'two', content: '2' })).notice).toContain(unstored);
    expect((await act({ action: 'dance' })).notice).toBe(null);
    for (const at of [1, 2, 3])
      expect(await agent.send('POST', `/v1/episodes/${odd}/fork`, { at })).toMatchObject({
        status: 409,
        json: { code: 'episode.files', detail: expect.stringContaining(`the files after step ${at} were not stored`) },
      });
    expect((await act({ action: 'run', command: "rm $'\\xff'" })).notice).toBe(null);
    const { json: forked } = await agent.send('POST', `/v1/episodes/${odd}/fork`, {});
    const { episode } = z.object({ items: z.tuple([episodeSchema]) }).parse(forked).items[0];
    expect((await agent.step(episode, { action: 'run', command: 'cat one two; ls' })).observation.text).toContain(
      '1\n2one\nsorting.py\ntwo',
    );
    expect((await agent.send('GET', `/v1/episodes/${odd}/diff?from=3`)).status).toBe(409);
    expect((await agent.send('GET', `/v1/episodes/${odd}/diff`)).json).toMatchObject({
      files: [{ path: '/app/one' }, { path: '/app/two' }],
    });
    // A fork is graded as any episode; behind a submission there is nothing to go on with.
    const solved = await agent.step(first, { action: 'write_file', file: 'sorting.py', content: await solution() });
    await agent.step(first, { action: 'submit' });
    expect((await agent.send('GET', `/v1/episodes/${first}/reward?wait=100`)).json).toMatchObject({ reward: 1 });
    expect(await agent.send('POST', `/v1/episodes/${first}/fork`, { at: 4 })).toMatchObject({
      status: 409,
      json: { code: 'episode.over' },
    });
    const again = await agent.send('POST', `/v1/episodes/${first}/fork`, { n: 2 });
    expect(again.json).toMatchObject({ items: [{ steps: solved.step }, { steps: solved.step }] });
  });

  it('restricts an episode to its principal, bounds its open episodes, and audits who began it', async () => {
    await using stage = await Stage.open();
    const token = async (principal: string, role: string): Promise<string> =>
      (await stage.call(['token', 'create', principal, '--role', role])).stdout.trim();
    const [owner, stranger, operator] = [
      await token('owner', 'submitter'),
      await token('stranger', 'submitter'),
      await token('boss', 'operator'),
    ];
    const config = await configOf(stage, { server: { port: 0, access: 'tokens' }, quotas: { default: { openEpisodes: 1 } } });
    const { url } = await MusterServer.start(stage, config);
    const agent = new Agent(url, owner);
    const id = await agent.start();
    expect(await agent.send('POST', '/v1/episodes', { task: TASK, agent: 'x' })).toMatchObject({
      status: 429,
      json: { code: 'quota.open-episodes' },
    });
    const others = new Agent(url, stranger);
    for (const [method, path, body] of [
      ['GET', '', undefined],
      ['GET', '/steps', undefined],
      ['GET', '/reward', undefined],
      ['GET', '/events', undefined],
      ['POST', '/steps', { action: 'submit' }],
      ['DELETE', '', undefined],
      ['POST', '/fork', {}],
      ['GET', '/files', undefined],
      ['GET', '/files/content?path=/app/sorting.py', undefined],
      ['GET', '/diff', undefined],
    ] as const)
      expect([method, path, (await others.send(method, `/v1/episodes/${id}${path}`, body)).status]).toEqual([method, path, 404]);
    expect((await others.send('GET', '/v1/episodes')).json).toEqual({ items: [], next: null });
    expect((await new Agent(url).send('GET', `/v1/episodes/${id}`)).status).toBe(401);
    const boss = new Agent(url, operator);
    expect((await boss.send('GET', '/v1/episodes')).json).toMatchObject({ items: [{ episode: id, principal: 'owner' }] });
    expect((await boss.send('DELETE', `/v1/episodes/${id}`)).status).toBe(200);
    const { text } = await boss.send('GET', '/v1/audit');
    expect([...text.matchAll(/"principal":"(\w+)","action":"(episode\.\w+)"/g)].map(([, who, what]) => `${who} ${what}`)).toEqual([
      'boss episode.cancel',
      'owner episode.start',
    ]);
  });

  it('is played by hand and by the TypeScript client', async () => {
    await using stage = await Stage.open();
    const { url } = await MusterServer.start(stage, await configOf(stage));
    const run = async (...args: readonly string[]): Promise<string> => (await stage.call(['episode', ...args, '--server', url])).stdout;
    const id = (await run('start', TASK, '--agent', 'hands')).trim();
    expect(await run('step', id, 'echo hello')).toBe('exit code 0\nstdout:\nhello\n[step 1; 249 steps are left]\n');
    const { arena } = connect(url);
    const solved = await arena.step(id, 2, { action: 'write_file', file: 'sorting.py', content: await solution() });
    expect(await arena.step(id, 2, { action: 'write_file', file: 'sorting.py', content: await solution() })).toEqual(solved);
    await run('step', id, '{"action": "submit"}');
    expect(await run('reward', id)).toBe('reward 1; 12 of 12 tests pass\n');
    expect(await arena.reward(id)).toMatchObject({ reward: 1 });
    expect(await run('show', id)).toContain('> {"action":"submit"}');
    expect(await run('list', '--agent', 'hands', '--least-reward', '1')).toContain('rewarded 1');
    expect(await run('list', '--agent', 'hands', '--least-reward', '1.1')).toBe('');
    expect(await run('cancel', id)).toContain('rewarded 1');
  });
});
