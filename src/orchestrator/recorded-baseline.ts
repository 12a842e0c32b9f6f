import { z } from 'zod';
import { InputError } from '../kernel/errors.ts';
import { parseDigest, type Digest } from '../kernel/ids.ts';
import { FAILURE_CAUSES, type Outcome } from '../kernel/outcome.ts';
import { assertPlayedOn, checkedRecord, recordedSummarySchema, type Refusal } from './recorded-summary.ts';
import { episodePlanner, type AllocationDeclaration, type SuiteDefinition } from './suite-definition.ts';

/** An evaluation as it was kept, unchecked. */
export interface RecordedFiles {
  readonly summaryFile: string;
  readonly summary: unknown;
  readonly episodesFile: string;
  episodes(): AsyncIterable<{ readonly line: number; readonly value: unknown }>;
}

/** A baseline that was played before: its outcomes stand in for playing it again. */
export interface RecordedBaseline {
  readonly digest: Digest;
  /** Of the indices 0, 1, … without a gap. */
  readonly outcomes: readonly { readonly task: number; readonly outcome: Outcome }[];
}

const NOT_KEPT: Refusal = { code: 'results.invalid', remedy: 'expected what "muster eval --out" writes; record the evaluation again' };

const outcomeSchema = z.discriminatedUnion('kind', [
  // JSON has no infinite numbers: a return that was none is null there, and failed as what it was.
  z.object({ kind: z.literal('completed'), return: z.number(), length: z.int(), metrics: z.record(z.string(), z.number()) }),
  z.object({ kind: z.literal('failed'), cause: z.enum(FAILURE_CAUSES), detail: z.string() }),
  z.object({ kind: z.literal('lost'), detail: z.string() }),
]);

const episodeSchema = z.object({
  index: z.int().min(0),
  task: z.string(),
  environmentSeed: z.int(),
  policySeed: z.int(),
  outcome: outcomeSchema,
});

/**
 * @throws InputError when the files are not what `--out` writes, or were played on another suite or with adaptive allocation: every index must
 * have had the task and the seeds that it has in this suite, whatever its returns.
 */
export async function recordedBaseline(files: RecordedFiles, suite: SuiteDefinition): Promise<RecordedBaseline> {
  const { official } = checkedRecord(recordedSummarySchema, files.summary, files.summaryFile, NOT_KEPT);
  assertPlayedOn(suite, official, files.summaryFile, {
    code: 'comparison.suite-differs',
    remedy: 'evaluate the baseline on this suite, or give its checkpoint in place of its results',
  });
  if (official.allocation === 'adaptive') {
    throw new InputError(
      'comparison.baseline-allocation',
      `${files.summaryFile}: official.allocation: expected "proportional", got "adaptive": the baseline's own returns decided which tasks it played, so its indices are no pairs with those of another checkpoint; evaluate the baseline without "allocation: adaptive", or give its checkpoint in place of its results`,
    );
  }
  return { digest: parseDigest(official.checkpoint.digest), outcomes: await recordedOutcomes(files, suite) };
}

/**
 * Outcomes of an evaluation on this suite, with the tasks that the indices had in it.
 *
 * @param allocation of that evaluation: with adaptive allocation any task of the suite may stand at an index.
 * @throws InputError as `recordedBaseline` does.
 */
export async function recordedOutcomes(
  files: Pick<RecordedFiles, 'episodesFile' | 'episodes'>,
  suite: SuiteDefinition,
  allocation: AllocationDeclaration = 'proportional',
): Promise<RecordedBaseline['outcomes']> {
  const position = new Map(suite.tasks.map(({ name }, task) => [name, task]));
  const plan = episodePlanner(suite);
  const outcomes: RecordedBaseline['outcomes'][number][] = [];
  for await (const { line, value } of files.episodes()) {
    const where = `${files.episodesFile}:${line}`;
    const { index, task, environmentSeed, policySeed, outcome } = checkedRecord(episodeSchema, value, where, NOT_KEPT);
    // Surplus episodes come last and may leave gaps: what follows one has no use.
    if (index > outcomes.length) break;
    const planned = plan(index);
    const played = position.get(task);
    const same =
      index === outcomes.length &&
      played !== undefined &&
      (allocation === 'adaptive' || played === planned.task) &&
      environmentSeed === planned.environmentSeed &&
      policySeed === planned.policySeed;
    if (!same) throw differs(where, index);
    outcomes.push({ task: played, outcome });
  }
  return outcomes;
}

function differs(where: string, index: number): InputError {
  return new InputError(
    'comparison.baseline',
    `${where}: episode ${index} is not what this suite plays at that index; give a directory that "muster eval --out" wrote for this suite, with tasks in proportion to their weights`,
  );
}
