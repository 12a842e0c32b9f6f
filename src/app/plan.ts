import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { filesystemSource } from '../adapters/checkpoints/filesystem.ts';
import { assertOneResult } from '../adapters/files/recorded-summaries.ts';
import { openRecordedEvaluation } from '../adapters/files/recorded-evaluation.ts';
import { readSummaryFile } from '../adapters/files/summary-file.ts';
import type { Config } from '../config/config.ts';
import { systemClock } from '../kernel/clock.ts';
import { silentLog } from '../kernel/log.ts';
import { InfrastructureError, getMessage } from '../kernel/errors.ts';
import type { EvaluationPlan } from '../orchestrator/planning/evaluation-plan.ts';
import { planBaseline, type RecordedEvaluation } from '../orchestrator/planning/plan-baseline.ts';
import { planEvaluation } from '../orchestrator/planning/plan-evaluation.ts';
import { defineSuite, type SuiteDefinition } from '../orchestrator/suite/suite-definition.ts';
import { CheckpointStore } from '../policy-distribution/store/checkpoint-store.ts';
import { Pools } from './pools.ts';
import { blameFiles, readOwnSuite, type SuiteInput } from './suites/suite-input.ts';

export interface PlanInput extends SuiteInput {
  /** Path of the results directory of an evaluation on the same suite, or of its summary alone. */
  readonly baseline?: string;
}

/**
 * Forecasts an evaluation without playing or storing anything. Part of the composition root.
 *
 * @throws InputError when suite, baseline or configuration are wrong or do not fit together.
 */
export async function plan(input: PlanInput, config: Config, signal: AbortSignal): Promise<EvaluationPlan> {
  const suite = await defineInput(input, config, signal);
  await using pools = new Pools(config, systemClock, silentLog);
  const { costPerSandboxHour } = pools.getSettings(suite.template);
  const baseline = input.baseline === undefined ? undefined : await planBaseline(await openRecord(resolve(input.baseline)), suite);
  return await planEvaluation({ suite, baseline, sandboxes: config.pool.max, costPerSandboxHour }, signal);
}

/** Reads and checks its modules as an evaluation would, in a temporary store. */
async function defineInput(input: SuiteInput, { checkpoints: limits }: Config, signal: AbortSignal): Promise<SuiteDefinition> {
  const { parsed, directory } = await readOwnSuite(input);
  if (directory === undefined) return defineSuite(parsed, undefined);
  await using scratch = await createScratchDirectory();
  const store = await CheckpointStore.open({ directory: scratch.path, limits, clock: systemClock });
  const { digest } = await blameFiles(parsed, () => store.addDirectory(filesystemSource, directory, signal));
  return defineSuite(parsed, digest);
}

async function createScratchDirectory(): Promise<AsyncDisposable & { readonly path: string }> {
  try {
    return await mkdtempDisposable(join(tmpdir(), 'muster-plan-'));
  } catch (error) {
    throw new InfrastructureError(
      'plan.scratch',
      `no directory can be made in ${tmpdir()}: ${getMessage(error)}; set TMPDIR to one that may be written`,
      {
        cause: error,
      },
    );
  }
}

async function openRecord(path: string): Promise<RecordedEvaluation> {
  const found = await openRecordedEvaluation(path);
  if (found) return found;
  await assertOneResult(path);
  return { summaryFile: path, summary: await readSummaryFile(path) };
}
