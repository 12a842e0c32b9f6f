import type { Benchmark, Check, Report } from './benchmark.ts';
import { type Acted, countTurns, LATENCY_MS, type Load, play, playBare, type Size } from './rollout-plays.ts';

const TURNS = 10;
/** What these cost more, and take longer, is what turns do: the rest is the same for each trajectory. */
const MANY_TURNS = 30;
const TARGET = 0.95;

interface Loads {
  /** So few at a time that processors are idle. */
  readonly few: Load;
  readonly short: Load;
  readonly long: Load;
  readonly bareShort: Acted;
  readonly bareLong: Acted;
}

const nameOf = (who: string, { atATime, turns }: Size): string => `${who}: trajectories of ${turns} turns, ${atATime} at a time`;

function listSizes(quick: boolean): Readonly<Record<'few' | 'short' | 'long', Size>> {
  const [atATime, rounds] = quick ? [16, 1] : [200, 4];
  const many = { trajectories: atATime * rounds, atATime };
  return {
    few: { trajectories: quick ? 4 : 40, atATime: 4, turns: MANY_TURNS },
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

function report({ few, short, long, bareShort, bareLong }: Loads): Report {
  const latencyBound = ({ atATime }: Size): number => (1000 * atATime) / LATENCY_MS;
  const processorBound = rateOf(bareShort, bareLong);
  const fewRate = few.atATime / few.secondsOfTurn;
  const [manyRate, manyIdeal] = [rateOf(short, long), Math.min(latencyBound(short), processorBound)];
  const [fewShare, manyShare] = [fewRate / latencyBound(few), manyRate / manyIdeal];
  const ofTurn = perTurn(short.processorMs, long.processorMs, short);
  return {
    tables: [
      {
        title: 'Turns a second, while trajectories act',
        columns: ['at a time', 'bound by', 'latency alone', 'processors alone', 'Muster', 'of the ideal'],
        rows: [
          [few.atATime, 'latency', latencyBound(few).toFixed(0), '', fewRate.toFixed(0), percent(fewShare)],
          [
            short.atATime,
            manyIdeal === processorBound ? 'processors' : 'latency',
            latencyBound(short).toFixed(0),
            processorBound.toFixed(0),
            manyRate.toFixed(0),
            percent(manyShare),
          ],
        ],
      },
      {
        title: `${short.trajectories} trajectories, ${short.atATime} at a time, with exact tokens, graded and acknowledged`,
        columns: ['turns of each', 'turns a second with starts and grading', "Muster's processor (ms a turn)", "Muster's memory (MB)"],
        rows: [short, long].map((load) => [
          load.turns,
          (countTurns(load) / load.seconds).toFixed(0),
          (load.processorMs / countTurns(load)).toFixed(2),
          load.megabytes.toFixed(0),
        ]),
      },
      {
        title: 'Processor time by part (ms)',
        columns: ['', 'of each trajectory', 'of each turn'],
        rows: [
          ['Muster', ((short.processorMs - ofTurn * countTurns(short)) / short.trajectories).toFixed(1), ofTurn.toFixed(2)],
          ['all processes', ...machineParts(short, long)],
          ['all processes, bare', ...machineParts(bareShort, bareLong)],
        ],
      },
    ],
    checks: [
      toCheck(`turns a second, ${few.atATime} trajectories at a time`, fewShare),
      toCheck(`turns a second, ${short.atATime} trajectories at a time`, manyShare),
      costCheck(short),
    ],
    notes: [
      `Latency alone: an answer of the model every ${LATENCY_MS} ms for each trajectory, with nothing between two answers. Processors alone: the same turns by a client that asks the same model, carries the calls out in the same workspaces, and checks, records, stores and grades nothing. The ideal is the smaller of the two. Model, client or Muster, and sandboxes share the processors.`,
      `Of ${short.atATime} at a time, a rate is that of the turns which a trajectory of ${MANY_TURNS} turns has more than one of ${TURNS}: starts of workspaces and grading are the same for both. Of ${few.atATime} at a time, it follows from the time between a trajectory's first request and its last answer.`,
      'The processor time of Muster is that of its whole process: workspaces begun, actions, grading of each trajectory, storing and handing over. That of all processes is what the machine was busy: run it alone.',
    ],
  };
}

function toCheck(what: string, share: number): Check {
  return { what, target: `≥ ${percent(TARGET)} of the ideal`, measured: percent(share), met: share >= TARGET };
}

function costCheck(load: Load): Check {
  const cost = load.processorMs / countTurns(load);
  return { what: "Muster's processor for a turn", target: '≤ 2 ms', measured: `${cost.toFixed(2)} ms`, met: cost <= 2 };
}

function rateOf(short: Acted, long: Acted): number {
  return (countTurns(long) - countTurns(short)) / (long.seconds - short.seconds);
}

/** Of what short and long trajectories have cost. */
function perTurn(short: number, long: number, { trajectories }: Size): number {
  return (long - short) / (trajectories * (MANY_TURNS - TURNS));
}

function machineParts(short: Acted, long: Acted): readonly [string, string] {
  const ofTurn = perTurn(short.machineMs, long.machineMs, short);
  return [((short.machineMs - ofTurn * countTurns(short)) / short.trajectories).toFixed(1), ofTurn.toFixed(2)];
}

function percent(share: number): string {
  return `${(100 * share).toFixed(0)} %`;
}
