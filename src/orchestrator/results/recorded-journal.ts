import type { EpisodeJournal } from '../../evaluation-store/episode-journal.ts';
import type { StoredEpisode } from '../../evaluation-store/episode-log.ts';
import { InputError } from '../../kernel/errors.ts';
import type { Digest } from '../../kernel/ids.ts';
import { readRecordedEpisodes, type EpisodeLines } from './recorded-episodes.ts';
import type { AllocationDeclaration, SuiteDefinition } from '../suite/suite-definition.ts';

/**
 * Opens the episodes that an interrupted run stored of a checkpoint, for the run that resumes it: they count without being played again. Episodes
 * that the infrastructure lost are left out, and so are played again. New episodes are not added, as the results directory stores them.
 *
 * @param allocation of that run: with adaptive allocation any task of the suite may be at an index. @throws InputError when a line is not an episode
 * of this suite.
 */
export async function openRecordedJournal(
  files: EpisodeLines,
  suite: SuiteDefinition,
  played: Digest,
  allocation: AllocationDeclaration,
): Promise<EpisodeJournal> {
  const known = new Map<number, StoredEpisode>();
  for await (const episode of readRecordedEpisodes(files, suite, allocation)) {
    const { where, index, checkpoint, task, outcome, seconds, log, usage, isOfSuite } = episode;
    if (checkpoint !== played) continue;
    if (task === undefined || !isOfSuite) throw createOtherSuiteError(where, index);
    if (outcome.kind === 'lost' || known.has(index)) continue;
    known.set(index, { index, task, outcome, seconds, ...(log === undefined ? {} : { log }), ...(usage && { usage }) });
  }
  const indices = [...known.keys()].sort((a, b) => a - b);
  return {
    append: () => Promise.resolve(),
    readKnown: (from, to) => {
      const episodes = indices
        .slice(findFirstAtLeast(indices, from), findFirstAtLeast(indices, to))
        .flatMap((index) => known.get(index) ?? []);
      return Promise.resolve({ episodes, next: indices[findFirstAtLeast(indices, to)] });
    },
  };
}

/** Finds the position of the first index that is not below `bound`, by bisection. */
function findFirstAtLeast(indices: readonly number[], bound: number): number {
  let [low, high] = [0, indices.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((indices[middle] ?? bound) < bound) low = middle + 1;
    else high = middle;
  }
  return low;
}

function createOtherSuiteError(where: string, index: number): InputError {
  return new InputError(
    'results.differ',
    `${where}: episode ${index} has another task or other seeds than this suite plays at that index; name a new directory for --out`,
  );
}
