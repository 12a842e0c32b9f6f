import { InputError } from '../../kernel/errors.ts';
import { parseDigest, type Digest } from '../../kernel/ids.ts';
import type { Outcome } from '../../kernel/outcome.ts';
import { readRecordedEpisodes, type EpisodeLines } from './recorded-episodes.ts';
import { assertPlayedOn, parseRecord, NOT_KEPT, recordedSummarySchema } from './recorded-summary.ts';
import type { AllocationDeclaration, SuiteDefinition } from '../suite/suite-definition.ts';

/** A stored evaluation, unchecked. */
export interface RecordedFiles extends EpisodeLines {
  readonly summaryFile: string;
  readonly summary: unknown;
}

/** A baseline that was played before: its outcomes replace playing it again. */
export interface RecordedBaseline {
  readonly digest: Digest;
  /** The outcomes of the indices 0, 1, … without a gap. */
  readonly outcomes: readonly { readonly task: number; readonly outcome: Outcome }[];
}

/**
 * @throws InputError when the files are not written by `--out`, or were played on another suite or with adaptive allocation: every index
 * must have had the task and the seeds that it has in this suite, whatever its returns.
 */
export async function readRecordedBaseline(files: RecordedFiles, suite: SuiteDefinition): Promise<RecordedBaseline> {
  const { official } = parseRecord(recordedSummarySchema, files.summary, files.summaryFile, NOT_KEPT);
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
  return { digest: parseDigest(official.checkpoint.digest), outcomes: await readRecordedOutcomes(files, suite) };
}

/**
 * Reads the outcomes of an evaluation on this suite, with the tasks of their indices.
 *
 * @param allocation of that evaluation: with adaptive allocation any task of the suite may be at an index. @throws InputError as
 * `readRecordedBaseline` does.
 */
export async function readRecordedOutcomes(
  files: EpisodeLines,
  suite: SuiteDefinition,
  allocation: AllocationDeclaration = 'proportional',
): Promise<RecordedBaseline['outcomes']> {
  const outcomes: RecordedBaseline['outcomes'][number][] = [];
  for await (const { where, index, task, outcome, isOfSuite } of readRecordedEpisodes(files, suite, allocation)) {
    // Surplus episodes come last and may leave gaps; what follows a gap is of no use.
    if (index > outcomes.length) break;
    if (index !== outcomes.length || task === undefined || !isOfSuite) throw createDiffersError(where, index);
    outcomes.push({ task, outcome });
  }
  return outcomes;
}

function createDiffersError(where: string, index: number): InputError {
  return new InputError(
    'comparison.baseline',
    `${where}: episode ${index} is not what this suite plays at that index; give a directory that "muster eval --out" wrote for this suite, with tasks in proportion to their weights`,
  );
}
