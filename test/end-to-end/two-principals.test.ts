import { cp, readFile } from 'node:fs/promises';
import path from 'node:path';
import nock from 'nock';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sha256 } from '../support/upload-fixture.ts';
import { ANYTHING, LATE } from './stage.ts';
import { SharedServer } from './shared-server.ts';

/** Stands in the owner's checkpoint, and only the owner may read it. */
const SECRET = 'weights-that-nobody-else-may-read';
const STOP = { rule: 'fixed', episodes: 4 } as const;
const NOWHERE = '0'.repeat(64);

/** A policy in Python that tells what its checkpoint holds: as it is loaded, and while it plays. */
const TELLTALE = `
from pathlib import Path

class Policy:
    def __init__(self, weights):
        self.weights = weights
        self.steps = 0

    def act(self, observation):
        self.steps += 1
        print(self.weights, flush=True)
        if self.steps > 3:
            raise ValueError(self.weights)
        return 0

def make(*, observation_space, action_space, checkpoint_dir: Path, deterministic: bool):
    weights = (checkpoint_dir / "weights.txt").read_text()
    if weights.startswith("refuse "):
        raise ValueError(weights)
    return Policy(weights)
`;

/** A directory with a policy in Python. */
async function telltale({ stage }: SharedServer, name: string, weights: string): Promise<string> {
  const directory = stage.path(name);
  await cp(ANYTHING, directory, { recursive: true });
  await stage.write(path.join(name, 'anything.py'), TELLTALE);
  await stage.write(path.join(name, 'weights.txt'), weights);
  return directory;
}

let shared: SharedServer;
beforeAll(async () => {
  nock.enableNetConnect('127.0.0.1');
  shared = await SharedServer.open();
});
afterAll(() => shared[Symbol.asyncDispose]());

describe('a principal who knows the digest of another’s checkpoint', () => {
  it('gets the answer for a missing checkpoint, until the owner or an operator grants it', async () => {
    const digest = (await shared.client('owner').upload(LATE)).replace('sha256:', '');
    expect(digest).toBe(sha256(await readFile(LATE)));
    const own = await shared.client('owner').submit({ sha256: digest }, 'cartpole', { stop: STOP });
    expect((await shared.ended('owner', own.id)).state).toBe('finished');
    const asked = async (principal: string, hex: string): Promise<readonly string[]> => {
      const suite = { suite: 'cartpole', stop: STOP };
      const answers = [
        await shared.request(principal, `/v1/checkpoints/${hex}`, 'HEAD'),
        await shared.request(principal, '/v1/evaluations', 'POST', { ...suite, checkpoint: { sha256: hex } }),
        await shared.request(principal, '/v1/comparisons', 'POST', {
          suite: 'cartpole',
          baseline: { sha256: hex },
          candidates: [{ sha256: hex }],
        }),
        await shared.request(principal, `/v1/checkpoints/${hex}/grants`, 'POST', { principal: 'intruder' }),
      ];
      return answers.map((answer) => answer.replaceAll(hex, 'DIGEST'));
    };
    for (const principal of ['intruder', 'admin']) {
      const answers = await asked(principal, NOWHERE);
      expect(answers.map((answer) => answer.slice(0, 3))).toEqual(['404', '422', '422', '404']);
      // To an operator alone a grant of what another brought is open.
      const open = principal === 'admin' ? answers.slice(0, 3) : answers;
      expect((await asked(principal, digest)).slice(0, open.length)).toEqual(open);
    }
    // The operator has just granted it to the intruder, as the last thing that was asked.
    expect((await shared.muster('admin', ['grant', 'list', digest])).stdout).toMatch(/intruder +admin/);
    expect(await shared.request('intruder', `/v1/checkpoints/${digest}`, 'HEAD')).toBe('200 ');
    expect((await shared.muster('admin', ['grant', 'revoke', digest, 'intruder'])).stdout).toContain('intruder may no longer use');
    expect(await shared.request('intruder', `/v1/checkpoints/${digest}`, 'HEAD')).toBe('404 ');
    const added = await shared.muster('owner', ['grant', 'add', `sha256:${digest}`, 'intruder']);
    expect([added.exitCode, added.stdout]).toEqual([0, `intruder may use ${digest} from now on\n`]);
    const granted = await shared.client('intruder').submit({ sha256: digest }, 'cartpole', { stop: STOP });
    expect((await shared.ended('intruder', granted.id)).state).toBe('finished');
    const refused = await shared.muster('intruder', ['grant', 'add', digest, 'watcher']);
    expect([refused.exitCode, refused.stderr]).toEqual([2, expect.stringContaining('did not send it')]);
  });
});

describe('what code reveals of the checkpoint that it plays', () => {
  it('reaches its principal and those who may use the checkpoint only, by every way', async () => {
    const owner = shared.client('owner');
    const ids: string[] = [];
    const digests: string[] = [];
    for (const weights of [SECRET, `refuse ${SECRET}`]) {
      const directory = await telltale(shared, `telltale-${ids.length}`, weights);
      const { id, checkpoints } = await owner.submit(directory, 'cartpole', { stop: STOP });
      await shared.ended('owner', id);
      ids.push(id);
      digests.push(checkpoints[0]?.digest ?? '');
    }
    const ways = [
      '/v1/evaluations',
      ...ids.flatMap((id) => ['', '/events', '/episodes'].map((part) => `/v1/evaluations/${id}${part}`)),
      '/v1/pools',
      '/metrics',
    ];
    const hears = async (principal: string): Promise<readonly string[]> => {
      const heard: string[] = [];
      for (const way of ways) if ((await shared.request(principal, way)).includes(SECRET)) heard.push(way);
      return heard;
    };
    // An evaluation whose episodes all fail ends with their error, which stands in its document.
    const everything = ['/v1/evaluations', `/v1/evaluations/${ids[0]}`, `/v1/evaluations/${ids[0]}/episodes`, `/v1/evaluations/${ids[1]}`];
    expect(await hears('owner')).toEqual(everything);
    expect(await hears('intruder')).toEqual([]);
    expect(await hears('watcher')).toEqual([]);
    expect(await hears('admin')).toEqual(everything);
    const seen = await shared.client('watcher').get(ids[1] ?? '');
    expect(seen).toMatchObject({
      state: 'failed',
      withheld: true,
      failure: { code: 'checkpoint.refused', message: expect.stringContaining('withheld') },
    });
    const [line] = await Array.fromAsync(shared.client('watcher').episodes(ids[0] ?? ''));
    expect(line).toMatchObject({ index: 0, outcome: { kind: 'failed', cause: 'policy-crash', detail: '' }, withheld: true });
    for (const digest of digests) await owner.grant(digest.replace('sha256:', ''), 'watcher');
    expect(await hears('watcher')).toEqual(everything);
    for (const digest of digests) await owner.revokeGrant(digest.replace('sha256:', ''), 'watcher');
    expect(await hears('watcher')).toEqual([]);
  });
});

describe('episodes that came out of a sandbox with code in it', () => {
  it('are reused only for their principal, though another evaluates the same files', async () => {
    // The same bytes, which both of them have.
    const directory = shared.stage.path('anything');
    await cp(ANYTHING, directory, { recursive: true });
    const played = async (principal: string): Promise<{ readonly outcomes: number; readonly recalled: number }> => {
      const summary = await shared.client(principal).evaluate(directory, 'cartpole', { stop: STOP });
      return { outcomes: summary.run.outcomes, recalled: summary.run.recalled ?? 0 };
    };
    expect(await played('intruder')).toEqual({ outcomes: 4, recalled: 0 });
    expect(await played('intruder')).toEqual({ outcomes: 0, recalled: 4 });
    expect(await played('owner')).toEqual({ outcomes: 4, recalled: 0 });
    expect(await played('owner')).toEqual({ outcomes: 0, recalled: 4 });
  });

  it('are separate from episodes of data alone, which are shared with every principal that has the checkpoint', async () => {
    const early = LATE.replace('late', 'early');
    const played = async (principal: string): Promise<number> =>
      (await shared.client(principal).evaluate(early, 'cartpole', { stop: STOP })).run.outcomes;
    expect([await played('owner'), await played('intruder')]).toEqual([4, 0]);
  });
});
