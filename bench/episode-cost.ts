import { GCProfiler } from 'node:v8';
import type { Benchmark, Cell, Check } from './benchmark.ts';
import { getBlockSize, type PlayDeclaration } from '../src/orchestrator/suite/play.ts';
import { InMemorySandboxes } from './in-memory-sandboxes.ts';
import { ownMemory } from './memory-of.ts';
import { scriptedCost } from './scripted-cost.ts';
import { scriptedRunners, type ScriptedRunners } from './scripted-runner.ts';
import { showSpread, spreadOf, type Spread } from './spread.ts';

/** What the runners claim that an episode takes. As CartPole's: many of them travel in one range, as far as the window allows. */
const SHORT_SECONDS = 0.003;
/** Longer than a range should be: each episode travels alone, whatever the number of sandboxes. */
const LONG_SECONDS = 0.3;
/** In one measurement: the kernel counts processor time in milliseconds. */
const LEAST_OUTCOMES = { full: 50_000, quick: 5_000 };
const SANDBOXES = { full: [10, 100, 2_000], quick: [10, 100] };
const EPISODES = [1_000, 10_000, 100_000, 1_000_000];
interface Form {
  readonly play: PlayDeclaration;
  readonly seconds: number;
}

/** CartPole's time of an episode, and roughly what batching makes of it. */
const FORMS: readonly [Form, ...Form[]] = [
  { play: { mode: 'single' }, seconds: SHORT_SECONDS },
  { play: { mode: 'lockstep', width: 32, block: 128 }, seconds: SHORT_SECONDS / 1.5 },
  { play: { mode: 'vector', width: 256 }, seconds: SHORT_SECONDS / 15 },
];

/** One line of a table. */
interface Setting {
  readonly sandboxes: number;
  readonly episodes: number;
  readonly seconds: number;
  readonly play?: PlayDeclaration;
}

interface Cost extends Setting {
  /**
   * Processor time of the main thread for an episode, from the moment every sandbox has its policy until the last lease has been given back;
   * without that of the scripted runners.
   */
  readonly microseconds: Spread;
  /** Processor time for the figures of one official result, once all episodes are in. */
  readonly summaryMilliseconds: number;
  /** Of the scripted runners and their pipes, for the same ranges without Muster. */
  readonly scriptedMicroseconds: number;
  readonly episodesPerRange: number;
  readonly allocatedBytes: number;
  /** Growth over one evaluation of what garbage collection leaves. */
  readonly keptBytes: number;
}

const SECTIONS = {
  alone: 'each alone, by sandboxes',
  ranges: 'in ranges, by sandboxes',
  episodes: 'in ranges, by episodes',
  forms: 'by how they are played',
};

export const episodeCost: Benchmark = {
  name: 'episode-cost',
  summary: "what an episode costs in Muster's main thread, by the number of sandboxes and of episodes",
  measurements: () => Object.values(SECTIONS),
  async run({ quick, say, measured }) {
    const rounds = quick ? 1 : 7;
    const leastOutcomes = quick ? LEAST_OUTCOMES.quick : LEAST_OUTCOMES.full;
    const counts = quick ? SANDBOXES.quick : SANDBOXES.full;
    const episodes = quick ? 5_000 : 200_000;
    // As many for each sandbox, so that the start and the tail, where ranges are short, count alike.
    const forEach = quick ? 100 : 1_000;
    const sideBySide = (what: string, settings: readonly Setting[]): Promise<readonly Cost[]> =>
      measured(what, () => costsOf(settings, { rounds, leastOutcomes }, say));
    const alone = counts.map((sandboxes) => ({ sandboxes, episodes, seconds: LONG_SECONDS }));
    const ranges = counts.map((sandboxes) => ({ sandboxes, episodes: forEach * sandboxes, seconds: SHORT_SECONDS }));
    const many = (quick ? EPISODES.slice(0, 2) : EPISODES).map((count) => ({ sandboxes: 10, episodes: count, seconds: SHORT_SECONDS }));
    const forms = FORMS.map(({ play, seconds }) => ({ sandboxes: 10, episodes, seconds, play }));
    const costs = {
      alone: await sideBySide(SECTIONS.alone, alone),
      ranges: await sideBySide(SECTIONS.ranges, ranges),
      episodes: await sideBySide(SECTIONS.episodes, many),
      forms: await sideBySide(SECTIONS.forms, forms),
    };
    return {
      tables: [
        {
          title: 'By how episodes are played, on 10 sandboxes',
          columns: ['', 'a block', 'a range', 'µs'],
          rows: costs.forms.map(({ play = FORMS[0].play, episodesPerRange, microseconds }) => [
            play.mode,
            getBlockSize(play),
            episodesPerRange.toFixed(0),
            showSpread(microseconds, 1),
          ]),
        },
        {
          title: "Of Muster's main thread, for an episode",
          columns: [
            'sandboxes',
            'episodes',
            'a range',
            'µs',
            'µs of the scripted runner',
            'ms of the summary',
            'bytes allocated',
            'KB kept',
          ],
          rows: [...costs.alone, ...costs.ranges, ...costs.episodes].map(rowOf),
        },
      ],
      checks: [
        flat(`in ranges, from 10 to ${(counts.at(-1) ?? 10).toLocaleString('en')} sandboxes`, costs.ranges),
        flat(`in ranges, from 1,000 to ${(many.at(-1)?.episodes ?? 1_000).toLocaleString('en')} episodes`, costs.episodes),
        flat(`each alone, from 10 to ${(counts.at(-1) ?? 10).toLocaleString('en')} sandboxes`, costs.alone),
      ],
      notes: [
        'Lines that are compared are measured in turn, round after round: a machine that grows slower does so for all of them.',
        'µs: processor time, median and range of the rounds, without that of the scripted runners and their pipes, which is measured in the same round for ranges of the same length.',
        'A range of 1 is an episode of 0.3 s, which travels alone: the cost of a message each way, which grows with the sandboxes as the processor\u2019s cache has to hold more of them.',
        'The time to lease sandboxes and to load the policy is not part of it, and the summary, which an evaluation has one of, stands apart. Bytes allocated are for an episode, all of it included. Kept: growth of the heap over one whole evaluation.',
        `Memory of the process in all of it: ${(process.resourceUsage().maxRSS / 1024).toFixed(0)} MiB at the most.`,
      ],
    };
  },
};

function rowOf(cost: Cost): Cell[] {
  const { sandboxes, episodes, episodesPerRange, microseconds, scriptedMicroseconds, summaryMilliseconds } = cost;
  const times = [showSpread(microseconds, 1), scriptedMicroseconds.toFixed(1), summaryMilliseconds.toFixed(0)];
  return [sandboxes, episodes, episodesPerRange.toFixed(0), ...times, Math.round(cost.allocatedBytes), Math.round(cost.keptBytes / 1000)];
}

function flat(what: string, costs: readonly Cost[]): Check {
  const medians = costs.map(({ microseconds }) => microseconds.median);
  const spread = Math.max(...medians) / Math.min(...medians);
  return {
    what: `cost of an episode ${what}`,
    target: 'flat within 20 %',
    measured: `+${((spread - 1) * 100).toFixed(0)} %`,
    met: spread <= 1.2,
  };
}

interface Repetition {
  readonly rounds: number;
  readonly leastOutcomes: number;
}

async function costsOf(
  settings: readonly Setting[],
  { rounds, leastOutcomes }: Repetition,
  say: (text: string) => void,
): Promise<readonly Cost[]> {
  await using stack = new AsyncDisposableStack();
  const subjects: Subject[] = [];
  for (const setting of settings) subjects.push(stack.use(await Subject.open(setting)));
  // The compiler has not seen the first round's paths yet.
  for (let round = 0; round <= rounds; round += 1) {
    say(`round ${round} of ${rounds}`);
    for (const subject of subjects) await subject.play(round > 0, leastOutcomes);
  }
  const costs: Cost[] = [];
  for (const subject of subjects) costs.push(await subject.cost());
  return costs;
}

interface Round extends Timed {
  readonly scripted: number;
  readonly episodesPerRange: number;
}

/** Sandboxes of one setting, and what was measured on them. */
class Subject implements AsyncDisposable {
  readonly #setting: Setting;
  readonly #runners: ScriptedRunners;
  readonly #sandboxes: InMemorySandboxes;
  readonly #played: Round[] = [];

  private constructor(setting: Setting, runners: ScriptedRunners, sandboxes: InMemorySandboxes) {
    this.#setting = setting;
    this.#runners = runners;
    this.#sandboxes = sandboxes;
  }

  static async open(setting: Setting): Promise<Subject> {
    const { sandboxes: count, seconds, play } = setting;
    const runners = scriptedRunners(seconds, play ? getBlockSize(play) : 1);
    const sandboxes = await InMemorySandboxes.warm(count, runners.program);
    await sandboxes.evaluate(Math.max(5_000, 4 * count), undefined, play);
    return new Subject(setting, runners, sandboxes);
  }

  async play(isCounted: boolean, leastOutcomes: number): Promise<void> {
    const { sandboxes: count, episodes, seconds, play } = this.#setting;
    const { ranges, outcomes } = this.#runners.counts;
    const played = await timed(this.#sandboxes, this.#runners, { episodes, leastOutcomes, play });
    const episodesPerRange = (this.#runners.counts.outcomes - outcomes) / (this.#runners.counts.ranges - ranges);
    const scripted = await scriptedCost({
      count,
      episodes: 2 * leastOutcomes,
      episodesPerRange: Math.round(episodesPerRange),
      secondsPerEpisode: seconds,
      blockSize: play ? getBlockSize(play) : 1,
    });
    if (isCounted) this.#played.push({ ...played, scripted, episodesPerRange });
  }

  async cost(): Promise<Cost> {
    const { episodes, play } = this.#setting;
    const before = ownMemory();
    const profiler = new GCProfiler();
    const usedAtStart = process.memoryUsage().heapUsed;
    profiler.start();
    const summary = await this.#sandboxes.evaluate(episodes, undefined, play);
    const allocated = allocatedBytes(profiler.stop()?.statistics ?? [], usedAtStart, process.memoryUsage().heapUsed);
    const after = ownMemory();
    const of = (figure: (one: Round) => number): Spread => spreadOf(this.#played.map(figure));
    return {
      ...this.#setting,
      microseconds: of((one) => one.microseconds - one.scripted),
      summaryMilliseconds: of((one) => one.summaryMilliseconds).median,
      scriptedMicroseconds: of((one) => one.scripted).median,
      episodesPerRange: of((one) => one.episodesPerRange).median,
      allocatedBytes: allocated / summary.official.episodes,
      keptBytes: after.heapBytes + after.externalBytes - before.heapBytes - before.externalBytes,
    };
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#sandboxes[Symbol.asyncDispose]();
  }
}

interface Timed {
  /** Of the main thread for an episode, from the last load to the last report of progress. */
  readonly microseconds: number;
  /** Of the main thread for an evaluation, from the last report of progress on. */
  readonly summaryMilliseconds: number;
}

/** Over as many evaluations as it takes to have enough episodes. */
async function timed(
  sandboxes: InMemorySandboxes,
  runners: ScriptedRunners,
  {
    episodes,
    leastOutcomes,
    play,
  }: { readonly episodes: number; readonly leastOutcomes: number; readonly play: PlayDeclaration | undefined },
): Promise<Timed> {
  const sum = { playing: 0, summary: 0, outcomes: 0, evaluations: 0 };
  while (sum.outcomes < leastOutcomes) {
    let mark = { micros: 0, outcomes: 0 };
    let played = 0;
    runners.onLoad = () => (mark = { micros: threadMicros(), outcomes: runners.counts.outcomes });
    await sandboxes.evaluate(episodes, () => (played = threadMicros()), play);
    sum.playing += played - mark.micros;
    sum.summary += threadMicros() - played;
    sum.outcomes += runners.counts.outcomes - mark.outcomes;
    sum.evaluations += 1;
  }
  return { microseconds: sum.playing / sum.outcomes, summaryMilliseconds: sum.summary / sum.evaluations / 1000 };
}

function threadMicros(): number {
  const { user, system } = process.threadCpuUsage();
  return user + system;
}

interface Collection {
  readonly beforeGC: { readonly heapStatistics: { readonly usedHeapSize: number } };
  readonly afterGC: { readonly heapStatistics: { readonly usedHeapSize: number } };
}

/** The heap's growth between collections, summed. */
function allocatedBytes(collections: readonly Collection[], atStart: number, atEnd: number): number {
  let sum = 0;
  let last = atStart;
  for (const { beforeGC, afterGC } of collections) {
    sum += Math.max(0, beforeGC.heapStatistics.usedHeapSize - last);
    last = afterGC.heapStatistics.usedHeapSize;
  }
  return sum + Math.max(0, atEnd - last);
}
