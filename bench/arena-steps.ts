import { execFile } from 'node:child_process';
import { Agent, request } from 'node:http';
import { promisify } from 'node:util';
import { join } from 'node:path';
import { z } from 'zod';
import { PACKAGE_ROOT } from '../src/kernel/package-root.ts';
import { getMessage } from '../src/kernel/errors.ts';
import type { Benchmark, Check } from './benchmark.ts';
import { PYTHON } from './machine.ts';
import { OwnServer } from './own-server.ts';
import { showSpread, spreadOf, type Spread } from './spread.ts';
import { peerRates } from './vector-environments.ts';

const TASK = 'fix-bug-in-sort-function';
const MEASURED = 'steps of open episodes, in turns';
const startedSchema = z.object({ episode: z.string() });

interface Taken {
  readonly perSecond: number;
  /** Milliseconds. Far below p99 where some steps wait longer than others for their turn. */
  readonly p50: number;
  readonly p99: number;
}

/** What another tool did a second in each round, and why there is no more of it. */
interface PeerRounds {
  readonly perSecond: readonly number[];
  readonly problem: string | undefined;
}

interface Rounds {
  readonly file: readonly Taken[];
  readonly run: readonly Taken[];
  /** Runs of SWE-ReX. */
  readonly swerex: PeerRounds;
  /** Steps that do nothing in OpenEnv's server. */
  readonly openenv: PeerRounds;
  /** Milliseconds from asking for an episode to its first observation, one at a time. */
  readonly starts: readonly number[];
}

export const arenaSteps: Benchmark = {
  name: 'arena',
  summary:
    'steps a second of open episodes over HTTP, each stored before it is answered, beside the local runtime of SWE-ReX and the server of OpenEnv',
  measurements: () => [MEASURED],
  async run({ quick, measured }) {
    const episodes = quick ? 16 : 100;
    const { file, run, swerex, openenv, starts } = await measured(MEASURED, () => playRounds(episodes, quick ? 1 : 3, quick ? 2 : 5));
    const [fileRate, runRate] = [spreadOf(file.map(({ perSecond }) => perSecond)), spreadOf(run.map(({ perSecond }) => perSecond))];
    const slowest = Math.max(...[...file, ...run].map(({ p99 }) => p99));
    const first = spreadOf(starts);
    return {
      tables: [
        {
          title: `${episodes} open episodes on the loopback: median and range of rounds`,
          columns: ['what', 'a second', 'p50 (ms)', 'p99 (ms)', '× SWE-ReX'],
          rows: [
            [
              'file steps: a file written and a directory listed in turns',
              showSpread(fileRate, 0),
              showSpread(spreadOf(file.map(({ p50 }) => p50)), 0),
              showSpread(spreadOf(file.map(({ p99 }) => p99)), 0),
              '',
            ],
            [
              '`run true`',
              showSpread(runRate, 0),
              showSpread(spreadOf(run.map(({ p50 }) => p50)), 0),
              showSpread(spreadOf(run.map(({ p99 }) => p99)), 0),
              ratioText(run, swerex.perSecond),
            ],
            ['SWE-ReX, local runtime, `true` in a session', showPeer(swerex), '', '', ''],
            ["OpenEnv's server, steps that do nothing", showPeer(openenv), '', '', ''],
            ['a new episode to its first observation (ms)', showSpread(first, 0), '', '', ''],
          ],
        },
      ],
      checks: checksOf(fileRate, runRate, slowest, first),
      notes: [
        'Each step is on the disk before it is answered. SWE-ReX stores nothing, and its sessions are processes of this machine without a sandbox. The steps of OpenEnv do nothing, and nothing of them is stored.',
        'MUSTER_PEERS_PYTHON names a Python that has swe-rex and what test/end-to-end/arena/requirements-openenv.txt lists with openenv-core; without it, OpenEnv is taken from .venv-openenv.',
        'Client and server share the processors.',
      ],
    };
  },
};

function checksOf(file: Spread, run: Spread, slowest: number, first: Spread): readonly Check[] {
  return [
    { what: 'file steps a second', target: '≥ 1,000', measured: showSpread(file, 0), met: file.median >= 1000 },
    { what: '`run true` steps a second', target: '≥ 400', measured: showSpread(run, 0), met: run.median >= 400 },
    { what: 'p99 of a step', target: '≤ 250 ms', measured: `${slowest.toFixed(0)} ms`, met: slowest <= 250 },
    { what: 'a new episode to its first observation', target: '≤ 30 ms', measured: showSpread(first, 0), met: first.median <= 30 },
  ];
}

function showPeer({ perSecond, problem }: PeerRounds): string {
  const measured = perSecond.length === 0 ? [] : [showSpread(spreadOf(perSecond), 0)];
  return [...measured, ...(problem === undefined ? [] : [problem])].join('; ');
}

function ratioText(run: readonly Taken[], swerex: readonly number[]): string {
  const ratios = swerex.map((rate, i) => (run[i]?.perSecond ?? Number.NaN) / rate);
  return ratios.length === 0 ? '' : showSpread(spreadOf(ratios), 1);
}

async function playRounds(episodes: number, rounds: number, seconds: number): Promise<Rounds> {
  const found = {
    file: new Array<Taken>(),
    run: new Array<Taken>(),
    starts: new Array<number>(),
  };
  const limits = { steps: 100_000, outputCharacters: 1e12, bytesWritten: '1024GiB', workspaces: episodes + 1 };
  await using server = await OwnServer.start({}, { arena: { tasks: [join(PACKAGE_ROOT, 'examples/code')], ...limits } });
  const agents = await Promise.all(Array.from({ length: episodes }, () => Player.start(server.url)));
  for (let i = 0; i < 5 * rounds; i += 1) found.starts.push(await timeStart(server.url));
  const python = process.env['MUSTER_PEERS_PYTHON'] ?? PYTHON;
  const swerex = await Peer.find('swerex', 'swerex_runs.py', [python]);
  const openenv = await Peer.find('openenv', 'openenv_steps.py', [python, join(PACKAGE_ROOT, '.venv-openenv/bin/python')]);
  const load = ['--sessions', `${episodes}`, '--seconds', `${seconds}`];
  for (let round = 0; round < rounds; round += 1) {
    const kinds = round % 2 === 0 ? (['file', 'run'] as const) : (['run', 'file'] as const);
    for (const kind of kinds) found[kind].push(await playFor(agents, kind, seconds));
    await swerex.play(load);
    await openenv.play(load);
  }
  return { ...found, swerex: swerex.rounds, openenv: openenv.rounds };
}

async function timeStart(url: string): Promise<number> {
  const begun = performance.now();
  const player = await Player.start(url);
  const milliseconds = performance.now() - begun;
  await player.giveUp();
  return milliseconds;
}

async function playFor(agents: readonly Player[], kind: 'file' | 'run', seconds: number): Promise<Taken> {
  const taken: number[] = [];
  const begun = performance.now();
  const end = begun + seconds * 1000;
  const play = async (agent: Player): Promise<void> => {
    while (performance.now() < end) taken.push(await agent.step(kind));
  };
  await Promise.all(agents.map(play));
  const sorted = taken.toSorted((a, b) => a - b);
  const quantile = (share: number): number => sorted[Math.floor(sorted.length * share)] ?? 0;
  return { perSecond: (1000 * taken.length) / (performance.now() - begun), p50: quantile(0.5), p99: quantile(0.99) };
}

/** An agent that takes one step after the other. */
class Player {
  static readonly #agent = new Agent({ keepAlive: true });
  readonly #url: string;
  readonly #episode: string;
  #steps = 0;

  private constructor(url: string, episode: string) {
    this.#url = url;
    this.#episode = episode;
  }

  static async start(url: string): Promise<Player> {
    const { episode } = startedSchema.parse(JSON.parse(await Player.#send(url, 'POST', '/v1/episodes', { task: TASK, agent: 'bench' })));
    return new Player(url, episode);
  }

  /** @returns milliseconds. */
  async step(kind: 'file' | 'run'): Promise<number> {
    this.#steps += 1;
    const begun = performance.now();
    await Player.#send(this.#url, 'POST', `/v1/episodes/${this.#episode}/steps`, { step: this.#steps, ...this.#action(kind) });
    return performance.now() - begun;
  }

  async giveUp(): Promise<void> {
    await Player.#send(this.#url, 'DELETE', `/v1/episodes/${this.#episode}`);
  }

  #action(kind: 'file' | 'run'): object {
    if (kind === 'run') return { action: 'run', command: 'true' };
    const file = 'notes.txt';
    return this.#steps % 2 === 1 ? { action: 'write_file', file, content: `${this.#steps} ${'x'.repeat(1000)}` } : { action: 'list_files' };
  }

  static #send(url: string, method: string, path: string, body?: object): Promise<string> {
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    const text = body === undefined ? '' : JSON.stringify(body);
    const headers = body === undefined ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) };
    const asked = request(`${url}${path}`, { method, headers, agent: Player.#agent }, (answer) => {
      let answered = '';
      answer.setEncoding('utf8').on('data', (part: string) => (answered += part));
      answer.on('end', () =>
        (answer.statusCode ?? 500) < 300 ? resolve(answered) : reject(new Error(`${answer.statusCode}: ${answered}`)),
      );
    });
    asked.on('error', reject).end(text);
    return promise;
  }
}

/** Another tool that is measured in the same run. When it fails that is its row, and the run goes on without it. */
class Peer {
  readonly #script: string;
  readonly #python: string | undefined;
  readonly #perSecond: number[] = [];
  #problem: string | undefined;

  private constructor(script: string, python: string | undefined) {
    this.#script = script;
    this.#python = python;
    if (python === undefined) this.#problem = 'not installed';
  }

  /** @param pythons of which the first that has the module is taken. */
  static async find(module: string, script: string, pythons: readonly string[]): Promise<Peer> {
    for (const each of pythons) if (await hasModule(each, module)) return new Peer(script, each);
    return new Peer(script, undefined);
  }

  get rounds(): PeerRounds {
    return { perSecond: this.#perSecond, problem: this.#problem };
  }

  async play(load: readonly string[]): Promise<void> {
    if (this.#python === undefined || this.#problem !== undefined) return;
    try {
      this.#perSecond.push((await peerRates(this.#python, this.#script, load)).stepsPerSecond);
    } catch (error) {
      this.#problem = `failed: ${getMessage(error).trim().split('\n').at(-1)}`;
    }
  }
}

async function hasModule(python: string, module: string): Promise<boolean> {
  const question = `import importlib.util, sys; sys.exit(importlib.util.find_spec(${JSON.stringify(module)}) is None)`;
  return await promisify(execFile)(python, ['-c', question]).then(
    () => true,
    () => false,
  );
}
