import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { sleep, systemClock } from '../../src/kernel/clock.ts';
import { MusterServer } from '../../test/end-to-end/muster-server.ts';
import { ANYTHING, CARTPOLE, REPOSITORY, Stage } from '../../test/end-to-end/stage.ts';
import { runnersInside } from '../../test/end-to-end/inside.ts';
import { ANSWER_TASK } from '../../test/support/agent-suite-fixture.ts';
import { writeFiles } from '../../test/support/grading-fixture.ts';
import { ScriptedModelServer } from '../../test/support/model-server.ts';
import { freePort } from '../../test/support/free-port.ts';
import { writeRun } from './blended-checkpoints.ts';
import { playInPictures } from './scripted-model.ts';

/** A real server with real evaluations, for pictures of each view. */

const CHECKPOINTS = join(REPOSITORY, 'examples/game/checkpoints');
const [EARLY, MIDDLE, LATE] = ['early', 'middle', 'late'].map((name) => join(CHECKPOINTS, `${name}.safetensors`));
const TASK = 'fix-bug-in-sort-function';
const VERSIONS = 9;
const DEADLINE_MS = 900_000;

const acceptedSchema = z.looseObject({ id: z.string() });
const startedSchema = z.looseObject({ episode: z.string() });
const leasedSchema = z.looseObject({ items: z.array(z.looseObject({ group: z.string(), lease: z.int() })) });
const stateSchema = z.looseObject({ state: z.string() });

export interface ShownServer extends AsyncDisposable {
  readonly url: string;
  readonly token: string;
  /** Addresses of the page, by the name of their picture. */
  readonly views: Readonly<Record<string, string>>;
  /** Kills the program of one of the server's sandboxes. */
  readonly loseSandbox: () => void;
}

export async function openShownServer(): Promise<ShownServer> {
  await using opening = new AsyncDisposableStack();
  const stage = opening.use(await Stage.open());
  const runs = stage.path('runs');
  await mkdir(runs);
  const falling = await stage.write('falling.json', {
    name: 'falling',
    files: join(REPOSITORY, 'test/end-to-end/suites/environments'),
    environment: 'drawn:Falling',
    failureScores: { timeout: 0, crash: 0 },
    stop: { rule: 'fixed', episodes: 40 },
  });
  await writeFiles(stage.path('tasks/answer'), ANSWER_TASK);
  const code = await stage.write('code.json', { name: 'code', tasks: { from: 'tasks' }, stop: { rule: 'fixed', episodes: 2 } });
  const agent = await stage.write('agent.yaml', 'agent: model\nendpoint: trainer\nmodel: org/policy\ntokenIds: vllm\n');
  const sorting = await stage.write('sorting.json', {
    name: 'sorting',
    tasks: { from: join(REPOSITORY, 'examples/code'), only: [TASK] },
    stop: { rule: 'fixed', episodes: 3 },
  });
  const solution = await readFile(join(REPOSITORY, 'examples/code', TASK, 'solution/sorting.py'), 'utf8');
  const model = opening.use(await ScriptedModelServer.start((asked) => playInPictures(asked, solution)));
  const config = await stage.write('shown.json', {
    stateDir: stage.stateDir,
    sources: { roots: [join(REPOSITORY, 'examples'), ANYTHING, runs, agent] },
    models: { endpoints: { trainer: { url: model.url } } },
    pool: { max: 2 },
    quotas: {
      default: limit(64, 500, '10GB', 1_000_000, 16),
      nightly: limit(32, 20, '2GB', 100_000, 4),
    },
    arena: { tasks: [join(REPOSITORY, 'examples/code')] },
    server: { port: await freePort(), access: 'tokens', suites: { cartpole: CARTPOLE, falling, code, sorting } },
  });
  const token = await stage.token('research', 'operator');
  const nightly = await stage.token('nightly', 'submitter');
  const server = await MusterServer.start(stage, config, { deadlineMs: DEADLINE_MS });
  opening.defer(async () => {
    server.command.signal('SIGTERM');
    await server.command.ended;
  });
  const shown = new Shown(server, token);
  const views = await fill(shown, new Shown(server, nightly), { runs, agent });
  const opened = opening.move();
  const loseSandbox = (): void => runnersInside(stage.stateDir)[0]?.kill();
  return { url: server.url, token, views, loseSandbox, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

function limit(
  concurrentEpisodes: number,
  waitingEvaluations: number,
  checkpointBytes: string,
  episodesPerDay: number,
  open: number,
): object {
  return { concurrentEpisodes, waitingEvaluations, checkpointBytes, episodesPerDay, openEpisodes: open };
}

/** The evaluations that have ended, or are running, when the pictures are taken. */
async function fill(
  research: Shown,
  nightly: Shown,
  { runs, agent }: { readonly runs: string; readonly agent: string },
): Promise<Readonly<Record<string, string>>> {
  const versions = await writeRun('ppo', [EARLY ?? '', MIDDLE ?? '', LATE ?? ''], VERSIONS, runs);
  const ofRun = [];
  for (const [at, uri] of versions.entries())
    ofRun.push(
      await research.evaluate('cartpole', { uri, run: 'ppo-1', version: 10_000 * (at + 1) }, { halfWidth: 18, batch: 'ppo-1 nightly' }),
    );
  const falling = await nightly.evaluate('falling', { uri: ANYTHING, run: 'falling', version: 1 }, { batch: 'ppo-1 nightly' });
  const comparison = await research.send('/v1/comparisons', {
    suite: 'cartpole',
    baseline: { uri: MIDDLE },
    candidates: [{ uri: LATE, run: 'ppo-1', version: 90_000 }, { uri: EARLY }, { uri: versions[5] }],
    margin: 10,
    budgetEpisodes: 1200,
  });
  const compared = acceptedSchema.parse(comparison).id;
  const earlier = await writeRun('a2c', [EARLY ?? '', MIDDLE ?? ''], 5, runs);
  for (const [at, uri] of earlier.entries())
    ofRun.push(await research.evaluate('cartpole', { uri, run: 'a2c-3', version: 20_000 * (at + 1) }, { halfWidth: 22 }));
  const stream = await research.train(agent);
  const episode = await research.playTask();
  const acted = await research.evaluate('sorting', { uri: agent }, {});
  for (const id of [...ofRun, falling, compared, acted]) await research.untilOver(id);
  const running = await nightly.evaluate('cartpole', { uri: versions[7] ?? '', run: 'ppo-2', version: 80_000 }, { halfWidth: 1 });
  await nightly.evaluate('cartpole', { uri: versions[3] ?? '', run: 'ppo-2', version: 40_000 }, { halfWidth: 1 });
  return {
    overview: '/',
    run: '/?run=ppo-1&beside=a2c-3',
    evaluation: `/evaluations/${ofRun[4]}`,
    running: `/evaluations/${running}`,
    beside: `/evaluations/${ofRun[4]}?beside=${ofRun[8]}`,
    comparison: `/evaluations/${compared}?arm=1`,
    episode: `/evaluations/${falling}/episodes/0`,
    turns: `/evaluations/${acted}/episodes/0`,
    batch: '/batches/ppo-1%20nightly',
    agents: '/agents',
    transcript: `/agents/${episode}`,
    rollouts: `/rollouts/${stream}`,
    pools: '/pools',
    access: '/access',
  };
}

/** A client of the server. */
class Shown {
  readonly #server: MusterServer;
  readonly #token: string;

  constructor(server: MusterServer, token: string) {
    this.#server = server;
    this.#token = token;
  }

  async evaluate(
    suite: string,
    checkpoint: object,
    { halfWidth, batch }: { readonly halfWidth?: number; readonly batch?: string },
  ): Promise<string> {
    const stop = halfWidth === undefined ? {} : { stop: { rule: 'certified', halfWidth } };
    const labels = batch === undefined ? {} : { labels: { batch } };
    return acceptedSchema.parse(await this.send('/v1/evaluations', { suite, checkpoint, ...stop, ...labels })).id;
  }

  /** Acts as a trainer: takes groups, reports versions, and is slow with the last groups. @returns the stream. */
  async train(agent: string): Promise<string> {
    const terms = { groupSize: 4, concurrency: 8, batch: 2, maxStaleness: 1 };
    const { id } = acceptedSchema.parse(await this.send('/v1/rollouts', { suite: 'code', agent: { uri: agent }, ...terms }));
    for (let version = 1; version <= 3; version += 1) {
      for (let taken = 0; taken < terms.batch; taken += 1) {
        const items = await this.#lease(id);
        await this.send(`/v1/rollouts/${id}/ack`, { groups: items.map(({ group, lease }) => ({ group, lease })) });
      }
      await this.send('/v1/policies/org%2Fpolicy/versions', { version: 100 * version });
    }
    await this.send(`/v1/rollouts/${id}/groups?wait=60&lease=3600`);
    return id;
  }

  /** Waits without a limit, because playing a group takes minutes on a busy machine. */
  async #lease(id: string): Promise<z.infer<typeof leasedSchema>['items']> {
    for (;;) {
      const { items } = leasedSchema.parse(await this.send(`/v1/rollouts/${id}/groups?wait=60`));
      if (items.length > 0) return items;
    }
  }

  /** Acts as an agent: reads, tries, mends and submits. @returns the episode. */
  async playTask(): Promise<string> {
    const { episode } = startedSchema.parse(await this.send('/v1/episodes', { task: TASK, agent: 'scripted' }));
    const solution = await readFile(join(REPOSITORY, 'examples/code', TASK, 'solution/sorting.py'), 'utf8');
    const actions = [
      { action: 'list_files' },
      { action: 'read_file', file: 'sorting.py' },
      { action: 'run', command: 'python3 -c "import sorting; print(sorting.sort_recrods([]))"' },
      { action: 'edit_file', file: 'sorting.py', old: 'no such text', new: 'x' },
      { action: 'write_file', file: 'sorting.py', content: solution },
      { action: 'submit' },
    ];
    for (const action of actions) await this.send(`/v1/episodes/${episode}/steps`, action);
    await this.#server.command.until('the episode is graded', async () => {
      return stateSchema.parse(await this.send(`/v1/episodes/${episode}`)).state === 'closed';
    });
    return episode;
  }

  /** Waits without a limit, because the server ends by itself when it takes too long. */
  async untilOver(id: string): Promise<void> {
    while (['waiting', 'running'].includes(stateSchema.parse(await this.send(`/v1/evaluations/${id}`)).state))
      await sleep(systemClock, 500);
  }

  async send(address: string, body?: object): Promise<unknown> {
    const headers = { authorization: `Bearer ${this.#token}`, 'content-type': 'application/json' };
    const content = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
    const answer = await fetch(`${this.#server.url}${address}`, { ...content, headers });
    if (!answer.ok) throw new Error(`${address}: ${answer.status}: ${await answer.text()}`);
    return await answer.json();
  }
}
