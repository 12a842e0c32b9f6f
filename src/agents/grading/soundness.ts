import { z } from 'zod';
import type { TaskStep } from '../tasks/task.ts';
import { escapeUnprintableLine } from '../../kernel/text/printable.ts';
import type { Evidence } from '../verification/evidence.ts';
import { listLastLines } from '../verification/last-lines.ts';
import type { Verdict } from '../verification/verdict.ts';

/** One of the task's own submissions, and its required score. */
export const trialSchema = z.strictObject({
  name: z.string(),
  role: z.enum(['oracle', 'nop', 'cheat', 'twin']),
  expected: z.union([z.literal(0), z.literal(1)]),
  rewards: z.array(z.number().nullable()).describe('of each time; null where there was none'),
  finding: z
    .enum(['as-expected', 'wrong', 'flaky', 'unknown'])
    .describe('flaky: not the same each time. unknown: the infrastructure failed'),
  detail: z.string().describe('of the first verdict that was not expected; empty when there is none'),
});

/** The findings of `muster task check`. */
export const soundnessSchema = z.strictObject({
  task: z.string(),
  digest: z.string(),
  isSound: z.boolean(),
  trials: z.array(trialSchema),
  notices: z.array(z.string()),
});

export type Trial = z.infer<typeof trialSchema>;
export type Soundness = z.infer<typeof soundnessSchema>;

/** Judges the rewards of one submission. */
export function judgeTrial(expected: 0 | 1, rewards: readonly (number | null)[]): Trial['finding'] {
  if (rewards.length === 0 || rewards.includes(null)) return 'unknown';
  if (new Set(rewards).size > 1) return 'flaky';
  return rewards[0] === expected ? 'as-expected' : 'wrong';
}

/**
 * Finds a submission that scored what it must not, or not the same each time; undefined where there is none. Unknown rewards do not count against a
 * task.
 */
export function findUnsound({ trials }: Soundness): Trial | undefined {
  return trials.find(({ finding }) => finding === 'wrong' || finding === 'flaky');
}

/** Explains why a verdict is not the expected one: what failed, or what accepted a submission that should have failed. */
export function explainVerdict({ problem, stages, evidence }: Verdict, expected: 0 | 1): string {
  if (problem !== null) return problem.detail;
  if (expected === 0) return evidence.flatMap(describeLetThrough).at(-1) ?? 'nothing was judged';
  const failed = stages.filter(({ outcome }) => outcome === 'failed' || outcome === 'infrastructure');
  const why = failed.map(({ stage, detail }) => `${stage}: ${detail}`).join('; ');
  const printed = quotePrinted(evidence.filter(({ stage }) => stage === failed[0]?.stage));
  return printed === '' ? why : `${why}; it printed last: ${printed}`;
}

/** Lines of a program, and characters of them, that an explanation quotes. */
const [QUOTED_LINES, QUOTED] = [5, 400];

function quotePrinted(evidence: readonly Evidence[]): string {
  return escapeUnprintableLine(listLastLines(evidence, QUOTED_LINES).join('\n')).slice(-QUOTED);
}

/** Lists tests that have to begin to pass, and pass in every run although nothing was done. */
export function listPassedAtFirst({ verifier }: Pick<TaskStep, 'verifier'>, { evidence }: Pick<Verdict, 'evidence'>): readonly string[] {
  if (verifier.kind !== 'staged' || verifier.execute.kind !== 'suite') return [];
  const runs = evidence.flatMap((one) => (one.stage === 'execute' && 'runs' in one ? one.runs : []));
  const passes = (test: string): boolean =>
    runs.length > 0 && runs.every(({ results }) => results.some(({ id, status }) => id === test && status === 'passed'));
  return verifier.execute.failToPass.filter(passes);
}

/** Describes the evidence of a deciding stage in favour of the submission. */
function describeLetThrough(evidence: Evidence): readonly string[] {
  if ('kind' in evidence && evidence.kind === 'infrastructure') return [];
  switch (evidence.stage) {
    case 'execute':
      if (evidence.kind === 'script') return ['execute let it through: tests/test.sh gave a reward'];
      if (evidence.kind === 'suite') return ['execute let it through: the tests that count have passed'];
      return [];
    case 'compare': {
      const equal = evidence.cases.filter(({ isEqual }) => isEqual).length;
      return [`compare let it through: ${equal} of ${evidence.cases.length} outputs are what the golden model wrote`];
    }
    case 'submission':
    case 'compile':
    case 'constraints':
    case 'score':
      return [];
  }
}
