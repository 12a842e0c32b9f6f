import { availableParallelism } from 'node:os';
import type { Benchmark, Check, Report, Table } from './benchmark.ts';
import { type Acted, type BareLoad, countTurns, LATENCY_MS, type Load, play, playBare, type Size } from './rollout-plays.ts';

const TURNS = 10;
/** What these cost more, and take longer, is what turns do: the rest is the same for each trajectory. */
const MANY_TURNS = 30;
const TARGET = 0.95;

interface Loads {
  /** So few at a time that processors are idle. */
  readonly few: Load;
  readonly short: Load;
  readonly long: Load;
  readonly bareShort: BareLoad;
  readonly bareLong: BareLoad;
}

const nameOf = (who: string, { atATime, turns }: Size): string => `${who}: trajectories of ${turns} turns, ${atATime} at a time`;

function listSizes(quick: boolean): Readonly<Record<'few' | 'short' | 'long', Size>> {
  const [atATime, rounds] = quick ? [16, 1] : [200, 4];
  const many = { before: atATime, trajectories: atATime * rounds, atATime };
  const few = quick ? 4 : 40;
  return {
    few: { before: few, trajectories: few, atATime: 4, turns: MANY_TURNS },
    short: { ...many, turns: TURNS },
    long: { ...many, turns: MANY_TURNS },
  };
}

export const rolloutLoad: Benchmark = {
  name: 'rollout-load',
  summary: 'turns a second of many trajectories at a time against a model that answers after 50 ms, and what a turn costs Muster',
  measurements(quick) {
    const { few, short, long } = listSizes(quick);
    return [nameOf('Muster', few), nameOf('Muster', short), nameOf('bare', short), nameOf('bare', long), nameOf('Muster', long)];
  },
  async run({ quick, measured }) {
    const sizes = listSizes(quick);
    const few = await measured(nameOf('Muster', sizes.few), () => play(sizes.few));
    const short = await measured(nameOf('Muster', sizes.short), () => play(sizes.short));
    const bareShort = await measured(nameOf('bare', sizes.short), () => playBare(sizes.short));
    const bareLong = await measured(nameOf('bare', sizes.long), () => playBare(sizes.long));
    const long = await measured(nameOf('Muster', sizes.long), () => play(sizes.long));
    return report({ few, short, long, bareShort, bareLong });
  },
};

function report(loads: Loads): Report {
  const { few, short, long } = loads;
  const fewRate = few.atATime / few.secondsOfTurn;
  const ideal = few.atATime / few.secondsOfAnswer;
  return {
    tables: [
      {
        title: 'Turns a second, while trajectories act and processors are idle',
        columns: ['at a time', 'an answer of the model (ms)', 'ideal', 'Muster', 'of the ideal'],
        rows: [[few.atATime, (1000 * few.secondsOfAnswer).toFixed(1), ideal.toFixed(1), fewRate.toFixed(1), percent(fewRate / ideal)]],
      },
      describeMany(loads),
      {
        title: `${short.trajectories} trajectories, ${short.atATime} at a time, with exact tokens, graded and acknowledged`,
        columns: ['turns of each', "Muster's process (ms of a processor a turn)", 'the same for those before', "Muster's memory (MB)"],
        rows: [short, long].map((load) => [
          load.turns,
          costOfTurn(load).toFixed(2),
          (load.beforeMs / (load.before * load.turns)).toFixed(2),
          load.megabytes.toFixed(0),
        ]),
      },
      describeParts(loads),
    ],
    checks: [toCheck(`turns a second, ${few.atATime} trajectories at a time`, fewRate / ideal), costCheck(short)],
    notes: [
      `A server has played ${few.before} trajectories before those that are measured at ${few.atATime} at a time, and ${short.before} before the others: it opens stores, starts the processes that fork sandboxes, and compiles its own code meanwhile.`,
      `The ideal: for each trajectory at a time, an answer of the model begins when the one before has ended. A model waits for ${LATENCY_MS} ms; reading the request and its timer come on top.`,
      `Of ${few.atATime} at a time, the rate follows from the time between a trajectory's first request and its last answer. Of ${short.atATime} at a time, it is all turns in the time of all: the client's with the starts of workspaces, Muster's also until the last one is graded. Where nearly all of the processors is used, they bound the rate, and a turn's share of the whole machine says by how much.`,
      'The client asks the same model and carries the calls out in the same workspaces; it checks, records, stores and grades nothing. Model, client or Muster, and sandboxes share the processors: with so many at a time these bound the rate, and what Muster does beside acting comes out of it.',
      "Muster's own cost is that of its process: workspaces begun, requests, actions, grading begun and judged, storing, handing over. In sandboxes there are the walls, the workspace's program and what agent and verifier run. The client has the same workspaces and no verifier: what Muster's sandboxes take beyond the client's is for grading. All processes are what the machine was busy with: run it alone.",
    ],
  };
}

function describeMany({ short, long, bareShort, bareLong }: Loads): Table {
  const row = (who: string, load: Acted): readonly (string | number)[] => [
    who,
    load.turns,
    ((1000 * load.atATime) / LATENCY_MS).toFixed(0),
    (countTurns(load) / load.seconds).toFixed(0),
    (load.machineMs / countTurns(load)).toFixed(2),
    percent(load.machineMs / (1000 * load.seconds * availableParallelism())),
  ];
  return {
    title: `Turns a second, ${short.atATime} at a time, while processors are busy`,
    columns: [
      '',
      'turns of each',
      'by latency alone',
      'turns a second',
      'the whole machine (ms of a processor a turn)',
      `of ${availableParallelism()} processors`,
    ],
    rows: [row('the client', bareShort), row('the client', bareLong), row('Muster', short), row('Muster', long)],
  };
}

function describeParts({ short, long, bareShort, bareLong }: Loads): Table {
  const split = (what: string, ofShort: number, ofLong: number): readonly string[] => {
    const ofTurn = (ofLong - ofShort) / (countTurns(long) - countTurns(short));
    const ofStart = (ofShort - ofTurn * countTurns(short)) / short.trajectories;
    return [what, ofStart.toFixed(1), ofTurn.toFixed(2), (ofShort / countTurns(short)).toFixed(2)];
  };
  return {
    title: 'Processor time by part (ms)',
    columns: ['', 'of each trajectory', 'of each turn', `both, for each of ${TURNS} turns`],
    rows: [
      split("Muster's process", short.parts.server, long.parts.server),
      split('processes that fork its sandboxes', short.parts.wardens, long.parts.wardens),
      split('its sandboxes', short.parts.sandboxes, long.parts.sandboxes),
      split("of these, the workspaces, as the client's", bareShort.sandboxMs, bareLong.sandboxMs),
      split(
        "of these, grading sandboxes and the verifier's programs",
        short.parts.sandboxes - bareShort.sandboxMs,
        long.parts.sandboxes - bareLong.sandboxMs,
      ),
      split('all processes, with Muster', short.machineMs, long.machineMs),
      split('all processes, with the client', bareShort.machineMs, bareLong.machineMs),
    ],
  };
}

function toCheck(what: string, share: number): Check {
  return { what, target: `≥ ${percent(TARGET)} of the ideal`, measured: percent(share), met: share >= TARGET };
}

function costOfTurn(load: Load): number {
  return load.parts.server / countTurns(load);
}

function costCheck(load: Load): Check {
  const cost = costOfTurn(load);
  return { what: "Muster's processor for a turn", target: '≤ 2 ms', measured: `${cost.toFixed(2)} ms`, met: cost <= 2 };
}

function percent(share: number): string {
  return `${(100 * share).toFixed(0)} %`;
}
