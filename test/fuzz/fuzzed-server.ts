import path from 'node:path';
import { connect } from '../../src/app/client/server-client.ts';
import { MusterServer } from '../end-to-end/muster-server.ts';
import { CARTPOLE, LATE, REPOSITORY, SOURCES, type Stage } from '../end-to-end/stage.ts';

const TASK_ID = 'muster-examples/fix-bug-in-sort-function';
const TASK = path.join(REPOSITORY, 'examples/code/fix-bug-in-sort-function');

/** The longest that anything of it takes, on a slow machine. */
const DEADLINE_MS = 3_600_000;

/** `muster serve` that takes tokens, with something of everything in it. */
export interface FuzzedServer {
  readonly server: MusterServer;
  /** An operator's. */
  readonly token: string;
  /** What requests may name: by the parts of their paths, and in bodies. */
  readonly known: {
    readonly task: string;
    readonly paths: Readonly<Record<string, Readonly<Record<string, string>>>>;
    readonly suite: string;
    readonly checkpoint: { readonly uri: string };
  };
}

export async function startFuzzed(stage: Stage): Promise<FuzzedServer> {
  const config = await stage.write('fuzzed.json', {
    sources: SOURCES,
    // What was asked for is of no interest at the end.
    server: {
      port: 0,
      access: 'tokens',
      suites: { cartpole: CARTPOLE },
      drainSeconds: 0,
      requestsPerMinute: 'unlimited',
      failedTokensPerMinute: 'unlimited',
    },
    pool: { max: 2 },
    arena: { tasks: [TASK], idleSeconds: 30 },
    quotas: { default: { openEpisodes: 4 } },
  });
  const made = await stage.run(['token', 'create', 'fuzzer', '--role', 'operator', '--config', config]);
  const token = made.stdout.trim();
  const server = await MusterServer.start(stage, config, { deadlineMs: DEADLINE_MS });
  const client = connect(server.url, { token });
  const { id, checkpoints } = await client.submit({ uri: LATE }, 'cartpole', { stop: { rule: 'fixed', episodes: 20 } });
  await client.wait(id);
  const other = await client.createToken({ principal: 'other', role: 'viewer' });
  const sha256 = checkpoints[0]?.digest.replace('sha256:', '') ?? '';
  const paths = {
    evaluations: { id },
    tokens: { id: other.id },
    pools: { name: 'local' },
    suites: { name: 'cartpole' },
    checkpoints: { sha256, principal: 'other' },
    episodes: { id: await playEpisode(client) },
    openenv: { task: TASK_ID },
  };
  return { server, token, known: { paths, suite: 'cartpole', task: TASK_ID, checkpoint: { uri: LATE } } };
}

/** An episode that has ended: streams of its events end, too, and it can be forked. */
async function playEpisode({ arena }: ReturnType<typeof connect>): Promise<string> {
  const { episode } = await arena.start(TASK_ID, 'fuzzed');
  await arena.step(episode, 1, { action: 'run', command: 'ls' });
  await arena.step(episode, 2, { action: 'submit' });
  await arena.reward(episode);
  return episode;
}
