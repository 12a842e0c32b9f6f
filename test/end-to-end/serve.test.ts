import { createHmac } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import nock from 'nock';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { episodePageSchema } from '../../src/faces/http/schemas/agent-episode-schemas.ts';
import { summarySchema } from '../../src/orchestrator/results/summary.ts';
import { sampled } from '../support/full-form.ts';
import { sha256 } from '../support/upload-fixture.ts';
import { Agent, TASK, TASKS } from './arena/http-agent.ts';
import { MusterServer, suiteOf } from './muster-server.ts';
import { ANYTHING, CARTPOLE, LATE, seedOf, SOURCES, Stage } from './stage.ts';
import { WebhookReceiver } from './webhook-receiver.ts';

beforeAll(() => nock.enableNetConnect('127.0.0.1'));

const EPISODES = 600;
/** Webhooks may be sent to this machine. */
const LOOPBACK = { networks: ['127.0.0.0/8'], plainHttp: true };
const STOP = { rule: 'fixed', episodes: EPISODES };

function configOf(stage: Stage): Promise<string> {
  return stage.write('server.json', { sources: SOURCES, server: { port: 0, reportSeconds: 0.1 }, pool: { max: 2 } });
}

describe('muster serve', () => {
  it('continues with what it accepted after every kill -9, and answers as if there had been none', async () => {
    await using stage = await Stage.open();
    const suite = await stage.faultSuite({ changes: { stop: STOP, episode: { seconds: 3600 } } });
    const reference = (await stage.call(['eval', suite, '-c', ANYTHING, '--json', '-n', '2'])).summary();
    const config = await stage.gatedServer(suite, { server: { reportSeconds: 0.1 }, pool: { max: 2 } });
    // None of the kills comes after the end. Each costs a start of the server and of its sandboxes, three seconds of a processor.
    const kills = sampled(
      [
        { index: 100, stored: 40 },
        { index: 300, stored: 200 },
      ],
      ({ index }) => index === 300,
    );
    const gateOf = (index: number): string => `playing-${seedOf(index)}`;
    await stage.closeGates(...kills.map(({ index }) => gateOf(index)));
    let server = await MusterServer.start(stage, config);
    const { id } = await server.submit({ suite: 'gated', checkpoint: { uri: ANYTHING } });
    for (const { index, stored } of kills) {
      await server.command.until(`${stored} episodes are stored`, async () => (await server.indices(id)).length >= stored);
      server.command.signal('SIGKILL');
      await server.command.ended;
      await stage.openGates(gateOf(index));
      server = await MusterServer.start(stage, config);
    }
    const evaluation = await server.untilOver(id);
    expect(evaluation).toMatchObject({ state: 'finished', failure: null });
    const summary = summarySchema.parse(evaluation.summary);
    expect(JSON.stringify(Object(evaluation.summary).official)).toBe(JSON.stringify(reference.official));
    expect(summary.run.recalled).toBeGreaterThanOrEqual(200);
    const indices = await server.indices(id);
    expect(indices.slice(0, EPISODES)).toEqual(Array.from({ length: EPISODES }, (_, i) => i));
    expect(new Set(indices).size).toBe(indices.length);
    server.command.signal('SIGTERM');
    expect(await server.command.ended).toMatchObject({ exitCode: 0 });
  });

  // In the short form, backup.test.ts stops a server that plays, and starts it again.
  it.each(sampled(['drained'], () => false))('that is %s gives back what it plays, and the next start continues with it', async () => {
    await using stage = await Stage.open();
    const suite = await stage.faultSuite({ changes: { stop: STOP, episode: { seconds: 3600 } } });
    const config = await stage.gatedServer(suite, { server: { drainSeconds: 0 }, pool: { max: 2 } });
    // It is not through by the time that it is drained.
    const gate = `playing-${seedOf(100)}`;
    await stage.closeGates(gate);
    const first = await MusterServer.start(stage, config);
    const { id } = await first.submit({ suite: 'gated', checkpoint: { uri: ANYTHING } });
    const events = await fetch(`${first.url}/v1/evaluations/${id}/events`);
    await first.command.until('episodes are stored', async () => (await first.indices(id)).length >= 20);
    first.command.signal('SIGTERM');
    // Followers are disconnected, and do not delay the end.
    expect(await events.text()).toContain('"state":"running"');
    expect(await first.command.ended).toMatchObject({ exitCode: 0 });
    await stage.openGates(gate);
    const second = await MusterServer.start(stage, config);
    expect(await second.untilOver(id)).toMatchObject({ state: 'finished', summary: { official: { episodes: EPISODES } } });
    second.command.signal('SIGTERM');
    await second.command.ended;
  });

  it('tells a webhook of the end, signed, and sends it again after a restart when the receiver did not take it', async () => {
    await using stage = await Stage.open();
    const secret = 'shared with the receiver';
    await using receiver = await WebhookReceiver.start();
    const config = await stage.write('hooks.json', {
      sources: SOURCES,
      server: { port: 0, webhookSecret: secret },
      webhooks: LOOPBACK,
      pool: { max: 2 },
    });
    const server = await MusterServer.start(stage, config);
    receiver.status = 500;
    const stop = { rule: 'fixed', episodes: 10 };
    const { id } = await server.submit({ suite: await suiteOf(CARTPOLE), checkpoint: { uri: LATE }, stop, webhook: { url: receiver.url } });
    await server.command.until('the webhook was refused', () => receiver.received.length > 0);
    server.command.signal('SIGTERM');
    await server.command.ended;
    receiver.status = 204;
    const next = await MusterServer.start(stage, config);
    await next.command.until('the webhook arrives', () => receiver.received.length > 1);
    const { headers, body } = receiver.received.at(-1) ?? {};
    const signed = [headers?.['webhook-id'], headers?.['webhook-timestamp'], body].join('.');
    expect(headers?.['webhook-signature']).toBe(`v1,${createHmac('sha256', secret).update(signed).digest('base64')}`);
    expect(JSON.parse(body ?? '')).toMatchObject({
      type: 'evaluation.ended',
      evaluation: id,
      state: 'finished',
      summary: { partial: false },
    });
    next.command.signal('SIGTERM');
    expect(await next.command.ended).toMatchObject({ exitCode: 0 });
  });

  it('reports that another server has its state open', async () => {
    await using stage = await Stage.open();
    const config = await configOf(stage);
    const first = await MusterServer.start(stage, config);
    const second = await stage.run(['serve', '--config', config]);
    expect(second.exitCode).toBe(2);
    expect(second.stderr).toContain('muster.db');
    expect(second.stderr).not.toContain('defect');
    first.command.signal('SIGTERM');
    await first.command.ended;
  });

  it('answers at once what was played before, and compares with a baseline', async () => {
    await using stage = await Stage.open();
    const config = await stage.write('compare.json', {
      sources: SOURCES,
      server: { port: 0, suites: { cartpole: CARTPOLE } },
      pool: { max: 2 },
    });
    const server = await MusterServer.start(stage, config);
    const asked = { suite: 'cartpole', checkpoint: { uri: LATE, run: 'r', version: 3 }, stop: { rule: 'fixed', episodes: 60 } };
    const first = await server.submit(asked, '?wait=30');
    const again = await server.submit(asked, '?wait=30');
    expect([first.state, again.state]).toEqual(['finished', 'finished']);
    // What is left of a larger one is put together of its episodes.
    const fewer = await server.submit({ ...asked, stop: { rule: 'fixed', episodes: 40 } }, '?wait=30');
    // Lists and the page have figures of each.
    expect([first, again, fewer].map(({ running }) => running)).toMatchObject([60, 60, 40].map((episodes) => ({ episodes })));
    for (const { summary } of [again, fewer]) expect(summarySchema.parse(summary).run).toMatchObject({ outcomes: 0 });
    const officialOf = ({ summary }: typeof first): string => JSON.stringify(Object(summary).official);
    expect(officialOf(again)).toBe(officialOf(first));
    expect(await server.indices(again.id)).toEqual(await server.indices(first.id));
    expect(summarySchema.parse(fewer.summary).official.episodes).toBe(40);
    const early = LATE.replace('late', 'early');
    const verdict = await server.submit({ suite: 'cartpole', checkpoint: { uri: early }, baseline: { uri: LATE } }, '?wait=30');
    expect(verdict).toMatchObject({ kind: 'comparison', state: 'finished', summary: { verdict: 'regress' } });
    server.command.signal('SIGTERM');
    expect(await server.command.ended).toMatchObject({ exitCode: 0 });
  });
});

describe('the commands that speak to a server', () => {
  let stage: Stage;
  let server: MusterServer;
  beforeAll(async () => {
    stage = await Stage.open();
    // Callers may name no path of the server's machine: what they evaluate is sent.
    server = await MusterServer.start(stage, await stage.write('plain.json', { server: { port: 0 }, pool: { max: 2 } }));
  });
  afterAll(async () => {
    server.command.signal('SIGTERM');
    const ended = await server.command.ended;
    await stage[Symbol.asyncDispose]();
    expect(ended).toMatchObject({ exitCode: 0 });
  });

  // Before the others: what is asked for again is not played again.
  it('evaluate a batch, which is interrupted, continues, and is listed', async () => {
    const batch = await stage.write('batch.json', {
      suites: [CARTPOLE],
      checkpoints: [{ files: LATE.replace('late', '*a*'), labelled: '{run}.safetensors' }],
      stop: { rule: 'fixed', episodes: 40 },
    });
    const args = ['submit', '--batch', batch, '--server', server.url];
    const drain = (draining: boolean): Promise<Response> =>
      fetch(`${server.url}/v1/pools/local`, {
        method: 'PATCH',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ draining }),
      });
    // However late the interruption comes, none of it has been played by then.
    expect((await drain(true)).status).toBe(200);
    const interrupted = stage.start(args);
    const labelled = async (): Promise<readonly unknown[]> => {
      const answer = await fetch(`${server.url}/v1/evaluations?label=batch=batch`);
      return z.looseObject({ items: z.array(z.unknown()) }).parse(await answer.json()).items;
    };
    await server.command.until('one is submitted', async () => (await labelled()).length > 0);
    interrupted.signal('SIGINT');
    const { exitCode, stderr } = await interrupted.ended;
    expect([exitCode, stderr]).toEqual([130, expect.stringContaining(`the same command goes on: muster submit --batch ${batch}`)]);
    expect((await drain(false)).status).toBe(200);
    const first = await stage.call(args);
    expect(first).toMatchObject({
      exitCode: 0,
      stdout: expect.stringMatching(/early\.safetensors .* finished +40 +\d[^]*late\.safetensors/),
    });
    const again = await stage.call([...args, '--json']);
    const document = z.looseObject({ complete: z.literal(true), evaluations: z.array(z.looseObject({})) }).parse(JSON.parse(again.stdout));
    expect(document.evaluations).toMatchObject([{ evaluation: { run: 'early' } }, { evaluation: { run: 'late' } }]);
    expect(await labelled()).toHaveLength(2);
  });

  it('upload a checkpoint, submit, watch, list and cancel evaluations, and scale pools', async () => {
    const at = ['--server', server.url];
    const submitted = await stage.call(['submit', CARTPOLE, '-c', LATE, '--episodes', '50', '--run', 'r', '--step', '0', ...at]);
    expect(submitted).toMatchObject({ exitCode: 0, stderr: '' });
    const digest = sha256(await readFile(LATE));
    expect((await fetch(`${server.url}/v1/checkpoints/${digest}`, { method: 'HEAD' })).status).toBe(200);
    const id = submitted.stdout.trim();
    const watched = await stage.call(['watch', id, ...at]);
    expect(watched.exitCode).toBe(0);
    expect(watched.stdout).toContain('50, as many as the stopping rule asked for');
    expect((await stage.call(['list', '--run', 'r', ...at])).stdout).toMatch(
      new RegExp(`^id .*\\n${id} +late\\.safetensors \\(r@0\\) +cartpole +finished +[\\d.]+ ± [\\d.]+ +\\d+ s\\n`),
    );
    const against = ['--baseline', LATE.replace('late', 'early'), '--episodes', '50', '--watch'];
    const compared = await stage.call(['submit', CARTPOLE, '-c', LATE, ...against, ...at]);
    expect(compared).toMatchObject({
      exitCode: 0,
      stdout: expect.stringMatching(/against early\.safetensors\n .*promote late\.safetensors /),
    });
    const worse = await stage.call(['submit', CARTPOLE, '-c', LATE.replace('late', 'early'), '--baseline', LATE, '--watch', ...at]);
    expect(worse).toMatchObject({ exitCode: 4, stdout: expect.stringContaining('regress early.safetensors') });
    const cancelled = await stage.call(['cancel', id, ...at]);
    expect(cancelled).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('finished') });
    expect(cancelled.stderr).toContain('had ended before: nothing was cancelled');
    expect((await stage.call(['pool', 'scale', 'local', '--max', '3', ...at])).stdout).toContain('max 3');
    expect((await stage.call(['pool', 'scale', 'local', '--max', '2', ...at])).stdout).toContain('max 2');
    const refused = await stage.call(['submit', 'no-such-suite', '-c', LATE, ...at]);
    expect(refused).toMatchObject({ exitCode: 2, stdout: '' });
    expect(refused.stderr).toContain('the server has no suite "no-such-suite"');
  });

  it('say by the exit code whether a retry can help', async () => {
    await using own = await Stage.open();
    const settings = { server: { port: 0, suites: { cartpole: CARTPOLE } }, quotas: { default: { episodesPerDay: 5 } }, pool: { max: 2 } };
    const limited = await MusterServer.start(own, await own.write('limited.json', settings));
    const at = ['--watch', '--json', '--server', limited.url];
    const misfit = LATE.replace('game/checkpoints', 'inventory/checkpoints');
    const refused = await own.call(['submit', 'cartpole', '-c', misfit, ...at]);
    expect({ exitCode: refused.exitCode, answer: JSON.parse(refused.stdout) }).toMatchObject({
      exitCode: 2,
      answer: {
        state: 'failed',
        failure: { kind: 'input', code: 'checkpoint.refused', message: expect.stringMatching(/^late\.safetensors: /) },
      },
    });
    expect((await own.call(['submit', 'cartpole', '-c', LATE, '--episodes', '10', ...at])).exitCode).toBe(0);
    const beyond = await own.call(['submit', 'cartpole', '-c', LATE, '--episodes', '11', ...at]);
    expect(beyond.exitCode).toBe(3);
    expect(beyond.stderr).toContain('it is reset at midnight UTC');
    limited.command.signal('SIGTERM');
    expect(await limited.command.ended).toMatchObject({ exitCode: 0 });
  });

  it('fail as the operator’s fault if a configured file is missing, which the server also reports itself', async () => {
    await using own = await Stage.open();
    const python = own.path('no-python');
    const mounts = [{ source: own.path('no-tools'), target: '/tools' }];
    const dialBack = { advertise: 'wss://localhost:1', certificate: own.path('no-tls.crt'), key: own.path('no-tls.key') };
    const pods = { provider: 'kubernetes', python: 'auto', mounts: [], kubernetes: { image: 'a:1', transport: 'dial-back', dialBack } };
    const config = await own.write('broken.json', {
      templates: { local: { python, mounts }, pods },
      arena: { tasks: [TASKS, own.path('no-tasks')] },
      sources: { roots: [own.path('no-runs')] },
      models: { endpoints: { qwen: { url: 'http://127.0.0.1:9/v1', keyVariable: 'MISSING_KEY' } } },
      server: { port: 0 },
      quotas: { default: { openEpisodes: 1 } },
    });
    const broken = await MusterServer.start(own, config);
    for (const said of [
      `arena.tasks[1]: ${own.path('no-tasks')} cannot be read: ENOENT: no such file or directory; expected`,
      `sources.roots[0]: ${own.path('no-runs')} cannot be read: ENOENT: no such file or directory; expected`,
      'models.endpoints.qwen.keyVariable: the environment variable MISSING_KEY is not set',
      `templates.local: no Python at ${python}`,
      `templates.pods: template "pods": kubernetes.dialBack.certificate is ${own.path('no-tls.crt')}, which cannot be read: ENOENT`,
    ])
      expect(broken.command.stderr).toContain(`muster: ${said}`);
    const answer = await fetch(`${broken.url}/readyz`);
    expect({ status: answer.status, body: await answer.json() }).toMatchObject({
      status: 503,
      body: {
        ready: false,
        reasons: [
          { code: 'template.unusable', detail: expect.stringContaining(python) },
          { code: 'template.unusable', detail: expect.stringContaining('no-tls.crt') },
        ],
      },
    });
    const failed = await own.call(['submit', CARTPOLE, '-c', LATE, '--watch', '--server', broken.url]);
    expect(failed.exitCode).toBe(3);
    expect(failed.stderr).toContain("Ask the server's operator to correct that");
    const agent = new Agent(broken.url);
    const noMount = expect.stringContaining(`mounts[0].source: ${own.path('no-tools')} does not exist`);
    // The caller has no id to give the episode up by: it does not count as open, which would make the second one too many.
    for (let each = 0; each < 2; each += 1)
      expect(await agent.send('POST', '/v1/episodes', { task: TASK, agent: 'a' })).toMatchObject({
        status: 503,
        json: { code: 'server.template', detail: noMount },
      });
    const { items } = episodePageSchema.parse((await agent.send('GET', '/v1/episodes')).json);
    expect(items).toMatchObject([1, 2].map(() => ({ state: 'closed', outcome: 'void', endedBy: 'lost' })));
    expect((await agent.send('GET', `/v1/episodes/${items[0]?.episode}/reward`)).json).toMatchObject({ reward: null, problem: noMount });
    broken.command.signal('SIGTERM');
    expect(await broken.command.ended).toMatchObject({ exitCode: 0 });
  });

  it('submit to a pool that drains, which plays on all of its sandboxes once it is resumed', async () => {
    const at = ['--server', server.url];
    expect((await stage.call(['pool', 'drain', 'local', ...at])).stdout).toContain('draining');
    const submitting = stage.start(['submit', CARTPOLE, '-c', LATE, '--episodes', '80', '--watch', ...at]);
    await submitting.until('it says what it waits for', () => submitting.stderr.includes(' waits for a sandbox; "muster pool list"'));
    await server.command.until('its sandboxes are waited for', async () =>
      (await stage.call(['pool', 'list', ...at])).stdout.includes('2 requests wait'),
    );
    const id = /ev-[a-z0-9-]+/.exec(submitting.stderr)?.[0] ?? '';
    expect(await server.find(id)).toMatchObject({ state: 'waiting', failure: null });
    const watching = stage.start(['watch', id, ...at]);
    await watching.until('it says so, too', () => watching.stderr.includes(`${id} waits for a sandbox`));
    expect((await stage.call(['pool', 'resume', 'local', ...at])).stdout).toContain('max 2');
    for (const { exitCode, stdout } of [await submitting.ended, await watching.ended]) {
      expect(exitCode).toBe(0);
      expect(stdout).toContain('(at most 2)');
    }
  });
});
