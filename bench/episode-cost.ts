import { GCProfiler } from 'node:v8';
import type { Benchmark, Cell, Check } from './benchmark.ts';
import { blockSize, type PlayDeclaration } from '../src/orchestrator/play.ts';
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
const LEAST_OUTCOMES = 50_000;
const SANDBOXES = [10, 100, 2_000];
const EPISODES = [1_000, 10_000, 100_000, 1_000_000];
/** CartPole's time of an episode, and roughly what batching makes of it. */
const FORMS: readonly { readonly play: PlayDeclaration; readonly seconds: number }[] = [
  { play: { mode: 'single' }, seconds: SHORT_SECONDS },
  { play: { mode: 'lockstep', width: 32, block: 128 }, seconds: SHORT_SECONDS / 1.5 },
  { play: { mode: 'vector', width: 256 }, seconds: SHORT_SECONDS / 15 },
];

interface Cost {
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
  readonly peakRssBytes: number;
}

export const episodeCost: Benchmark = {
  name: 'episode-cost',
  summary: "what an episode costs in Muster's main thread, by the number of sandboxes and of episodes",
  async run({ quick, say }) {
    const rows: Cell[][] = [];
    const measure = async (sandboxes: number, episodes: number, seconds: number): Promise<number> => {
      say(`${sandboxes} sandboxes, ${episodes} episodes of ${seconds} s`);
      const cost = await costOf(sandboxes, episodes, seconds, quick ? 1 : 5);
      const { scriptedMicroseconds, summaryMilliseconds, episodesPerRange, allocatedBytes, keptBytes, peakRssBytes } = cost;
      const times = [showSpread(cost.microseconds, 1), scriptedMicroseconds.toFixed(1), summaryMilliseconds.toFixed(0)];
      const memory = [Math.round(allocatedBytes), Math.round(keptBytes / 1000), Math.round(peakRssBytes / 2 ** 20)];
      rows.push([sandboxes, episodes, episodesPerRange.toFixed(0), ...times, ...memory]);
      return cost.microseconds.median;
    };
    const medians = { alone: new Array<number>(), ranges: new Array<number>(), episodes: new Array<number>() };
    const episodes = quick ? 20_000 : 200_000;
    // As many for each sandbox, so that the start and the tail, where ranges are short, count alike.
    const forEach = quick ? 100 : 1_000;
    await costOf(100, 50_000, SHORT_SECONDS, 1);
    for (const count of SANDBOXES) medians.alone.push(await measure(count, episodes, LONG_SECONDS));
    for (const count of SANDBOXES) medians.ranges.push(await measure(count, forEach * count, SHORT_SECONDS));
    for (const count of quick ? EPISODES.slice(0, 2) : EPISODES) medians.episodes.push(await measure(10, count, SHORT_SECONDS));
    const forms: Cell[][] = [];
    for (const { play, seconds } of FORMS) {
      say(`10 sandboxes, ${play.mode}`);
      const cost = await costOf(10, episodes, seconds, quick ? 1 : 5, play);
      forms.push([play.mode, blockSize(play), cost.episodesPerRange.toFixed(0), showSpread(cost.microseconds, 1)]);
    }
    return {
      tables: [
        { title: 'By how episodes are played, on 10 sandboxes', columns: ['', 'a block', 'a range', 'µs'], rows: forms },
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
            'peak MiB',
          ],
          rows,
        },
      ],
      checks: [
        flat('in ranges, from 10 to 2,000 sandboxes', medians.ranges),
        flat('in ranges, from 1,000 to 1,000,000 episodes', medians.episodes),
        flat('each alone, from 10 to 2,000 sandboxes', medians.alone),
      ],
      notes: [
        'µs: processor time, median and range, without that of the scripted runners and their pipes, which is measured for ranges of the same length.',
        'A range of 1 is an episode of 0.3 s, which travels alone: the cost of a message each way, which grows with the sandboxes as the processor\u2019s cache has to hold more of them.',
        'The time to lease sandboxes and to load the policy is not part of it, and the summary, which an evaluation has one of, stands apart. Bytes allocated are for an episode, all of it included. Kept: growth of the heap over one whole evaluation.',
      ],
    };
  },
};

function flat(what: string, medians: readonly number[]): Check {
  const spread = Math.max(...medians) / Math.min(...medians);
  return {
    what: `cost of an episode ${what}`,
    target: 'flat within 20 %',
    measured: `+${((spread - 1) * 100).toFixed(0)} %`,
    met: spread <= 1.2,
  };
}

async function costOf(count: number, episodes: number, seconds: number, repeats: number, play?: PlayDeclaration): Promise<Cost> {
  const size = play ? blockSize(play) : 1;
  const runners = scriptedRunners(seconds, size);
  await using sandboxes = await InMemorySandboxes.warm(count, runners.program);
  await sandboxes.evaluate(Math.max(5_000, 4 * count), undefined, play);
  const played: Timed[] = [];
  let peakRssBytes = 0;
  const watch = setInterval(() => (peakRssBytes = Math.max(peakRssBytes, process.memoryUsage.rss())), 20);
  const { ranges, outcomes } = runners.counts;
  for (let i = 0; i < repeats; i += 1) played.push(await timed(sandboxes, runners, episodes, play));
  const episodesPerRange = (runners.counts.outcomes - outcomes) / (runners.counts.ranges - ranges);
  const scripted: number[] = [];
  for (let i = 0; i < 3; i += 1) scripted.push(await scriptedCost(count, Math.round(episodesPerRange), seconds, size));
  const scriptedMicroseconds = spreadOf(scripted).median;
  const before = ownMemory();
  const profiler = new GCProfiler();
  const usedAtStart = process.memoryUsage().heapUsed;
  profiler.start();
  const summary = await sandboxes.evaluate(episodes, undefined, play);
  const allocated = allocatedBytes(profiler.stop()?.statistics ?? [], usedAtStart, process.memoryUsage().heapUsed);
  const after = ownMemory();
  clearInterval(watch);
  const keptBytes = after.heapBytes + after.externalBytes - before.heapBytes - before.externalBytes;
  return {
    microseconds: spreadOf(played.map(({ microseconds }) => microseconds - scriptedMicroseconds)),
    summaryMilliseconds: spreadOf(played.map((one) => one.summaryMilliseconds)).median,
    scriptedMicroseconds,
    episodesPerRange,
    allocatedBytes: allocated / summary.official.episodes,
    keptBytes,
    peakRssBytes,
  };
}

interface Timed {
  /** Of the main thread for an episode, from the last load to the last report of progress. */
  readonly microseconds: number;
  /** Of the main thread for an evaluation, from the last report of progress on. */
  readonly summaryMilliseconds: number;
}

/** Over as many evaluations as it takes to have enough episodes. */
async function timed(sandboxes: InMemorySandboxes, runners: ScriptedRunners, episodes: number, play?: PlayDeclaration): Promise<Timed> {
  const sum = { playing: 0, summary: 0, outcomes: 0, evaluations: 0 };
  while (sum.outcomes < LEAST_OUTCOMES) {
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
