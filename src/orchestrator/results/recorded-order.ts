import { z } from 'zod';
import { InputError } from '../../kernel/errors.ts';
import { parseDigest } from '../../kernel/ids.ts';
import { FAILURE_POLICIES } from '../../aggregation/folding/scoring.ts';
import type { Checkpoint } from '../../policy-distribution/checkpoint.ts';
import { playDeclarationSchema } from '../suite/play.ts';
import { allocationSchema, stoppingSchema } from '../suite/suite.ts';
import { digestSuite, type SuiteDefinition } from '../suite/suite-definition.ts';
import { NOT_KEPT, parseRecord } from './recorded-summary.ts';
import { digestSchema } from './summary.ts';

/** What was played, as `config.json` of a results directory stores it. */
export interface RecordedOrder {
  readonly suite: SuiteDefinition;
  /** The suite's own modules or tasks. */
  readonly suiteFiles: Checkpoint | undefined;
  /** The checkpoint of an evaluation, or the baseline and then the candidates of a comparison. A recorded baseline has no files. */
  readonly checkpoints: readonly Checkpoint[];
}

const digest = digestSchema.transform(parseDigest);
const entry = { entry: z.string(), kwargs: z.record(z.string(), z.json()) };

const suiteSchema = z
  .object({
    name: z.string(),
    digest,
    tasks: z
      .array(
        z.object({
          name: z.string(),
          weight: z.number().positive(),
          environment: z.object({ ...entry, wrappers: z.array(z.object(entry)) }),
        }),
      )
      .min(1),
    allocation: allocationSchema,
    seed: z.int().min(0),
    actions: z.enum(['deterministic', 'stochastic']),
    bounds: z.object({ low: z.number(), high: z.number() }).optional(),
    failureScores: z.object({ timeout: z.number(), crash: z.number() }),
    declaredScores: z.array(z.enum(['timeout', 'crash'])),
    failures: z.enum(FAILURE_POLICIES),
    episodeSeconds: z.number().positive(),
    play: playDeclarationSchema,
    metrics: z.array(z.string()),
    success: z.object({ threshold: z.number(), k: z.array(z.int()) }).optional(),
    stop: stoppingSchema,
    budget: z.object({ episodes: z.int().optional(), seconds: z.number().optional(), cost: z.number().optional() }),
    template: z.string(),
    filesDigest: digest.optional(),
  })
  .transform(({ bounds, success, filesDigest, budget: { episodes, seconds, cost }, ...rest }): SuiteDefinition => ({
    ...rest,
    bounds,
    success,
    filesDigest,
    budget: { episodes, seconds, cost },
  }));

const fileSchema = z.object({ path: z.string(), size: z.int().min(0), digest });
const checkpointSchema = z.object({
  digest,
  kind: z.enum(['file', 'directory']).default('file'),
  files: z.array(fileSchema).default([]),
  labels: z.object({ run: z.string().exactOptional(), version: z.int().exactOptional() }).default({}),
});

const keptSchema = z.object({
  suite: suiteSchema,
  modules: z.array(fileSchema).optional(),
  checkpoint: checkpointSchema.optional(),
  baseline: checkpointSchema.optional(),
  candidates: z.array(checkpointSchema).default([]),
});

/** @param where the file. @throws InputError `results.invalid` when `--out` did not write it, or it was changed since. */
export function readRecordedOrder(configuration: unknown, where: string): RecordedOrder {
  const { suite, modules, checkpoint, baseline, candidates } = parseRecord(keptSchema, configuration, where, NOT_KEPT);
  if (digestSuite(suite) !== suite.digest)
    throw new InputError(NOT_KEPT.code, `${where}: suite: has another content than its digest says: it was changed; ${NOT_KEPT.remedy}`);
  const files = suite.filesDigest;
  return {
    suite,
    suiteFiles: files && { digest: files, kind: 'directory', files: modules ?? [], labels: {} },
    checkpoints: checkpoint ? [checkpoint] : baseline ? [baseline, ...candidates] : [],
  };
}
