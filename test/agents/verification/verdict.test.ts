import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseDigest } from '../../../src/kernel/ids.ts';
import { evidenceSchema, type CasesEvidence, type Ending, type Evidence } from '../../../src/agents/verification/evidence.ts';
import { planStages } from '../../../src/agents/verification/plan-stages.ts';
import { weighComponents, scoreRatio, computeReward } from '../../../src/agents/verification/score.ts';
import { reachVerdict } from '../../../src/agents/verification/verdict-of.ts';
import { verdictSchema, omitMeasurements, type Verdict } from '../../../src/agents/verification/verdict.ts';
import { caseTask, stagedVerifierOf } from '../../support/task-fixture.ts';

const DIGEST = parseDigest(`sha256:${'0'.repeat(64)}`);
const EXITED: Ending = { kind: 'exited', code: 0 };
const ACCEPTED: Evidence = { stage: 'submission', problem: null, files: 1, bytes: 1 };

const CASES = '[execute]\nkind = "cases"\ncommand = ["x"]\ngenerator = { command = ["g"], cases = 3 }\n[golden]\ncommand = ["m"]\n';
const SPEED = '[score]\nweights = { correctness = 0.6, speed = 0.4 }\n[score.speed]\nr0 = 0.5\nr1 = 1.0\n';
const BOUND = '[[constraints]]\nmeasure = "peakBytes"\nmost = 100\n';
const SHARE = '[score]\ncorrectness = "share"\n';

function executed(endings: readonly Ending[], visible = 0): CasesEvidence {
  const runs = (ending: Ending): CasesEvidence['cases'][number]['runs'] => [
    { ending, outputDigest: 'd', outputBytes: 1, errors: '', seconds: 1, peakBytes: 1 },
  ];
  const cases = endings.map((ending, at) => ({ name: `${at}`, isVisible: at < visible, inputDigest: 'd', runs: runs(ending) }));
  return { stage: 'execute', kind: 'cases', seed: '1', cases };
}

const compared = (equal: readonly boolean[]): Evidence => ({
  stage: 'compare',
  cases: equal.map((isEqual, at) => ({ name: `${at}`, run: 0, isEqual, difference: isEqual ? null : 'other' })),
});
const answered = (equal: readonly boolean[], visible = 0): readonly Evidence[] => [
  ACCEPTED,
  executed(
    equal.map(() => EXITED),
    visible,
  ),
  compared(equal),
];
const verdict = (text: string, evidence: readonly Evidence[]): Verdict => reachVerdict(stagedVerifierOf(text), evidence, DIGEST);
const peak = (value: number): Evidence => ({ stage: 'constraints', measured: [{ measure: 'peakBytes', of: null, value }] });
const speed = (ratio: number): Evidence => ({
  stage: 'score',
  kind: 'speed',
  ratio,
  low: ratio,
  high: ratio,
  pairs: 0,
  turns: [],
  wrong: null,
});

/** The names of the stages that are asked for, each answered as the script says; the last is the verdict's reward. */
function played(text: string, script: Readonly<Record<string, Evidence>>): readonly unknown[] {
  const evidence: Evidence[] = [];
  const asked: unknown[] = [];
  for (;;) {
    const plan = planStages(stagedVerifierOf(text), evidence, DIGEST);
    if (plan.kind === 'verdict') return [...asked, plan.verdict.reward];
    const { stage } = plan.request;
    asked.push(stage);
    evidence.push(script[stage] ?? { stage, kind: 'infrastructure', reason: 'no such evidence' });
  }
}

describe('the plan of stages', () => {
  const all = `${CASES}${BOUND}[compile]\ncommand = ["cc"]\n${SPEED}`;
  const good: Readonly<Record<string, Evidence>> = {
    submission: ACCEPTED,
    compile: { stage: 'compile', ending: EXITED, output: '', seconds: 1 },
    execute: executed([EXITED, EXITED, EXITED]),
    compare: compared([true, true, true]),
    constraints: peak(100),
    score: speed(1),
  };

  it('runs all of them for a right submission, and gives 1', () => {
    expect(played(all, good)).toEqual(['submission', 'compile', 'execute', 'compare', 'constraints', 'score', 1]);
  });

  it('ends with 0 at the first that fails, and with null at the first that could not be carried out', () => {
    const failing: readonly (readonly [Evidence, number])[] = [
      [{ stage: 'submission', problem: 'sort.py is a link', files: 0, bytes: 0 }, 1],
      [{ stage: 'compile', ending: { kind: 'timeout' }, output: '', seconds: 60 }, 2],
      [executed([EXITED, { kind: 'exited', code: 1 }, EXITED]), 3],
      [executed([]), 3],
      [compared([true, false, true]), 4],
      [compared([true, true]), 4],
      [peak(101), 5],
      [{ stage: 'constraints', measured: [] }, 5],
      [{ stage: 'constraints', measured: [{ measure: 'peakBytes', of: null, value: null }] }, 5],
    ];
    for (const [bad, length] of failing) {
      const found = played(all, { ...good, [bad.stage]: bad });
      expect([found.length - 1, found.at(-1)]).toEqual([length, 0]);
    }
    for (const stage of ['submission', 'compile', 'execute', 'compare', 'constraints', 'score'] as const) {
      const lost: Evidence = { stage, kind: 'infrastructure', reason: 'the sandbox was lost' };
      expect(played(all, { ...good, [stage]: lost }).at(-1)).toBeNull();
    }
  });

  it('continues after a failed case if partial answers count, without measuring speed', () => {
    const share = `${CASES}${BOUND}${SPEED.replace('[score]', SHARE.trim())}`;
    const found = played(share, {
      ...good,
      execute: executed([EXITED, { kind: 'timeout' }, EXITED]),
      compare: compared([true, false, true]),
    });
    expect(found).toEqual(['submission', 'execute', 'compare', 'constraints', (0.6 * 2) / 3]);
  });

  it('gives a verdict of the published form, with the same bytes except measurements', () => {
    const evidence = [...answered([true, true, true]), speed(0.7)];
    const [first, second] = [verdict(`${CASES}${SPEED}`, evidence), verdict(`${CASES}${SPEED}`, evidence)];
    expect(verdictSchema.parse(structuredClone(first))).toEqual(first);
    expect(JSON.stringify(second)).toBe(JSON.stringify(first));
    expect(JSON.stringify(omitMeasurements(first))).not.toMatch(/seconds|errors/);
    const printed = (took: string): Evidence => ({
      stage: 'execute',
      kind: 'suite',
      runs: [{ order: 'listed', ending: EXITED, results: [], problem: null, output: `12 passed in ${took}`, seconds: 1 }],
    });
    const [slow, fast] = ['9.75s', '8.92s'].map((took) => omitMeasurements({ ...first, evidence: [printed(took)] }));
    expect(slow).toEqual(fast);
    const [high, higher] = [101, 102].map((bytes) => omitMeasurements(verdict(`${CASES}${BOUND}`, [...answered([true]), peak(bytes)])));
    expect(high).toEqual(higher);
  });
});

describe('the reward', () => {
  const score = fc.double({ min: 0, max: 1, noNaN: true });
  const weights = fc
    .tuple(fc.double({ min: 0.01, max: 1, noNaN: true }), score, score)
    .map(([correctness, speedWeight, efficiency]) => ({ correctness, speed: speedWeight, efficiency }));
  const measured = fc.option(fc.double(), { nil: undefined });

  it('is in [0, 1], 0 with a closed gate or nothing right, and 1 with everything', () => {
    fc.assert(
      fc.property(weights, score, measured, measured, fc.constantFrom<(0 | 1)[]>(0, 1), (terms, correctness, fast, small, gate) => {
        const reward = computeReward(gate, weighComponents({ weights: terms }, { correctness, speed: fast, efficiency: small }));
        const nothing = computeReward(1, weighComponents({ weights: terms }, { correctness: 0, speed: fast, efficiency: small }));
        const everything = computeReward(1, weighComponents({ weights: terms }, { correctness: 1, speed: 1, efficiency: 1 }));
        expect([reward >= 0 && reward <= 1, gate === 1 || reward === 0, nothing, everything]).toEqual([true, true, 0, 1]);
      }),
    );
  });

  it('never falls when more is right, and shaping never makes up for a case', () => {
    fc.assert(
      fc.property(weights, score, score, measured, measured, (terms, one, other, fast, small) => {
        const [low, high] = [Math.min(one, other), Math.max(one, other)];
        const rewardAt = (correctness: number, shaped: number | undefined): number =>
          computeReward(1, weighComponents({ weights: terms }, { correctness, speed: shaped, efficiency: small }));
        expect(rewardAt(low, fast)).toBeLessThanOrEqual(rewardAt(high, fast));
        expect(low === high ? true : rewardAt(low, 1) <= rewardAt(high, 0)).toBe(true);
      }),
    );
  });

  it('of a ratio rises from r0 to r1 by its logarithm', () => {
    const terms = { r0: 0.5, r1: 2 };
    expect([0, Number.NaN, 0.5, 1, 2, 100, Infinity].map((ratio) => scoreRatio(ratio, terms))).toEqual([0, 0, 0, 0.5, 1, 1, 1]);
  });

  it('counts cases that the agent was shown, but never only these', () => {
    const text = `${CASES}${SHARE}`;
    expect(verdict(text, answered([true, true, false, false], 2)).reward).toBe(0);
    expect(verdict(text, answered([true, true, true, false], 2)).reward).toBe(0.75);
  });

  it('does not grow when the evidence of a random submission is worse in one case', () => {
    fc.assert(
      fc.property(fc.array(fc.boolean(), { minLength: 1, maxLength: 12 }), fc.nat(), fc.boolean(), (equal, at, isShare) => {
        const text = isShare ? `${CASES}${SHARE}` : CASES;
        const better = equal.map((isEqual, position) => isEqual || position === at % equal.length);
        const [worse, same] = [verdict(text, answered(equal)).reward, verdict(text, answered(better)).reward];
        expect(Number(worse)).toBeLessThanOrEqual(Number(same));
        expect([...answered(equal)].every((one) => evidenceSchema.safeParse(one).success)).toBe(true);
      }),
    );
  });
});

describe('a script that judges', () => {
  const verifier = caseTask({ 'muster.toml': undefined, 'tests/test.sh': 'true' }).steps[0].verifier;
  const judge = (rewardJson: string | null, rewardText: string | null): Pick<Verdict, 'reward' | 'problem'> =>
    reachVerdict(
      verifier,
      [ACCEPTED, { stage: 'execute', kind: 'script', ending: EXITED, rewardJson, rewardText, output: '', seconds: 1 }],
      DIGEST,
    );

  it('gives the reward of its files', () => {
    const given = [
      judge(null, '1\n'),
      judge('{"reward": 0.25, "other": 7}', null),
      judge('{"reward": 1}', '1.0'),
      judge(null, '0'),
      judge(null, null),
    ];
    expect(given.map(({ reward }) => reward)).toEqual([1, 0.25, 1, 0, 0]);
  });

  it('gives no reward when its files are missing, invalid or disagree', () => {
    const broken = [
      judge(null, '1.5'),
      judge(null, 'nan'),
      judge(null, '1 1'),
      judge('{"reward": 1}', '0'),
      judge('{}', null),
      judge('{', '1'),
      judge('{"reward": true}', null),
    ];
    expect(broken.map(({ reward, problem }) => [reward, problem?.kind])).toEqual(broken.map(() => [null, 'verifier']));
    expect(broken[3]?.problem?.detail).toBe('reward.json says 1 and reward.txt says 0; expected the same');
  });
});
