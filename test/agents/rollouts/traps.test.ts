import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sampled } from '../../support/full-form.ts';
import { MistakenCopy, type Mistake } from '../../support/mistaken-copy.ts';
import { failOnLeftoverProcesses } from '../../support/no-leftovers.ts';

failOnLeftoverProcesses();

interface Trap extends Mistake {
  readonly name: string;
  /** The test that must fail. */
  readonly test: 'groups' | 'plan-stream' | 'sampled-tokens';
}

const ADVANTAGES = 'src/agents/rollouts/groups/compute-advantages.ts';
const STREAM = 'src/agents/rollouts/streams/plan-stream.ts';
const STARTS = 'src/agents/rollouts/groups/plan-starts.ts';
const TOKENS = 'src/agents/rollouts/record/sampled-tokens.ts';

/** Mistakes that have spoilt trainings of other systems. */
const TRAPS: readonly Trap[] = [
  {
    name: 'masked rewards in the mean of a group',
    file: ADVANTAGES,
    edits: [['return !member.isMasked && member.reward', 'return member.reward']],
    test: 'groups',
  },
  {
    name: 'a standard deviation with the other divisor',
    file: ADVANTAGES,
    edits: [['(values.length - ddof)', '(values.length - 1 + ddof)']],
    test: 'groups',
  },
  {
    name: 'a trajectory that is void counted as a reward of 0',
    file: ADVANTAGES,
    edits: [['counted.map(({ reward }) => reward)', 'members.map(({ reward }) => reward ?? 0)']],
    test: 'groups',
  },
  {
    name: 'the size that a group was to have in place of the one that it has',
    file: ADVANTAGES,
    edits: [['size: counted.length', 'size: members.length']],
    test: 'groups',
  },
  {
    name: 'the only member of a group held against itself',
    file: ADVANTAGES,
    edits: [['if (n === 1) return reward;', 'if (n === 1) return reward - mean;']],
    test: 'groups',
  },
  {
    name: 'groups filtered after shaping',
    file: ADVANTAGES,
    edits: [['others.every(({ core }) => core === first.core)', 'others.every(({ reward }) => reward === first.reward)']],
    test: 'plan-stream',
  },
  {
    name: 'staleness counted from the newest version',
    file: STREAM,
    edits: [['return Math.min(...ages, ', 'return Math.max(...ages, ']],
    test: 'plan-stream',
  },
  {
    name: 'a group delivered that is one version too old',
    file: STARTS,
    edits: [['version - oldest > maxStaleness', 'version - oldest > maxStaleness + 1']],
    test: 'plan-stream',
  },
  {
    name: 'filtered groups counted as accepted',
    file: STREAM,
    edits: [['const accepted = settled.filter(', 'const accepted = settled.length + 0 * settled.filter(']],
    test: 'plan-stream',
  },
  {
    name: 'a prompt that was tokenised again taken for the tokens before',
    file: TOKENS,
    edits: [['prefix.every((id, i) => ids[i] === id)', 'true']],
    test: 'sampled-tokens',
  },
  {
    name: 'prompts in the loss',
    file: TOKENS,
    edits: [['append(segment, given, { mask: 0,', 'append(segment, given, { mask: 1,']],
    test: 'sampled-tokens',
  },
];

describe('the tests of groups and tokens', () => {
  let copy: MistakenCopy;
  beforeAll(async () => {
    copy = await MistakenCopy.create(['src/agents/rollouts', 'src/kernel', 'test/agents/rollouts']);
  });
  afterAll(() => copy[Symbol.asyncDispose]());

  const check = (test: Trap['test']): ReturnType<MistakenCopy['run']> =>
    copy.run('node_modules/vitest/vitest.mjs', 'run', '--reporter=dot', `test/agents/rollouts/${test}.test.ts`);

  it('pass on a copy of the code as it is', async () => {
    expect(await check('plan-stream')).toMatchObject({ exitCode: 0 });
  });

  it.each(sampled(TRAPS, ({ test, file }) => test === 'plan-stream' && file !== STARTS).map((trap) => [trap.name, trap] as const))(
    'fail on %s',
    async (_, trap) => {
      const { exitCode, output } = await copy.mistaken(trap, () => check(trap.test));
      expect([exitCode, output]).toEqual([1, expect.stringMatching(/AssertionError|Property failed/)]);
    },
  );
});
