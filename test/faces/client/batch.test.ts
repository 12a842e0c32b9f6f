import { join } from 'node:path';
import nock from 'nock';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseBatch, type BatchFile } from '../../../src/faces/client/batch/batch-file.ts';
import { isLabelPattern, readLabels } from '../../../src/faces/client/batch/batch-labels.ts';
import { buildBatchKey, planCheckpoints, planSuites, type BatchContext } from '../../../src/faces/client/batch/batch-plan.ts';
import { Batch, type BatchItem } from '../../../src/faces/client/batch/batch.ts';
import { InfrastructureError } from '../../../src/kernel/errors.ts';
import { ClientFixture } from '../../support/client-fixture.ts';
import { ServiceFixture } from '../../support/service-fixture.ts';

beforeAll(() => nock.enableNetConnect('127.0.0.1'));
afterAll(() => nock.disableNetConnect());

const EXAMPLES = join(import.meta.dirname, '../../../examples/game/checkpoints');
const LATE = join(EXAMPLES, 'late.safetensors');
const FILES = ['runs/a/step-2.bin', 'runs/a/step-10.bin', 'runs/b/step-3.bin'];

/** Patterns fit as their beginnings say. */
const GROUND: BatchContext = {
  match: async (pattern) => FILES.filter((path) => path.startsWith(pattern.replace(/\*.*$/, ''))),
  readSuite: async (path) => `suite-of-${path.replaceAll(/\W/g, '-')}`,
  absolute: (path) => `/caller/${path}`,
};

function batchFile(value: object): BatchFile {
  return parseBatch({ value, findOrigin: (path) => `batch.yaml:${path.join('.')}` });
}

interface Ran {
  readonly items: readonly BatchItem[];
  readonly changes: readonly (readonly BatchItem[])[];
}

async function ran(fixture: ClientFixture, file: BatchFile): Promise<Ran> {
  const changes: (readonly BatchItem[])[] = [];
  const batch = new Batch({
    client: fixture.client(),
    clock: fixture.server.fixture.clock,
    signal: new AbortController().signal,
    name: 'nightly',
    file,
    checkpoints: await planCheckpoints(file, { ...GROUND, match: async (path) => [path], absolute: (path) => path }),
    suites: await planSuites(file, GROUND),
    baseline: undefined,
    onChange: (items) => void changes.push([...items]),
    onUpload: () => undefined,
  });
  await fixture.during(batch.run());
  return { items: batch.items, changes };
}

function idsOf(items: readonly BatchItem[]): readonly (string | undefined)[] {
  return items.map((item) => ('evaluation' in item ? item.evaluation.id : undefined));
}

const TWO_BY_TWO = batchFile({ suites: ['5-episodes', '7-episodes'], checkpoints: [{ uri: 'mem:/late', run: 'r', version: 1 }, LATE] });

describe('a batch', () => {
  it('evaluates every checkpoint on every suite, and reports their progress', async () => {
    await using fixture = await ClientFixture.open();
    const { items, changes } = await ran(fixture, TWO_BY_TWO);
    expect(items.map(({ checkpoint, suite, kind }) => [checkpoint, suite, kind])).toEqual([
      ['mem:/late', '5-episodes', 'over'],
      ['mem:/late', '7-episodes', 'over'],
      [LATE, '5-episodes', 'over'],
      [LATE, '7-episodes', 'over'],
    ]);
    expect(items).toMatchObject(
      [5, 7, 5, 7].map((episodes) => ({ evaluation: { state: 'finished', summary: { official: { episodes } } } })),
    );
    expect(items).toMatchObject([{ evaluation: { run: 'r', version: 1, labels: { batch: 'nightly' } } }, {}, {}, {}]);
    expect(changes.some((items) => items.some((item) => item.kind === 'submitted' && item.evaluation.state === 'running'))).toBe(true);
  });

  it('run again finds its evaluations, and evaluates new checkpoints', async () => {
    await using fixture = await ClientFixture.open();
    const first = await ran(fixture, TWO_BY_TWO);
    const again = await ran(fixture, { ...TWO_BY_TWO, suites: ['5-episodes', '7-episodes', '3-episodes'] });
    expect(idsOf(again.items).filter((id) => idsOf(first.items).includes(id))).toEqual(idsOf(first.items));
    expect(new Set(idsOf(again.items)).size).toBe(6);
  });

  it('run again repeats failed evaluations', async () => {
    await using fixture = await ClientFixture.open();
    const { player } = fixture.server.fixture;
    player.failAt = { index: 3, error: new InfrastructureError('sandbox.lost', 'gone') };
    const file = batchFile({ suites: ['2-episodes', '5-episodes'], checkpoints: ['mem://late'] });
    const first = await ran(fixture, file);
    expect(first.items).toMatchObject([{ evaluation: { state: 'finished' } }, { evaluation: { state: 'failed' } }]);
    player.failAt = undefined;
    const again = await ran(fixture, file);
    expect(again.items).toMatchObject([{ evaluation: { state: 'finished' } }, { evaluation: { state: 'finished' } }]);
    expect(idsOf(again.items)[0]).toBe(idsOf(first.items)[0]);
    expect(idsOf(again.items)[1]).not.toBe(idsOf(first.items)[1]);
  });

  it('evaluates again when a suite of the server has changed', async () => {
    await using fixture = await ClientFixture.open();
    const file = batchFile({ suites: ['5-episodes'], checkpoints: ['mem://late'] });
    const first = await ran(fixture, file);
    fixture.rewriteSuites();
    expect(idsOf((await ran(fixture, file)).items)).not.toEqual(idsOf(first.items));
  });

  it('continues with the others when one checkpoint cannot be evaluated', async () => {
    await using fixture = await ClientFixture.open();
    const file = batchFile({ suites: ['5-episodes'], checkpoints: ['/nowhere/policy.bin', LATE] });
    expect((await ran(fixture, file)).items).toMatchObject([
      { kind: 'refused', error: { code: 'checkpoint.missing' } },
      { kind: 'over', evaluation: { state: 'finished' } },
    ]);
  });

  it('ends at once when a suite is missing', async () => {
    await using fixture = await ClientFixture.open();
    const file = batchFile({ suites: ['unknown'], checkpoints: ['mem://late'] });
    await expect(ran(fixture, file)).rejects.toMatchObject({ code: 'suite.not-found', reason: 'not-found' });
  });

  it('waits where more evaluations wait than the quota allows', async () => {
    const service = new ServiceFixture();
    service.quotas.set('local', { waitingEvaluations: 1 });
    await using fixture = await ClientFixture.open(service, { slots: 1 });
    const file = batchFile({ suites: ['20-episodes'], checkpoints: Array.from({ length: 5 }, (_, i) => `mem://${i}`) });
    expect((await ran(fixture, file)).items).toMatchObject(Array.from({ length: 5 }, () => ({ evaluation: { state: 'finished' } })));
  });
});

describe('a batch file', () => {
  it('names every wrong field, its position, and what was expected', () => {
    expect(() => batchFile({ suites: [], checkpoints: [{ files: 'a', labelled: 'step' }, { fils: 'b' }], prority: 3 })).toThrow(
      expect.objectContaining({
        code: 'batch.invalid',
        message: expect.stringMatching(
          /batch\.yaml:suites: suites: expected a list of 1 item or more, got \[\][^]*checkpoints\[1\][^]*prority: unknown key; did you mean "priority"/,
        ),
      }),
    );
  });

  it('finds checkpoints by patterns, and reads their labels where it is asked to', async () => {
    const file = batchFile({
      suites: ['cartpole', 'game/pendulum.yaml'],
      checkpoints: [{ files: 'runs/a/*', labelled: '{run}/step-{version}.bin' }, { files: 'runs/b/*', run: 'mine' }, 'a'.repeat(64)],
    });
    expect(await planCheckpoints(file, GROUND)).toEqual([
      { title: 'runs/a/step-2.bin', named: { path: '/caller/runs/a/step-2.bin', run: 'a', version: 2 } },
      { title: 'runs/a/step-10.bin', named: { path: '/caller/runs/a/step-10.bin', run: 'a', version: 10 } },
      { title: 'runs/b/step-3.bin', named: { path: '/caller/runs/b/step-3.bin', run: 'mine' } },
      { title: 'a'.repeat(64), named: { sha256: 'a'.repeat(64) } },
    ]);
    expect(await planSuites(file, GROUND)).toEqual([
      { title: 'cartpole', suite: 'cartpole' },
      { title: 'game/pendulum.yaml', suite: 'suite-of-game-pendulum-yaml' },
    ]);
  });

  it.each([
    [['none/*'], 'batch.no-match'],
    [['runs/a/*', 'runs/*'], 'batch.twice'],
    [[{ files: 'runs/*', labelled: 'epoch-{version}.bin' }], 'batch.labels'],
  ])('is refused with checkpoints %j', async (checkpoints, code) => {
    await expect(planCheckpoints(batchFile({ suites: ['a'], checkpoints }), GROUND)).rejects.toMatchObject({ code });
  });

  it('has the same key for a file under another name', () => {
    const keyOf = (name: string, sha256 = 'a'): string =>
      buildBatchKey({ checkpoint: { name, sha256 }, baseline: { name, sha256 }, suite: 'a' }, undefined, 1);
    expect(keyOf('step-1.zip')).toBe(keyOf('step-2.zip'));
    expect(keyOf('step-1.zip', 'b')).not.toBe(keyOf('step-1.zip'));
  });

  it('takes {run} and {version} once each, and *, as labels, and all other text literally', () => {
    expect(['{run}', '{run}/*-{version}.bin'].every(isLabelPattern)).toBe(true);
    expect(['step', '*', '{step}', '{run}{run}', '{version'].some(isLabelPattern)).toBe(false);
    expect(readLabels('/x/ppo (1)/a-b-0012.bin', 'ppo (1)/*-{version}.bin')).toEqual({ version: 12 });
    expect(readLabels('/x/ppo.7/last', '{run}/last')).toEqual({ run: 'ppo.7' });
    expect(() => readLabels('/x/stepX1.bin', 'step.{version}.bin')).toThrow(expect.objectContaining({ code: 'batch.labels' }));
  });
});
