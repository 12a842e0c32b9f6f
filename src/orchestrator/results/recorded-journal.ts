import type { EpisodeJournal } from '../../evaluation-store/episode-journal.ts';
import type { StoredEpisode } from '../../evaluation-store/episode-log.ts';
import { InputError } from '../../kernel/errors.ts';
import { readRecordedEpisodes, type EpisodeLines } from './recorded-episodes.ts';
import type { SuiteDefinition } from '../suite/suite-definition.ts';

/**
 * The episodes that an interrupted evaluation kept, for the one that goes on with it: they count without being played again. Episodes that
 * were lost to the infrastructure are left out, and so are played again. New episodes are not added: the results directory keeps them.
 *
 * @throws InputError when a line is not an episode of this suite.
 */
export async function openRecordedJournal(files: EpisodeLines, suite: SuiteDefinition): Promise<EpisodeJournal> {
  const known = new Map<number, StoredEpisode>();
  for await (const { where, index, task, outcome, seconds, log, usage, isOfSuite } of readRecordedEpisodes(
    files,
    suite,
    suite.allocation,
  )) {
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

/** Position of the first index that is not below `bound`, by bisection. */
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
