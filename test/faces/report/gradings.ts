import type { Soundness } from '../../../src/agents/grading/soundness.ts';
import type { CandidateEvidence, Preparation } from '../../../src/agents/preparation/preparation-report.ts';
import type { Evidence } from '../../../src/agents/verification/evidence.ts';
import type { Verdict } from '../../../src/agents/verification/verdict.ts';
import type { CheckedTask, GradedSubmission } from '../../../src/faces/report/grading/graded-submission.ts';

const DIGEST = `sha256:${'0123456789abcdef'.repeat(4)}`;

const cases = (text: string): readonly Evidence[] => [
  { stage: 'submission', problem: null, files: 2, bytes: 1234 },
  { stage: 'compile', ending: { kind: 'exited', code: 0 }, output: `sort.c:3: warning: ${text}`, seconds: 0.8 },
  {
    stage: 'execute',
    kind: 'cases',
    seed: '17',
    cases: Array.from({ length: 8 }, (_, at) => ({
      name: `drawn-${at + 1}`,
      isVisible: at === 0,
      inputDigest: DIGEST,
      runs: Array.from({ length: at === 3 ? 2 : 1 }, () => ({
        ending: at === 5 ? ({ kind: 'signal', signal: 'SIGSEGV' } as const) : ({ kind: 'exited', code: 0 } as const),
        outputDigest: DIGEST,
        outputBytes: 120 * at,
        errors: at === 5 ? text : '',
        seconds: 0.021 * (at + 1),
        peakBytes: 9_000_000,
      })),
    })),
  },
  {
    stage: 'compare',
    cases: [
      { name: 'drawn-1', run: 0, isEqual: true, difference: null },
      {
        name: 'drawn-3',
        run: 0,
        isEqual: false,
        difference: `line 2: expected "9", got ${text}`,
        outputs: { expected: '[1, 2, 3, 9, 12, 40]\n', got: `[1, 2, 3, 12, 9, 40]\n${text}` },
      },
    ],
  },
  {
    stage: 'constraints',
    measured: [
      { measure: 'peakBytes', of: null, value: 9_000_000 },
      { measure: 'imports', of: text, found: [text] },
    ],
  },
  {
    stage: 'score',
    kind: 'speed',
    ratio: 1.25,
    low: 1.2,
    high: 1.3,
    pairs: 12,
    turns: [{ name: text, golden: 0.25, candidate: 0.2 }],
    wrong: text,
  },
  { stage: 'score', kind: 'efficiency', measure: 'instructions', golden: 1000, candidate: 1200, wrong: null },
];

const verdict = (text: string, reward: number | null): Verdict => ({
  reward,
  problem: reward === null ? { kind: 'infrastructure', detail: text } : null,
  gate: reward === 0 ? 0 : 1,
  components: [
    { name: 'correctness', weight: 0.7, score: 0.875 },
    { name: 'speed', weight: 0.3, score: null },
  ],
  stages: [
    { stage: 'submission', outcome: 'passed', detail: '' },
    { stage: 'compile', outcome: 'passed', detail: '' },
    { stage: 'execute', outcome: 'failed', detail: `case drawn-6: was ended by SIGSEGV ${text}` },
    { stage: 'compare', outcome: 'failed', detail: text },
    { stage: 'constraints', outcome: 'infrastructure', detail: text },
    { stage: 'score', outcome: 'not-run', detail: '' },
  ],
  evidence: [...cases(text)],
  verifierDigest: DIGEST,
});

/** @param text what comes from the task or from the candidate. */
export function graded(text: string, reward: number | null = 0): GradedSubmission {
  return { task: { id: `examples/${text}`, digest: DIGEST, step: text }, seed: text, verdict: verdict(text, reward) };
}

export function suiteGraded(text: string): GradedSubmission {
  const results = Array.from({ length: 30 }, (_, at) => ({
    id: `${text}::test_${at}`,
    status: at % 7 === 3 ? ('failed' as const) : ('passed' as const),
  }));
  const run = { ending: { kind: 'timeout' } as const, results, problem: text, output: text, seconds: 3 };
  const { verdict: whole, ...rest } = graded(text, null);
  const evidence: Evidence[] = [
    {
      stage: 'execute',
      kind: 'suite',
      runs: [
        { order: 'listed', ...run },
        { order: 'shuffled', ...run },
      ],
    },
    { stage: 'execute', kind: 'script', ending: { kind: 'exited', code: 7 }, rewardJson: text, rewardText: null, output: text, seconds: 1 },
    { stage: 'score', kind: 'infrastructure', reason: text },
    ...cases(text).slice(2, 3),
  ];
  return { ...rest, verdict: { ...whole, evidence } };
}

export function checked(text: string): CheckedTask {
  const trial = (
    role: Soundness['trials'][number]['role'],
    finding: Soundness['trials'][number]['finding'],
    rewards: (number | null)[],
  ) => ({
    name: role === 'cheat' ? text : role,
    role,
    expected: role === 'oracle' || role === 'twin' ? (1 as const) : (0 as const),
    rewards,
    finding,
    detail: finding === 'as-expected' ? '' : text,
  });
  const trials = [
    trial('oracle', 'as-expected', [1, 1]),
    trial('nop', 'as-expected', [0, 0]),
    trial('cheat', 'wrong', [1, 1]),
    trial('twin', 'flaky', [1, 0]),
    trial('cheat', 'unknown', [null, null]),
  ];
  return {
    soundness: { task: `examples/${text}`, digest: DIGEST, isSound: false, trials, notices: [text] },
    submissions: [graded(text, 1), undefined, graded(text), suiteGraded(text), graded(text, null)],
  };
}

/** Two fixes that became tasks, and one that was refused. @param text stands wherever a repository's own words do. */
export function prepared(text: string): Preparation {
  const evidence: CandidateEvidence = {
    language: 'python',
    testSeconds: 0.25,
    failToPass: [text],
    passToPass: 4,
    needNetwork: [text],
    wavering: [{ id: text, cause: 'chance', figure: 'it failed in 9 of 200 runs (4.5 %)', failures: 9, runs: 200 }],
    repeatedRuns: 200,
    leaks: [`reflog: leads to the fix; the task has no history`],
    instruction: { source: 'model', leftOut: [text] },
    tripwires: 3,
    soundness: checked(text).soundness,
  };
  const base = { kind: 'fix', title: text, void: null } as const;
  const sound = { refusal: null, task: { directory: 'a', id: text, digest: DIGEST } };
  return {
    repository: text,
    head: 'a'.repeat(40),
    licence: 'MIT',
    notices: [text],
    refusedBy: { discover: 1 },
    seconds: 362,
    proof: [
      { agent: 'oracle', episodes: 4, mean: 1, isAsExpected: true },
      { agent: 'nop', episodes: 4, mean: null, isAsExpected: false },
    ],
    candidates: [
      { ...base, ...sound, id: 'a1', evidence },
      { ...base, ...sound, id: 'a2', evidence },
      { ...base, id: 'b2', refusal: { step: 'discover', reason: text }, task: null, evidence: {} },
    ],
  };
}
