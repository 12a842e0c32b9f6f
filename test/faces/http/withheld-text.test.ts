import { describe, expect, it } from 'vitest';
import { STATISTICS_VERSION } from '../../../src/aggregation/statistics-version.ts';
import { TokenService } from '../../../src/service/access/token-service.ts';
import type { Role } from '../../../src/evaluation-store/tokens.ts';
import { digestBytes } from '../../../src/kernel/canonical-json.ts';
import { parseEpisodeIndex, parseSandboxId, type Digest, type EvaluationId } from '../../../src/kernel/ids.ts';
import { defineSuite, createInlineLayer, parseSuite } from '../../../src/orchestrator/suite/suite-definition.ts';
import { addLiveRoutes } from '../../../src/faces/http/routes/live-routes.ts';
import { identifyByToken } from '../../../src/faces/http/requests/identify.ts';
import type { EvaluationOrder } from '../../../src/service/orders/evaluation-order.ts';
import { NOTHING_MADE } from '../../../src/pool/members/pool-state.ts';
import { PoolService } from '../../../src/service/upkeep/pool-service.ts';
import type { LiveChanges } from '../../../src/service/watching/live-feed.ts';
import { evaluation as summaryDocument } from '../report/documents.ts';
import { ServerFixture } from '../../support/server-fixture.ts';
import { accepted, claimed, LEG } from '../../support/store-fixture.ts';

/** What a program printed: never to be seen by those who may not read what it could read. */
const SECRET = 'the bytes of the checkpoint';
const STATIC = 'it was interrupted: the figures are those of the episodes that counted by then';
const [MINE, YOURS] = [digestBytes('mine'), digestBytes('yours')];

const SUITE = parseSuite(
  createInlineLayer({ name: 'fixture', environment: 'module:make', reward: { bounds: [0, 1] }, stop: { rule: 'fixed', episodes: 2 } }),
);

const POOLS = {
  templates: ['local'],
  getProvider: () => 'paper',
  getSize: () => ({ min: 0, max: 1, warm: 0 }),
  resize: () => undefined,
  readUsage: async () => new Map(),
};

function content(digest: Digest): Extract<EvaluationOrder, { kind: 'evaluation' }>['checkpoint'] {
  return { uri: 'policy.pt', digest, kind: 'file', files: [{ path: 'policy.pt', size: 1, digest }], labels: {} };
}

const ORDER = {
  schema: 'muster.order/1',
  statistics: STATISTICS_VERSION,
  suite: SUITE,
  suiteDigest: defineSuite(SUITE, undefined).digest,
  cache: true,
  kind: 'comparison',
  baseline: content(MINE),
  candidates: [content(YOURS)],
  terms: {},
} satisfies EvaluationOrder;

/** A failed comparison of the principal `owner`, all of whose texts have the secret in them. */
async function failed({ fixture: { store } }: ServerFixture, summary: object | undefined): Promise<EvaluationId> {
  await store.rights.bring([MINE, YOURS].map((digest) => ({ principal: 'owner', digest, kind: 'file', name: 'policy.pt' })));
  const { id } = await accepted(store, { principal: 'owner', request: ORDER });
  const owned = await claimed(store, id);
  await store.course.begin(owned);
  const episode = { task: 0, seconds: 1, log: SECRET };
  await store.episodes.append(owned, LEG, [
    { ...episode, index: parseEpisodeIndex(0), outcome: { kind: 'completed', return: 0.5, length: 3, metrics: { score: 7 } } },
    { ...episode, index: parseEpisodeIndex(1), outcome: { kind: 'failed', cause: 'environment-crash', detail: SECRET } },
    { ...episode, index: parseEpisodeIndex(2), outcome: { kind: 'lost', detail: SECRET } },
  ]);
  const failure = { code: 'checkpoint.refused', message: `the policy was refused by the runner: ${SECRET}` };
  await store.course.conclude(owned, { state: 'failed', summary, failure, webhooks: [] });
  return id;
}

const ERROR = { checkpoint: YOURS, cause: 'environment-crash', episodes: 1, firstIndex: 1 };

function remarked(): object {
  const whole = summaryDocument();
  return { ...whole, warnings: [STATIC, SECRET], run: { ...whole.run, remarks: [SECRET], errors: [{ ...ERROR, detail: SECRET }] } };
}

type Get = (path: string) => Promise<{ readonly text: string; readonly json: unknown }>;

async function opened(): Promise<ServerFixture> {
  return ServerFixture.open({ slots: 0 }, ({ store, clock }) => ({ identify: identifyByToken(store.tokens, clock) }));
}

async function as(server: ServerFixture, principal: string, role: Role): Promise<Get> {
  const { fixture } = server;
  const { text } = await new TokenService(fixture.store, fixture.clock, 'test').issue({ principal, role, lifetimeMs: undefined });
  return (path) => server.send('GET', path, { headers: { authorization: `Bearer ${text}` } });
}

/** Every way in which the text of an evaluation goes out. */
function ways(id: EvaluationId): readonly string[] {
  const self = `/v1/evaluations/${id}`;
  return ['/v1/evaluations', self, `${self}/episodes`, `${self}/episodes?arm=1`, `${self}/events`];
}

describe('what a program printed', () => {
  it.each<[string, Role]>([
    ['owner', 'viewer'],
    ['admin', 'operator'],
    ['auditor', 'viewer'],
  ])('is read by %s (%s), who may read what the program could read', async (principal, role) => {
    await using server = await opened();
    const id = await failed(server, remarked());
    for (const digest of [MINE, YOURS]) await server.fixture.store.rights.grant({ digest, principal: 'auditor', grantedBy: 'owner' });
    const get = await as(server, principal, role);
    expect((await get(`/v1/evaluations/${id}`)).json).toMatchObject({
      withheld: false,
      failure: { message: expect.stringContaining(SECRET) },
      summary: { warnings: [STATIC, SECRET], run: { remarks: [SECRET], errors: [{ detail: SECRET }] } },
    });
    expect((await get(`/v1/evaluations/${id}/episodes`)).text.split(SECRET)).toHaveLength(6);
    expect((await get('/v1/evaluations')).json).toMatchObject({
      items: [{ withheld: false, failure: { message: expect.stringContaining(SECRET) } }],
    });
  });

  it.each<[string, Role]>([
    ['stranger', 'viewer'],
    ['stranger', 'submitter'],
    ['half', 'submitter'],
  ])('is withheld from %s (%s), who gets the figures, and learns that', async (principal, role) => {
    await using server = await opened();
    const id = await failed(server, remarked());
    // Of one of the two checkpoints alone.
    await server.fixture.store.rights.grant({ digest: MINE, principal: 'half', grantedBy: 'owner' });
    const get = await as(server, principal, role);
    for (const way of ways(id)) expect((await get(way)).text).not.toContain(SECRET);
    const { official } = summaryDocument();
    expect((await get(`/v1/evaluations/${id}`)).json).toMatchObject({
      state: 'failed',
      withheld: true,
      failure: { code: 'checkpoint.refused', message: expect.stringMatching(/^withheld: /) },
      summary: { official, warnings: [STATIC], run: { errors: [{ ...ERROR, detail: '' }] } },
    });
    const lines = (await get(`/v1/evaluations/${id}/episodes`)).text.trim().split('\n');
    expect(lines.map((line): unknown => JSON.parse(line))).toMatchObject([
      { index: 0, outcome: { kind: 'completed', return: 0.5, length: 3, metrics: { score: 7 } }, withheld: true },
      { index: 1, outcome: { kind: 'failed', cause: 'environment-crash', detail: '' }, withheld: true },
      { index: 2, outcome: { kind: 'lost', detail: '' }, withheld: true },
    ]);
    expect((await get('/v1/evaluations')).json).toMatchObject({ items: [{ withheld: true, failure: { code: 'checkpoint.refused' } }] });
  });

  it('is withheld with the whole summary when another version of Muster has made it', async () => {
    await using server = await opened();
    const id = await failed(server, { schema: 'muster.summary/9', words: SECRET });
    const get = await as(server, 'stranger', 'viewer');
    expect((await get(`/v1/evaluations/${id}`)).json).toMatchObject({ withheld: true, summary: null });
  });

  it('is withheld in the live stream, which is read and written once for all who may see the same', async () => {
    const feed: LiveChanges[] = [];
    const asked: string[] = [];
    const lost = [{ id: parseSandboxId('s-1'), at: new Date(0), detail: SECRET }];
    const state = { ...NOTHING_MADE, lastErrors: { ...NOTHING_MADE.lastErrors, creation: SECRET }, lost };
    await using server = await ServerFixture.open({ slots: 0 }, ({ store, clock, use }) => ({
      identify: identifyByToken(store.tokens, clock),
      more: [
        (app, room) =>
          addLiveRoutes(app, {
            service: { followAll: () => ReadableStream.from(feed) },
            pools: new PoolService({ ...POOLS, getState: () => state }, store.audit, clock),
            use: {
              findUsable: (principal, digests) => {
                asked.push(principal);
                return use.findUsable(principal, digests);
              },
            },
            clock,
            room,
          }),
      ],
    }));
    const id = await failed(server, remarked());
    const nothing = { evaluations: [], running: new Map(), isIncomplete: false } as const;
    feed.push({ ...nothing, evaluations: [await server.fixture.find(id)] }, { ...nothing }, { ...nothing, isIncomplete: true });
    const read = async (principal: string, role: Role): Promise<string> => (await (await as(server, principal, role))('/v1/live')).text;
    const [admin, owner] = [await read('admin', 'operator'), await read('owner', 'viewer')];
    expect([admin.split(SECRET).length, owner.split(SECRET).length]).toEqual([4, 2]);
    const strangers = [await read('stranger', 'viewer'), await read('stranger', 'submitter'), await read('half', 'viewer')];
    expect(new Set(strangers).size).toBe(1);
    expect(strangers[0]).not.toContain(SECRET);
    expect(asked).toEqual(['stranger', 'half']);
    // The pools once, what changed, nothing, and that something was left out.
    const members = (text: string): unknown => text.match(/(?<=^data: )\{.*$/gm)?.map((data) => Object.keys(JSON.parse(data)));
    for (const text of [admin, strangers[0] ?? '']) expect(members(text)).toEqual([['pools'], ['evaluations'], ['isIncomplete']]);
  });
});
