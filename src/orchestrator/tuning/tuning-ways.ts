import { getBlockSize, getDefaultBlockSize, type PlayDeclaration } from '../suite/play.ts';

/** A way of playing a suite that may be the fastest. */
export interface Way {
  readonly play: PlayDeclaration;
  /** The number of sandboxes at a time. */
  readonly sandboxes: number;
}

/** The result of a way, as needed to choose further ways. */
export interface TimedWay {
  readonly way: Way;
  readonly episodesPerSecond: number;
}

const LOCKSTEP_WIDTHS = [4, 16, 64];
const VECTOR_WIDTHS = [16, 128, 1024];
/** Ways of playing that are tried with other numbers of sandboxes. */
const CONTENDERS = 2;

/** The largest number of trials of both rounds together, which decides the time for one. */
export const MOST_TRIALS = 1 + LOCKSTEP_WIDTHS.length + VECTOR_WIDTHS.length + 2 * CONTENDERS;

/** What limits the ways that are worth a trial. */
export interface TuningBounds {
  readonly processors: number;
  /** The largest number of sandboxes of the pool. */
  readonly sandboxes: number;
  /** The largest number of episodes of an evaluation of the suite. */
  readonly episodes: number;
}

/** Lists the first round: every way of playing, with one sandbox for each processor. */
export function listWaysOfPlaying(bounds: TuningBounds): readonly Way[] {
  const sandboxes = Math.min(bounds.processors, bounds.sandboxes);
  const plays: PlayDeclaration[] = [
    { mode: 'single' },
    ...LOCKSTEP_WIDTHS.map((width) => ({ mode: 'lockstep', width, block: getDefaultBlockSize(width) }) as const),
    ...VECTOR_WIDTHS.map((width) => ({ mode: 'vector', width }) as const),
  ];
  return plays.map((play) => ({ play, sandboxes })).filter((way) => isFilled(way, bounds));
}

/**
 * Lists the second round: the fastest ways of the first with more sandboxes, which helps where sandboxes wait for something other than a processor.
 */
export function listWaysWithMoreSandboxes(timed: readonly TimedWay[], bounds: TuningBounds): readonly Way[] {
  const contenders = sortByFallingSpeed(timed).slice(0, CONTENDERS);
  const counts = new Set([Math.min(2 * bounds.processors, bounds.sandboxes), bounds.sandboxes]);
  counts.delete(Math.min(bounds.processors, bounds.sandboxes));
  const ways = contenders.flatMap(({ way }) => Array.from(counts, (sandboxes) => ({ ...way, sandboxes })));
  return ways.filter((way) => isFilled(way, bounds));
}

/** Whether an evaluation has a block for every sandbox; otherwise it plays more than it needs, or leaves sandboxes without work. */
function isFilled({ play, sandboxes }: Way, { episodes }: TuningBounds): boolean {
  return play.mode === 'single' || sandboxes * getBlockSize(play) <= episodes;
}

/** Returns undefined when there is none. */
export function findFastest(timed: readonly TimedWay[]): TimedWay | undefined {
  return sortByFallingSpeed(timed)[0];
}

function sortByFallingSpeed(timed: readonly TimedWay[]): TimedWay[] {
  return timed.toSorted((a, b) => b.episodesPerSecond - a.episodesPerSecond);
}
