import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import nock from 'nock';
import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { evaluationSchema } from '../../src/faces/http/schemas/evaluation-schemas.ts';
import { sampled } from '../support/full-form.ts';
import { sha256 } from '../support/upload-fixture.ts';
import { MusterServer } from './muster-server.ts';
import { CARTPOLE, LATE, SOURCES, Stage } from './stage.ts';

beforeAll(() => nock.enableNetConnect('127.0.0.1'));

const STOP = { rule: 'fixed', episodes: 20 };

function configOf(stage: Stage, server: object = {}): Promise<string> {
  return stage.write('access.json', { server: { port: 0, access: 'tokens', suites: { cartpole: CARTPOLE }, ...server }, pool: { max: 2 } });
}

describe('muster serve with tokens', () => {
  it('evaluates an uploaded checkpoint for a holder of a token only', async () => {
    await using stage = await Stage.open();
    const token = await stage.token('pipeline', 'submitter');
    const server = await MusterServer.start(stage, await configOf(stage));
    const weights = await readFile(LATE);
    const digest = sha256(weights);
    const authorization = `Bearer ${token}`;
    const half = Math.floor(weights.length / 2);
    const send = (from: number, to: number): Promise<Response> =>
      fetch(`${server.url}/v1/checkpoints/${digest}?name=late.safetensors`, {
        method: 'PUT',
        headers: { authorization, 'content-range': `bytes ${from}-${to - 1}/${weights.length}` },
        body: weights.subarray(from, to),
      });
    expect((await send(0, half)).status).toBe(202);
    expect((await send(half, weights.length)).status).toBe(201);
    const submit = (headers: Record<string, string>, checkpoint: object): Promise<Response> =>
      fetch(`${server.url}/v1/evaluations?wait=30`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify({ suite: 'cartpole', checkpoint, stop: STOP }),
      });
    expect((await submit({}, { sha256: digest })).status).toBe(401);
    const answer = evaluationSchema.parse(await (await submit({ authorization }, { sha256: digest })).json());
    expect(answer).toMatchObject({ state: 'finished', principal: 'pipeline', checkpoints: [{ uri: digest, digest: `sha256:${digest}` }] });
    // Nothing was said of this directory in sources.roots.
    const outside = await submit({ authorization }, { uri: LATE });
    expect([outside.status, await outside.json()]).toEqual([422, expect.objectContaining({ code: 'checkpoint.outside' })]);
    server.command.signal('SIGTERM');
    expect(await server.command.ended).toMatchObject({ exitCode: 0 });
    expect(server.command.stderr).not.toContain(token);
  });

  // In the short form, policy-distribution/uploads.test.ts kills the process that takes an upload.
  it.each(sampled(['killed'], () => false))('continues with an upload that was under way when it was %s', async () => {
    await using stage = await Stage.open();
    const config = await configOf(stage, { access: 'off' });
    const weights = Buffer.alloc(3 * 2 ** 20, 'weights');
    const path = `/v1/checkpoints/${sha256(weights)}`;
    const first = await MusterServer.start(stage, config);
    const range = `bytes 0-${2 ** 20 - 1}/${weights.length}`;
    const part = { method: 'PUT', headers: { 'content-range': range }, body: weights.subarray(0, 2 ** 20) };
    expect((await fetch(`${first.url}${path}?name=x.bin`, part)).status).toBe(202);
    first.command.signal('SIGKILL');
    await first.command.ended;
    const second = await MusterServer.start(stage, config);
    const offset = (await fetch(`${second.url}${path}`, { method: 'HEAD' })).headers.get('upload-offset');
    expect(offset).toBe(String(2 ** 20));
    const rest = { 'content-range': `bytes ${2 ** 20}-${weights.length - 1}/${weights.length}` };
    const done = await fetch(`${second.url}${path}?name=x.bin`, { method: 'PUT', headers: rest, body: weights.subarray(2 ** 20) });
    expect(done.status).toBe(201);
    second.command.signal('SIGTERM');
    expect(await second.command.ended).toMatchObject({ exitCode: 0 });
  });

  it('holds the checkpoint that it plays, and releases it at the end', async () => {
    await using stage = await Stage.open();
    const config = await stage.write('held.json', {
      sources: SOURCES,
      server: { port: 0, suites: { cartpole: CARTPOLE } },
      pool: { max: 1 },
    });
    const server = await MusterServer.start(stage, config);
    const digest = sha256(await readFile(LATE));
    const held = async (): Promise<boolean> => (await readdir(join(stage.stateDir, 'store/holds'))).some((name) => name.endsWith(digest));
    const { id } = await server.submit({ suite: 'cartpole', checkpoint: { uri: LATE }, stop: { rule: 'fixed', episodes: 5000 } });
    await server.command.until('episodes are stored', async () => (await server.indices(id)).length >= 10);
    expect(await held()).toBe(true);
    await fetch(`${server.url}/v1/evaluations/${id}`, { method: 'DELETE' });
    await server.untilOver(id);
    await server.command.until('it is let go', async () => !(await held()));
    server.command.signal('SIGTERM');
    expect(await server.command.ended).toMatchObject({ exitCode: 0 });
  });

  it('refuses requests from other machines without them', async () => {
    await using stage = await Stage.open();
    const refused = await stage.run(['serve', '--config', await configOf(stage, { host: '0.0.0.0', access: 'off' })]);
    expect(refused).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('server.access: "off" admits every program') });
  });

  it('lets an operator make, list and revoke tokens while it runs', async () => {
    await using stage = await Stage.open();
    const operator = await stage.token('admin', 'operator');
    const server = await MusterServer.start(stage, await configOf(stage));
    const muster = (args: readonly string[], token: string): ReturnType<Stage['call']> =>
      stage.call([...args, '--server', server.url], { environment: { MUSTER_TOKEN: token } });
    const made = await muster(['token', 'create', 'researcher', '--role', 'viewer', '--expires', '1d', '--json'], operator);
    expect(made).toMatchObject({ exitCode: 0 });
    const { id, token } = z.looseObject({ id: z.string(), token: z.string() }).parse(JSON.parse(made.stdout));
    expect((await muster(['list'], token)).exitCode).toBe(0);
    expect((await muster(['token', 'list'], operator)).stdout).toMatch(new RegExp(`${id} +researcher +viewer`));
    expect((await muster(['token', 'list'], token)).stderr).toContain('needs the role operator');
    expect((await muster(['token', 'revoke', id], operator)).exitCode).toBe(0);
    expect((await muster(['list'], token)).stderr).toContain('the token was revoked');
    const inEnvironment = (args: readonly string[], environment: Record<string, string>): ReturnType<Stage['call']> =>
      stage.call(['token', 'list', ...args], { environment: { MUSTER_URL: server.url, ...environment } });
    expect((await inEnvironment([], { MUSTER_TOKEN: operator })).stdout).toMatch(new RegExp(`${id} +researcher +viewer +.*revoked`));
    expect((await inEnvironment([], {})).stderr).toContain('muster token create NAME --role operator --config FILE');
    // A flag counts more than the environment.
    const ofStore = await inEnvironment(['--config', await configOf(stage)], { MUSTER_TOKEN: operator });
    expect(ofStore.stderr).toContain('is in use by another Muster');
    server.command.signal('SIGTERM');
    expect(await server.command.ended).toMatchObject({ exitCode: 0 });
  });
});
