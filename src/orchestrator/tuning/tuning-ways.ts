import { getBlockSize, getDefaultBlockSize, type PlayDeclaration } from '../suite/play.ts';

/** A way of playing a suite that may be the fastest. */
export interface Way {
  readonly play: PlayDeclaration;
  /** At a time. */
  readonly sandboxes: number;
}

/** What a way came to, as far as choosing further ways goes. */
export interface TimedWay {
  readonly way: Way;
  readonly episodesPerSecond: number;
}

const LOCKSTEP_WIDTHS = [4, 16, 64];
const VECTOR_WIDTHS = [16, 128, 1024];
/** Ways of playing that are tried with other numbers of sandboxes. */
const CONTENDERS = 2;

/** Trials at most, of both rounds: the time for one is chosen by it. */
export const MOST_TRIALS = 1 + LOCKSTEP_WIDTHS.length + VECTOR_WIDTHS.length + 2 * CONTENDERS;

/** What bounds the ways that are worth a trial. */
export interface TuningBounds {
  /** Of this machine. */
  readonly processors: number;
  /** That the pool may have. */
  readonly sandboxes: number;
  /** That an evaluation of the suite plays at most. */
  readonly episodes: number;
}

/** The first round: every way of playing, with a sandbox for each processor. */
export function listWaysOfPlaying(bounds: TuningBounds): readonly Way[] {
  const sandboxes = Math.min(bounds.processors, bounds.sandboxes);
  const plays: PlayDeclaration[] = [
    { mode: 'single' },
    ...LOCKSTEP_WIDTHS.map((width) => ({ mode: 'lockstep', width, block: getDefaultBlockSize(width) }) as const),
    ...VECTOR_WIDTHS.map((width) => ({ mode: 'vector', width }) as const),
  ];
  return plays.map((play) => ({ play, sandboxes })).filter((way) => isFilled(way, bounds));
}

/** The second round: the fastest of the first with more sandboxes, which pays where sandboxes wait for something else than a processor. */
export function listWaysWithMoreSandboxes(timed: readonly TimedWay[], bounds: TuningBounds): readonly Way[] {
  const contenders = sortByFallingSpeed(timed).slice(0, CONTENDERS);
  const counts = new Set([Math.min(2 * bounds.processors, bounds.sandboxes), bounds.sandboxes]);
  counts.delete(Math.min(bounds.processors, bounds.sandboxes));
  const ways = contenders.flatMap(({ way }) => Array.from(counts, (sandboxes) => ({ ...way, sandboxes })));
  return ways.filter((way) => isFilled(way, bounds));
}

/** Whether an evaluation has a block for every sandbox: else it plays more than is needed, or leaves sandboxes without work. */
function isFilled({ play, sandboxes }: Way, { episodes }: TuningBounds): boolean {
  return play.mode === 'single' || sandboxes * getBlockSize(play) <= episodes;
}

/** Undefined when there is none. */
export function findFastest(timed: readonly TimedWay[]): TimedWay | undefined {
  return sortByFallingSpeed(timed)[0];
}

function sortByFallingSpeed(timed: readonly TimedWay[]): TimedWay[] {
  return timed.toSorted((a, b) => b.episodesPerSecond - a.episodesPerSecond);
}
