import { z } from 'zod';
import type { PoolState, PoolTotals } from '../../pool/members/pool-state.ts';
import { FAILURE_CAUSES } from '../../kernel/outcome.ts';
import { LIMIT_NAMES } from '../../pool/ports/template.ts';
import type { Arm } from '../arm/arm.ts';
import type { SuiteDefinition } from '../suite/suite-definition.ts';
import type { Timings } from './progress.ts';

const enforcementSchema = z.strictObject({ scope: z.enum(['tree', 'process', 'none']), by: z.string() });

const poolFactsSchema = z.strictObject({
  provider: z.string(),
  template: z.string(),
  mechanism: z.string(),
  limits: z.partialRecord(z.enum(LIMIT_NAMES), enforcementSchema),
  unverified: z
    .array(z.string())
    .optional()
    .describe('limits that the platform has to enforce and Muster has not verified: a sentence each'),
  sandboxesMax: z.int(),
  created: z.int(),
  destroyed: z.int(),
  died: z.int(),
  failed: z.int(),
  swept: z.int(),
});

/** Facts that depend on time and machine: beside the official result, never in it. */
export const runFactsSchema = z.strictObject({
  startedAt: z.iso.datetime(),
  seconds: z.number().describe('wall clock, from the request to the summary'),
  firstEpisodeSeconds: z.number().optional().describe('from the request to the first outcome'),
  episodesPerSecond: z.number().describe('outcomes in all, by the time from the first outcome on'),
  episodeSeconds: z
    .strictObject({ mean: z.number(), p50: z.number(), p95: z.number(), max: z.number() })
    .nullable()
    .describe('of an episode, as the runners measured it'),
  forwardShare: z
    .number()
    .min(0)
    .max(1)
    .optional()
    .describe("of the episodes' time, what the policy's forward passes took, as the runners measured it; left out when none does"),
  sharedFailures: z
    .int()
    .optional()
    .describe(
      'episodes that failed with others of their block, because the process that played them ended or hung; left out when there is none',
    ),
  errors: z
    .array(
      z.strictObject({
        checkpoint: z.string().describe('digest'),
        cause: z.enum(FAILURE_CAUSES),
        episodes: z.int().describe('of the result: how many failed with it; errors that differ in numbers and addresses alone are one'),
        firstIndex: z.int(),
        detail: z.string().describe('of the first of them: what was raised, and where; shortened'),
      }),
    )
    .optional()
    .describe('the first distinct errors of each checkpoint, in the order of their first episodes; left out when no episode failed'),
  otherErrors: z.int().optional().describe('failed episodes of the result with errors beyond these; left out when there is none'),
  remarks: z.array(z.string()).optional().describe('what runners had to say of checkpoint and suite, each once'),
  sandboxSeconds: z.number().describe('for how long sandboxes were leased, added up'),
  cost: z.number().nullable().describe('sandboxSeconds at the price of the template; null when it has none'),
  outcomes: z.int().describe('episodes that came to an end, official and surplus'),
  recalled: z.int().optional().describe('taken from the store, where they were, in place of playing them'),
  surplus: z.int().describe('played, but not needed for the official result'),
  retried: z.int().describe('times that an episode was played again because its sandbox was lost'),
  duplicated: z.int().describe('stragglers that were given a second sandbox'),
  nonDeterministic: z.array(z.int()).describe('episodes of which two plays came out differently'),
  deliveries: z
    .partialRecord(z.enum(['upload', 'pull', 'node-cache']), z.int())
    .optional()
    .describe('how often a checkpoint, or the files of a suite, came into a sandbox, and in which way; left out when none had to'),
  pool: poolFactsSchema,
});

export type RunFacts = z.infer<typeof runFactsSchema>;

export interface RunParts {
  readonly arms: readonly Arm[];
  readonly surplus: number;
  readonly timings: Timings;
  readonly sandboxSeconds: number;
  readonly costPerSandboxHour: number | undefined;
  readonly deliveries: RunFacts['deliveries'];
  readonly provider: string;
  readonly template: string;
  readonly sandboxesMax: number;
  readonly pool: PoolState;
  /** The pool's totals when the run began: it may have served others before. */
  readonly poolBefore: PoolTotals;
}

export function runFacts(parts: RunParts): RunFacts {
  const { arms, surplus, timings, sandboxSeconds, costPerSandboxHour, deliveries = {} } = parts;
  const sum = (count: (arm: Arm) => number): number => arms.reduce((total, arm) => total + count(arm), 0);
  const sharedFailures = sum((arm) => arm.sharedFailures);
  const errors = arms.flatMap(({ checkpoint, errors: { groups } }) => groups.map((group) => ({ checkpoint: checkpoint.digest, ...group })));
  const otherErrors = sum((arm) => arm.errors.others);
  const remarks = [...new Set(arms.flatMap((arm) => arm.remarks))];
  return {
    startedAt: timings.startedAt.toISOString(),
    seconds: timings.seconds,
    ...(timings.firstEpisodeSeconds === undefined ? {} : { firstEpisodeSeconds: timings.firstEpisodeSeconds }),
    episodesPerSecond: timings.episodesPerSecond,
    episodeSeconds: timings.episodeSeconds ?? null,
    ...(timings.forwardShare === undefined ? {} : { forwardShare: timings.forwardShare }),
    ...(sharedFailures === 0 ? {} : { sharedFailures }),
    ...(errors.length === 0 ? {} : { errors }),
    ...(otherErrors === 0 ? {} : { otherErrors }),
    ...(remarks.length === 0 ? {} : { remarks }),
    sandboxSeconds,
    cost: costPerSandboxHour === undefined ? null : (sandboxSeconds * costPerSandboxHour) / 3600,
    outcomes: timings.outcomes,
    ...(arms.some(({ recalled }) => recalled !== undefined) ? { recalled: sum(({ recalled }) => recalled ?? 0) } : {}),
    surplus,
    retried: sum(({ dispatcher }) => dispatcher.retried),
    duplicated: sum(({ dispatcher }) => dispatcher.duplicated),
    nonDeterministic: [...new Set(arms.flatMap(({ differing }) => differing))],
    ...(Object.keys(deliveries).length === 0 ? {} : { deliveries }),
    pool: toPoolFacts(parts),
  };
}

function toPoolFacts({ provider, template, sandboxesMax, pool, poolBefore }: RunParts): RunFacts['pool'] {
  return {
    provider,
    template,
    mechanism: pool.isolation?.mechanism ?? 'unknown',
    limits: pool.isolation?.limits ?? {},
    ...(pool.isolation?.unverified ? { unverified: [...pool.isolation.unverified] } : {}),
    sandboxesMax,
    created: pool.totals.created - poolBefore.created,
    destroyed: pool.totals.destroyed - poolBefore.destroyed,
    died: pool.totals.died - poolBefore.died,
    failed: pool.totals.failed - poolBefore.failed,
    swept: pool.swept ?? 0,
  };
}

/** A larger share of the time leads to a warning that recommends batching forward passes. */
const MUCH_FORWARD = 0.5;

/** Lists the warnings that a reader of the result needs, each a sentence. */
export function runWarnings(ending: string, facts: RunFacts, { play }: Pick<SuiteDefinition, 'play'>): string[] {
  const warnings: string[] = [];
  if (ending === 'seconds' || ending === 'cost')
    warnings.push(`the budget of ${ending} ended it: how many episodes it holds depends on the speed of this machine`);
  if (ending === 'interrupted') warnings.push('it was interrupted: the figures are those of the episodes that counted by then');
  if (ending === 'failed') warnings.push('the infrastructure gave out: the figures are those of the episodes that counted by then');
  const differing = facts.nonDeterministic.length;
  if (differing > 0)
    warnings.push(
      `not deterministic: ${differing} episodes that were played twice came out differently; results may change from run to run`,
    );
  if (facts.sharedFailures !== undefined)
    warnings.push(
      `${facts.sharedFailures} episodes failed together with others of their block, whose process ended or hung: their returns depend on each other, which the interval does not allow for`,
    );
  warnings.push(...(facts.remarks ?? []));
  const { forwardShare } = facts;
  if ((play.mode === 'single' || play.width === 1) && forwardShare !== undefined && forwardShare > MUCH_FORWARD)
    warnings.push(
      `${Math.round(100 * forwardShare)} % of the episodes' time went into forward passes of the policy with one observation each: "play" in the suite can batch them, and "muster tune" finds the fastest way`,
    );
  const unenforced = Object.entries(facts.pool.limits).filter(([, { scope }]) => scope === 'none');
  if (unenforced.length > 0)
    warnings.push(`not enforced on this machine: ${unenforced.map(([name]) => name).join(', ')}; see "muster doctor"`);
  warnings.push(...(facts.pool.unverified ?? []));
  return warnings;
}
