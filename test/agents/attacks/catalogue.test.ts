import nock from 'nock';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AttackFixture } from '../../support/attack-fixture.ts';
import { sampled } from '../../support/full-form.ts';
import { gvisorHere } from '../../support/gvisor-context.ts';
import { ANSWERS } from './catalogue/answers.ts';
import { ARTIFACTS } from './catalogue/artifacts.ts';
import { type Attack, ITEMS } from './catalogue/attack.ts';
import { COMPILING } from './catalogue/compiling.ts';
import { ENDINGS } from './catalogue/endings.ts';
import { KNOWLEDGE } from './catalogue/knowledge.ts';
import { LEFTOVERS } from './catalogue/leftovers.ts';
import { MEASURES } from './catalogue/measures.ts';
import { REWARDS } from './catalogue/rewards.ts';
import { SUITES } from './catalogue/suites.ts';

const CATALOGUE: readonly Attack[] = [
  ...ANSWERS,
  ...ENDINGS,
  ...LEFTOVERS,
  ...ARTIFACTS,
  ...COMPILING,
  ...KNOWLEDGE,
  ...MEASURES,
  ...REWARDS,
  ...SUITES,
];

/** What the short form tries: one of each way of judging, and what has cost the most to contain. */
const SHORT_FORM: ReadonlySet<string> = new Set([
  'the comparison is replaced',
  'a process behind a double fork rewrites the reward',
  'a name with a line feed is taken for the path of the answer',
  'a build leaves a process that writes the reward',
  'the mended release is fetched from the network',
  'memory is spread over many processes',
  'the reward is more than 1',
  'what the suite expects is read in the frames of the callers, with derived tripwires',
]);

describe('the catalogue of attacks', () => {
  it('has at least one of each kind that a verifier has to withstand, under different names', () => {
    expect([...new Set(CATALOGUE.map(({ item }) => item))].sort()).toEqual([...ITEMS].sort());
    expect(new Set(CATALOGUE.map(({ name }) => name)).size).toBe(CATALOGUE.length);
    expect([...SHORT_FORM].filter((name) => !CATALOGUE.some((attack) => attack.name === name))).toEqual([]);
  });
});

interface Wall {
  readonly wall: 'forked' | 'plain' | 'gvisor' | 'kubernetes';
  /** Why this machine has none. */
  readonly missing?: string | undefined;
  /** What the short form tries. */
  readonly short: ReadonlySet<string>;
}
const gvisor = gvisorHere.gvisor.state === 'missing' ? gvisorHere.gvisor.detail : undefined;
const WALLS: readonly Wall[] = [
  { wall: 'forked', short: SHORT_FORM },
  { wall: 'plain', short: new Set() },
  { wall: 'gvisor', missing: gvisor, short: new Set(['a process behind a double fork rewrites the reward']) },
  { wall: 'kubernetes', short: new Set(['a process behind a double fork rewrites the reward']) },
];

// The simulated cluster answers over real connections.
nock.restore();

describe.each(sampled(WALLS, ({ short }) => short.size > 0))('an attack in sandboxes of the kind $wall', ({ wall, missing, short }) => {
  let fixture: AttackFixture;
  beforeAll(async () => {
    fixture = await AttackFixture.open(wall);
  });
  afterAll(() => fixture[Symbol.asyncDispose]());

  it.skipIf(missing !== undefined).each(sampled(CATALOGUE, ({ name }) => short.has(name)).map((attack) => [attack.name, attack] as const))(
    '%s: fools a naive verifier, and not ours, which its honest twin passes',
    async (_, described) => {
      const attack = await fixture.calibrated(described);
      expect(await fixture.naiveReward(attack)).toBe(attack.fooled ?? '1');
      const task = await fixture.task(attack);
      const { reward = 0, twin } = attack;
      expect(await fixture.verdict(task, attack)).toMatchObject({ reward, problem: reward === null ? { kind: 'verifier' } : null });
      expect(await fixture.verdict(task, twin)).toMatchObject({ reward: 1, problem: null });
    },
  );
});
