import { readFile } from 'node:fs/promises';
import nock from 'nock';
import { beforeAll, describe, expect, it } from 'vitest';
import { LATE } from '../end-to-end/stage.ts';
import { SharedServer, type SharedServerChanges } from '../end-to-end/shared-server.ts';
import { extent, isFullForm, sampled } from '../support/full-form.ts';
import { gvisorHere } from '../support/gvisor-context.ts';
import { IMAGE, KubernetesContext } from '../support/kubernetes/kubernetes-context.ts';
import { runnerImage } from '../support/kubernetes/runner-image.ts';
import { sha256 } from '../support/upload-fixture.ts';
import { WAYS } from './attack-fixture.ts';
import { CHANGES, EARLY, OPEN_DOOR, running, sent, type Environment } from './callers-suites.ts';

beforeAll(() => nock.restore());

const STOP = { rule: 'fixed', episodes: 4 } as const;
/** Tells of every file in the inbox: its path, and of its bytes the first. */
const PEEK = running(
  "import os; raise ValueError([os.path.join(d, f) for d, _, files in os.walk('/muster/inbox') for f in files]" +
    " + [open(os.path.join(d, f), 'rb').read(64) for d, _, files in os.walk('/muster/inbox') for f in files])",
);

/** Two principals on one server: the intruder knows what the owner evaluates, and on which suite. */
class TwoPrincipals implements AsyncDisposable {
  readonly shared: SharedServer;

  private constructor(shared: SharedServer) {
    this.shared = shared;
  }

  static async open({ server = OPEN_DOOR, ...changes }: SharedServerChanges = {}): Promise<TwoPrincipals> {
    return new TwoPrincipals(await SharedServer.open({ server, ...changes }));
  }

  /** What an evaluation of the owner comes to. */
  async computeOfficial(cache = false): Promise<string> {
    const summary = await this.shared.client('owner').evaluate(LATE, 'cartpole', { stop: STOP, cache });
    return JSON.stringify(summary.official);
  }

  /** What the intruder learns from a suite of its own: nothing. */
  async attack(environment: Environment): Promise<{ readonly code: string; readonly message: string }> {
    const { id } = await this.shared.client('intruder').submit(EARLY, sent(environment), { cache: false });
    const { failure } = await this.shared.ended('intruder', id);
    return failure ?? { code: '', message: '' };
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.shared[Symbol.asyncDispose]();
  }
}

/** The one that outlives its suite, which each kind of sandbox ends in a way of its own. What the others do is inside of Python. */
const LASTING = 'leaves a thread that patches CartPole later';

/**
 * Tries attacks beside the owner's evaluations, one after the other on the same server.
 *
 * @param isFirst in the short form, all attacks are tried on the first kind of sandbox.
 * @returns what the owner got each time.
 */
async function besieged(principals: TwoPrincipals, isFirst: boolean): Promise<Readonly<Record<string, string>>> {
  const came: Record<string, string> = { alone: await principals.computeOfficial() };
  for (const [attack, environment] of sampled(Object.entries(CHANGES), ([name]) => isFirst || name === LASTING)) {
    const { code } = await principals.attack(environment);
    came[`after one who ${attack}`] = await principals.computeOfficial();
    expect([attack, code]).toEqual([attack, 'suite.refused']);
  }
  const digest = sha256(await readFile(LATE));
  const { message } = await principals.attack(PEEK);
  expect(message).toContain('ValueError');
  expect(message).toContain(sha256(await readFile(EARLY)));
  came['reported to a reader of the inbox'] = message.includes(digest) ? message : (came['alone'] ?? '');
  return came;
}

/** The same each time. */
function undisturbed(came: Readonly<Record<string, string>>): Readonly<Record<string, string | undefined>> {
  return Object.fromEntries(Object.keys(came).map((when) => [when, came['alone']]));
}

/** In the short form sandboxes are forked: which sandbox serves whom is decided in the pool, for all kinds of them. */
const LIFETIMES = [
  ['used again', 1000],
  ['fresh for each episode', 1],
] as const;

describe.each(LIFETIMES)('an intruder’s suite, with sandboxes that are %s,', { timeout: 600_000 }, (_which, episodesPerSandbox) => {
  const pool = { max: 1, warm: 1, episodesPerSandbox };

  it.each(sampled(WAYS, (way) => way === 'forked'))(
    'changes nothing that the owner gets, and reads nothing of the owner’s, where they are %s',
    async (start) => {
      await using principals = await TwoPrincipals.open({ pool, templates: { local: { start } } });
      const came = await besieged(principals, start === 'forked' && episodesPerSandbox > 1);
      expect(JSON.parse(came['alone'] ?? '')).toMatchObject({ mean: 500 });
      expect(came).toEqual(undisturbed(came));
    },
  );

  it.runIf(isFullForm && gvisorHere.gvisor.state === 'available')('nor where they are gVisor’s', async () => {
    await using principals = await TwoPrincipals.open({ pool, templates: { local: { provider: 'gvisor' } } });
    const came = await besieged(principals, false);
    expect(came).toEqual(undisturbed(came));
  });

  it.runIf(isFullForm)('gains nothing with pods either', async () => {
    const { image, python } = await runnerImage();
    await using context = await KubernetesContext.open(image);
    const kubernetes = { kubeconfig: context.pod.kubeconfig, image: IMAGE, python };
    await using principals = await TwoPrincipals.open({ pool, templates: { local: { provider: 'kubernetes', kubernetes } } });
    const came = await besieged(principals, false);
    expect(came).toEqual(undisturbed(came));
  });
});

describe('the memory of a sandbox that an intruder is given', () => {
  it('has the policies that the intruder’s own evaluations share, and no other’s', async () => {
    // Each episode has a sandbox of its own here, so policies are loaded where sandboxes are forked from.
    await using principals = await TwoPrincipals.open({
      pool: { max: 2, warm: 0, episodesPerSandbox: 1 },
      templates: { local: { start: 'forked' } },
    });
    const owner = principals.shared.client('owner');
    const { id } = await owner.submit(LATE, 'cartpole', { stop: { rule: 'fixed', episodes: extent({ short: 30, full: 100 }) } });
    const { message } = await principals.attack(running('import muster_runner.preloaded as p; raise ValueError(list(p._preloaded))'));
    expect(message).toContain(sha256(await readFile(EARLY)));
    expect(message).not.toContain(sha256(await readFile(LATE)));
    expect((await principals.shared.ended('owner', id)).state).toBe('finished');
  });
});

describe('episodes that an intruder has played after changing CartPole', () => {
  it('are what they would have been, also for others who find them in the cache', async () => {
    await using principals = await TwoPrincipals.open();
    const expected = await principals.computeOfficial();
    const ask = async (principal: string): Promise<{ readonly official: string; readonly recalled: number | undefined }> => {
      // No evaluation before has stored an answer to this one.
      const { official, run } = await principals.shared.client(principal).evaluate(LATE, 'cartpole', { stop: STOP });
      return { official: JSON.stringify(official), recalled: run.recalled };
    };
    for (const environment of Object.values(CHANGES)) await principals.attack(environment);
    expect(await ask('intruder')).toEqual({ official: expected, recalled: 0 });
    expect(await ask('owner')).toEqual({ official: expected, recalled: 4 });
  });
});

describe('a suite that a caller sends', () => {
  it('is refused with each of these environments, unless the operator lists their modules', async () => {
    await using principals = await TwoPrincipals.open({ server: {} });
    const answers: string[] = [];
    for (const environment of [...Object.values(CHANGES), PEEK])
      answers.push(
        await principals.shared.request('intruder', '/v1/evaluations', 'POST', {
          checkpoint: { sha256: '0'.repeat(64) },
          suite: sent(environment),
        }),
      );
    expect(answers).toEqual(
      answers.map(() => expect.stringMatching(/^422 .*suite\.entry.*suite: environment\.entry: expected.*server\.inlineModules/)),
    );
  });
});
