import { z } from 'zod';
import type { SandboxUsage } from '../../kernel/sandbox-usage.ts';
import type { PlayedEpisode } from '../../runner/played-episode.ts';

const count = z.int().min(0);
const sliceSchema = z.strictObject({
  busy: z.number().min(0).max(1).describe('share of the slice in which episodes were played'),
  episodes: count,
  failed: count.describe('of these'),
});

const laneSchema = z.strictObject({
  name: z.string().describe('id of the sandbox; of agents, whose episodes have sandboxes of their own, the number of the place'),
  from: z.number().min(0).describe('seconds from the beginning to when the evaluation got it'),
  until: z.number().min(0).nullable().describe('and to when it gave it back; null while it has it'),
  episodes: count,
  failed: count,
  lost: count.describe('played again elsewhere, or here'),
  cpuSeconds: z.number().min(0).nullable().describe('processor time that it had used since it was made, as of its last episode'),
  peakMemoryBytes: z.number().min(0).nullable().describe('most memory that it had had since it was made, as of its last episode'),
  slices: z.array(sliceSchema).describe('from `from` on; slices in which nothing was played are there, too'),
});

export const sandboxTimelineSchema = z
  .strictObject({
    seconds: z.number().min(0).describe('since the beginning'),
    sliceSeconds: z.number().positive().describe('length of a slice'),
    lanes: z.array(laneSchema).describe('in the order in which the evaluation got them'),
    left: count.describe('how often it got one of further sandboxes, which are left out'),
  })
  .describe('which sandbox has played when');

export type SandboxTimelineDocument = z.infer<typeof sandboxTimelineSchema>;

/** Slices of the whole time. Beyond so many, pairs of slices are merged. */
const MOST_SLICES = 120;
/** Shortest slice. */
const FIRST_SLICE_SECONDS = 0.5;
/** Sandboxes with a lane of their own. For further ones only the number of leases is counted. */
const MOST_LANES = 500;

interface Slice {
  busySeconds: number;
  episodes: number;
  failed: number;
}

interface Lane {
  readonly name: string;
  readonly from: number;
  until: number | undefined;
  lost: number;
  usage: SandboxUsage | undefined;
  readonly slices: Map<number, Slice>;
}

/** When each sandbox of an evaluation played, in slices of time; memory does not depend on the number of episodes. */
export class SandboxTimeline {
  readonly #start: number;
  readonly #lanes = new Map<string, Lane>();
  #left = 0;
  #sliceSeconds = FIRST_SLICE_SECONDS;

  /** @param start milliseconds on the clock, as all times here. */
  constructor(start: number) {
    this.#start = start;
  }

  /** Notes that the evaluation holds the sandbox from now on. A sandbox that returns continues its lane. */
  begin(name: string, now: number): void {
    const known = this.#lanes.get(name);
    if (known) known.until = undefined;
    else if (this.#lanes.size < MOST_LANES)
      this.#lanes.set(name, {
        name,
        from: this.#computeSecondsSinceStart(now),
        until: undefined,
        lost: 0,
        usage: undefined,
        slices: new Map(),
      });
    else this.#left += 1;
  }

  end(name: string, now: number): void {
    const lane = this.#lanes.get(name);
    if (lane) lane.until = this.#computeSecondsSinceStart(now);
  }

  /** Episodes that a sandbox reports together count as played one after the other, the last of them ending now. */
  note(name: string, played: readonly Pick<PlayedEpisode, 'outcome' | 'seconds' | 'usage'>[], now: number): void {
    const lane = this.#lanes.get(name);
    if (!lane) return;
    let end = this.#computeSecondsSinceStart(now);
    while (end >= MOST_SLICES * this.#sliceSeconds) this.#coarsen();
    for (const { outcome, seconds, usage } of played.toReversed()) {
      const slice = this.#getSliceAt(lane, end);
      slice.episodes += 1;
      if (outcome.kind === 'failed') slice.failed += 1;
      if (outcome.kind === 'lost') lane.lost += 1;
      const begin = Math.max(lane.from, end - seconds);
      this.#spread(lane, begin, end);
      end = begin;
      lane.usage ??= usage;
    }
    lane.usage = played.at(-1)?.usage ?? lane.usage;
  }

  read(now: number): SandboxTimelineDocument {
    const lanes = Array.from(this.#lanes.values(), (lane) => this.#readLane(lane));
    return { seconds: this.#computeSecondsSinceStart(now), sliceSeconds: this.#sliceSeconds, lanes, left: this.#left };
  }

  #readLane({ name, from, until, lost, usage, slices }: Lane): SandboxTimelineDocument['lanes'][number] {
    const all = [...slices.values()];
    const last = Math.max(-1, ...slices.keys());
    const first = this.#computeIndex(from);
    return {
      name,
      from,
      until: until ?? null,
      episodes: all.reduce((sum, { episodes }) => sum + episodes, 0),
      failed: all.reduce((sum, { failed }) => sum + failed, 0),
      lost,
      cpuSeconds: usage?.cpuSeconds ?? null,
      peakMemoryBytes: usage?.peakMemoryBytes ?? null,
      slices: Array.from({ length: Math.max(0, last + 1 - first) }, (_, at) => {
        const { busySeconds = 0, episodes = 0, failed = 0 } = slices.get(first + at) ?? {};
        return { busy: Math.min(1, busySeconds / this.#sliceSeconds), episodes, failed };
      }),
    };
  }

  #spread(lane: Lane, begin: number, end: number): void {
    for (let at = this.#computeIndex(begin); at <= this.#computeIndex(end); at += 1) {
      const [from, to] = [at * this.#sliceSeconds, (at + 1) * this.#sliceSeconds];
      const seconds = Math.min(end, to) - Math.max(begin, from);
      if (seconds > 0) this.#getSliceAt(lane, from).busySeconds += seconds;
    }
  }

  #getSliceAt({ slices }: Lane, seconds: number): Slice {
    const at = this.#computeIndex(seconds);
    const slice = slices.get(at) ?? { busySeconds: 0, episodes: 0, failed: 0 };
    slices.set(at, slice);
    return slice;
  }

  /** @param seconds since the start; a sum of rounded times may be slightly below the border of a slice. */
  #computeIndex(seconds: number): number {
    return Math.floor(seconds / this.#sliceSeconds + 1e-9);
  }

  #coarsen(): void {
    this.#sliceSeconds *= 2;
    for (const { slices } of this.#lanes.values()) {
      const before = [...slices];
      slices.clear();
      for (const [at, slice] of before) {
        const half = Math.floor(at / 2);
        const { busySeconds = 0, episodes = 0, failed = 0 } = slices.get(half) ?? {};
        slices.set(half, {
          busySeconds: busySeconds + slice.busySeconds,
          episodes: episodes + slice.episodes,
          failed: failed + slice.failed,
        });
      }
    }
  }

  #computeSecondsSinceStart(now: number): number {
    return Math.max(0, (now - this.#start) / 1000);
  }
}
