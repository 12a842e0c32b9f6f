import { seededRandom } from '../aggregation/seeded-random.ts';
import { SOURCES, Stage } from '../end-to-end/stage.ts';
import type { PostgresServer } from '../support/postgres-server.ts';
import { ask, type Answered } from './caller.ts';
import type { ChaosOrder, ChaosPlan, Kill } from './chaos-plan.ts';
import { KillingSpree } from './killing-spree.ts';
import { leftBehind } from './leftovers.ts';
import { MusterPlace } from './muster-place.ts';
import { SandboxKiller } from './sandbox-killer.ts';
import type { Takeover } from './takeover.ts';

/** By the orders' keys. */
export type Answers = ReadonlyMap<string, Answered>;

export interface ChaosOptions {
  readonly plan: ChaosPlan;
  /** As `answerUndisturbed` gives them, for the same orders. */
  readonly undisturbed: Answers;
  /** What several Musters share; without it there is one, with a file of its own. */
  readonly shared?: { readonly postgres: PostgresServer; readonly musters: number };
  /** Tells how far it is. */
  readonly say?: (text: string) => void;
}

export interface ChaosReport {
  readonly evaluations: number;
  readonly episodes: number;
  readonly kills: Readonly<Record<Kill['during'], number>>;
  readonly sandboxes: { readonly seen: number; readonly killed: number };
  /** Evaluations whose answer has episodes in it that a Muster had stored which was killed. */
  readonly resumed: number;
  readonly takeovers: readonly Takeover[];
  /** What went wrong; empty when all is well. */
  readonly wrong: readonly string[];
}

/** Requests that callers have open at a time. */
const OPEN_AT_A_TIME = 4;
const OWNERSHIP_SECONDS = 3;

/** Has everything answered while Musters and sandboxes are killed, and lists where an answer differs from that of the undisturbed run. */
export async function chaos(options: ChaosOptions): Promise<ChaosReport> {
  const { plan, undisturbed, say = () => undefined } = options;
  const episodes = [...undisturbed.values()].reduce((sum, answer) => sum + answer.episodes, 0);
  await using stage = await Stage.open();
  const places = await startServers(stage, options);
  const spree = new KillingSpree({ places: places.all, kills: plan.kills, episodes, store: places.store, say });
  const killer = new SandboxKiller(places.stateDirs, plan.sandboxShare, seededRandom(plan.seed));
  const { answers, wrong } = await answerWhileKilling(plan, places.all, spree, killer);
  const differing = listDifferences(plan, answers, undisturbed);
  const repeated = await repeatedEvaluations(places.all, plan);
  for (const place of places.all) await place.end();
  const left = (await leftBehind(stage, places.stateDirs)).map((what) => `left behind: ${what}`);
  const resumed = [...answers.values()].filter(({ recalled }) => recalled > 0).length;
  const report = { evaluations: answers.size, episodes, kills: spree.done, sandboxes: killer.counts, resumed, takeovers: spree.takeovers };
  return { ...report, wrong: [...wrong, ...differing, ...repeated, ...left, ...listMissingFaults(report, plan, options)] };
}

/** Has everything answered by one undisturbed Muster. It has two sandboxes where the others have four: that changes nothing either. */
export async function answerUndisturbed({ orders }: Pick<ChaosPlan, 'orders'>): Promise<Answers> {
  await using stage = await Stage.open();
  const place = await MusterPlace.prepare(stage, 'undisturbed', configOf(2));
  await place.untilListening(place.start());
  const answers = new Map<string, Answered>();
  await atATime(orders, async (order) => void answers.set(order.key, await ask(place.client, order)));
  await place.end();
  return answers;
}

interface Servers {
  readonly all: readonly MusterPlace[];
  readonly stateDirs: readonly string[];
  /** URL of the database that they share. */
  readonly store: string | undefined;
}

async function startServers(stage: Stage, { shared }: ChaosOptions): Promise<Servers> {
  const store = shared && (await shared.postgres.newDatabase());
  const config = configOf(4, store);
  const names = Array.from({ length: shared?.musters ?? 1 }, (_, at) => `muster-${at}`);
  const all = await Promise.all(names.map((name) => MusterPlace.prepare(stage, name, config)));
  await Promise.all(all.map((place) => place.untilListening(place.start())));
  return { all, stateDirs: all.map(({ stateDir }) => stateDir), store };
}

function configOf(sandboxes: number, store?: string): { readonly server: object } & Record<string, object> {
  return {
    sources: SOURCES,
    server: { reportSeconds: 0.1, ownershipSeconds: OWNERSHIP_SECONDS, pollSeconds: 0.5 },
    // Worn-out sandboxes are replaced, so that there are many to kill.
    pool: { max: sandboxes, episodesPerSandbox: 150 },
    ...(store === undefined ? {} : { store: { url: store } }),
  };
}

async function answerWhileKilling(
  { orders }: ChaosPlan,
  places: readonly MusterPlace[],
  spree: KillingSpree,
  killer: SandboxKiller,
): Promise<{ readonly answers: Answers; readonly wrong: readonly string[] }> {
  const answers = new Map<string, Answered>();
  const answered = new AbortController();
  const killing = killer.run(answered.signal);
  const asking = atATime(orders, async (order, at) => {
    const place = places[at % places.length];
    if (place) answers.set(order.key, await ask(place.client, order, () => spree.submitting()));
  }).finally(() => answered.abort());
  const [, wrong] = await Promise.all([asking, spree.run(answered.signal), killing]);
  return { answers, wrong };
}

function listDifferences({ orders }: ChaosPlan, answers: Answers, undisturbed: Answers): readonly string[] {
  return orders.flatMap(({ key }) => {
    const [expected, found] = [undisturbed.get(key), answers.get(key)];
    if (expected === undefined || found === undefined) return [`${key} has no answer`];
    const gaps = found.sequences.filter((sequence, at) => sequence !== at + 1);
    return [
      ...(expected.official === found.official ? [] : [`${key} (${found.id}) differs:\n  ${expected.official}\n  ${found.official}`]),
      ...(gaps.length === 0 ? [] : [`${key} (${found.id}): the events came as ${found.sequences.join(' ')}`]),
    ];
  });
}

/** A request that was sent again after its server was killed is still one evaluation. */
async function repeatedEvaluations([place]: readonly MusterPlace[], { orders }: ChaosPlan): Promise<readonly string[]> {
  const stored = place ? (await Array.fromAsync(place.client.list({}))).length : 0;
  return stored === orders.length ? [] : [`${orders.length} evaluations were asked for, ${stored} are stored`];
}

/** What would make a run without faults say nothing. */
function listMissingFaults(
  { sandboxes, kills, resumed, takeovers }: Omit<ChaosReport, 'wrong'>,
  plan: ChaosPlan,
  { shared }: ChaosOptions,
): readonly string[] {
  const made = kills.playing + kills.accepting + kills.starting;
  return [
    ...(made === plan.kills.length ? [] : [`${plan.kills.length} kills were planned, ${made} made`]),
    ...(sandboxes.killed >= Math.floor(plan.sandboxShare * sandboxes.seen)
      ? []
      : [`only ${sandboxes.killed} of ${sandboxes.seen} sandboxes were killed`]),
    ...(resumed > 0 ? [] : ['no evaluation was interrupted']),
    ...(shared === undefined || takeovers.length > 0 ? [] : ['no evaluation was taken over']),
  ];
}

async function atATime(orders: readonly ChaosOrder[], act: (order: ChaosOrder, at: number) => Promise<void>): Promise<void> {
  const left = [...orders.entries()];
  const worker = async (): Promise<void> => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) await act(next[1], next[0]);
  };
  await Promise.all(Array.from({ length: OPEN_AT_A_TIME }, worker));
}
