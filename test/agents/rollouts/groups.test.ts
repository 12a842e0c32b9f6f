import { readFile } from 'node:fs/promises';
import path from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { computeAdvantages, type AdvantageTerms, type GroupMember } from '../../../src/agents/rollouts/groups/compute-advantages.ts';
import { growGroups } from '../../../src/agents/rollouts/groups/grow-groups.ts';

const termsSchema = z.union([
  z.strictObject({ kind: z.literal('grpo'), ddof: z.union([z.literal(0), z.literal(1)]) }),
  z.strictObject({ kind: z.enum(['dr-grpo', 'rloo', 'raw']) }),
]);
const goldenSchema = z.array(
  z.strictObject({
    name: z.string(),
    terms: termsSchema,
    members: z.array(z.strictObject({ core: z.number().nullable(), reward: z.number().nullable(), isMasked: z.boolean() })),
    advantages: z.array(z.number().nullable()),
    size: z.int(),
    filtered: z.enum(['no-reward', 'zero-variance']).nullable(),
  }),
);

// Written by scripts/golden/rollout_values.py from NumPy and the published formulas.
const golden = goldenSchema.parse(JSON.parse(await readFile(path.join(import.meta.dirname, 'golden/advantages.json'), 'utf8')));

const share = fc.double({ min: 0, max: 1, noNaN: true });
const member: fc.Arbitrary<GroupMember> = fc
  .record({ reward: fc.option(share, { nil: null }), isMasked: fc.boolean() })
  .map(({ reward, isMasked }) => ({ core: reward, reward, isMasked }));
const ways = fc.constantFrom<AdvantageTerms>({ kind: 'grpo', ddof: 0 }, { kind: 'grpo', ddof: 1 }, { kind: 'dr-grpo' }, { kind: 'rloo' });

describe('the advantages of a group', () => {
  it.each(golden.map((each) => [each.terms.kind, 'ddof' in each.terms ? each.terms.ddof : '-', each.name, each] as const))(
    '%s, ddof %s: %s',
    (_kind, _ddof, _name, { members, terms, advantages, size, filtered }) => {
      const computed = computeAdvantages(members, terms);
      expect(computed).toMatchObject({ size, filtered });
      expect(computed.advantages.map((each) => each === null)).toEqual(advantages.map((each) => each === null));
      for (const [i, each] of advantages.entries()) expect(computed.advantages[i] ?? 0).toBeCloseTo(each ?? 0, 9);
    },
  );

  it('add up to 0, except in raw, and masked or void members change none of them', () => {
    fc.assert(
      fc.property(fc.array(member, { maxLength: 12 }), ways, (members, terms) => {
        const { advantages, size } = computeAdvantages(members, terms);
        const counted = members.filter(({ reward, isMasked }) => reward !== null && !isMasked);
        expect(size).toBe(counted.length);
        const alone = computeAdvantages(counted, terms).advantages;
        expect(advantages.filter((each) => each !== null)).toEqual(alone);
        const sum = alone.reduce<number>((so, each) => so + (each ?? 0), 0);
        expect(size > 1 ? sum : 0).toBeCloseTo(0, 6);
      }),
    );
  });
});

describe('further trajectories', () => {
  it('go to the groups that vary most, each up to its bound, and never exceed the budget', () => {
    expect(
      growGroups(
        [
          { size: 4, rewards: 4 },
          { size: 4, rewards: 2 },
          { size: 4, rewards: 1 },
        ],
        6,
        8,
      ),
    ).toEqual([0, 4, 2]);
    fc.assert(
      fc.property(
        fc.array(fc.record({ size: fc.nat(16), rewards: share }), { maxLength: 20 }),
        fc.nat(100),
        fc.nat(16),
        (groups, budget, most) => {
          const grown = growGroups(groups, budget, most);
          const room = groups.reduce((sum, { size }) => sum + Math.max(0, most - size), 0);
          expect(grown.reduce((sum, each) => sum + each, 0)).toBe(Math.min(budget, room));
          for (const [i, each] of grown.entries()) expect(each).toBeLessThanOrEqual(Math.max(0, most - (groups[i]?.size ?? 0)));
        },
      ),
    );
  });
});
