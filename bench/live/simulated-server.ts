import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { openSqliteStore } from '../../src/adapters/store/sqlite/open-sqlite-store.ts';
import type { SqlStore } from '../../src/adapters/store/sql/sql-evaluation-store.ts';
import { createHttpServer } from '../../src/faces/http/http-server.ts';
import { addLiveRoutes } from '../../src/faces/http/routes/live-routes.ts';
import { addPoolRoutes } from '../../src/faces/http/routes/pool-routes.ts';
import { addPageFrom } from '../../src/faces/page/page-routes.ts';
import { PACKAGE_ROOT } from '../../src/kernel/package-root.ts';
import { digestBytes } from '../../src/kernel/canonical-json.ts';
import { sleep, systemClock } from '../../src/kernel/clock.ts';
import { parseEvaluationId, parseOwnerId } from '../../src/kernel/ids.ts';
import { silentLog } from '../../src/kernel/log.ts';
import { EventLoopTurns } from '../../src/kernel/turns.ts';
import { CheckpointUse } from '../../src/service/checkpoints/checkpoint-use.ts';
import { QuotaGate } from '../../src/service/acceptance/quota-gate.ts';
import { EvaluationService } from '../../src/service/evaluation-service.ts';
import { createUnbounded } from '../../src/service/playing/episode-bounds.ts';
import { Slots } from '../../src/service/playing/slots.ts';
import { PoolService } from '../../src/service/upkeep/pool-service.ts';
import { answerWithDelays } from './delay-meter.ts';
import { SimulatedPlayer, simulatedLibrary, SimulatedPools } from './simulated-parts.ts';

/**
 * A real server over a real store, in a process of its own, on which simulated players report episodes. It says where it listens, and then, each time that
 * it is asked, how long its event loop was held up since the last time: `simulated-server.ts EVALUATIONS EPISODES SANDBOXES [DIRECTORY OF THE PAGE]`.
 */
const [evaluations = 0, episodes = 0, sandboxes = 0] = process.argv.slice(2).map(Number);
const pageDirectory = process.argv[5] ?? join(PACKAGE_ROOT, 'src/faces/page/browser');
/** Open at a time. */
const OPEN = 200;

const directory = mkdtempSync(join(tmpdir(), 'muster-bench-'));
process.once('exit', () => rmSync(directory, { recursive: true, force: true }));
const path = join(directory, 'muster.db');
const NO_QUOTA = { concurrentEpisodes: undefined, waitingEvaluations: undefined, checkpointBytes: undefined } as const;
const quotaOf = (): typeof NO_QUOTA & { episodesPerDay: undefined; openEpisodes: undefined } => ({
  ...NO_QUOTA,
  episodesPerDay: undefined,
  openEpisodes: undefined,
});

await fillStore();
const store = await openSqliteStore(path, systemClock);
const service = openService(store, new SimulatedPlayer(0));
const pools = new PoolService(new SimulatedPools(sandboxes), store.audit, systemClock, createUnbounded());
const use = new CheckpointUse({ rights: store.rights, isGranted: () => false, isEveryones: true });
const app = await createHttpServer({
  service,
  use,
  clock: systemClock,
  log: silentLog,
  version: '0.0.0',
  maxBodyBytes: 65_536,
  maxWaitSeconds: 60,
  readiness: async () => [],
  more: [
    (routes) => addPoolRoutes(routes, pools),
    (routes, room) => addLiveRoutes(routes, { service, pools, use, clock: systemClock, room }),
    (routes) => addPageFrom(routes, pageDirectory),
  ],
});
for (let made = 0; made < OPEN; made += 1) await submit(service, `live-${made % 10}`, made);
const url = await app.listen({ host: '0.0.0.0', port: 0 });
answerWithDelays();
process.send?.({ url: url.replace(/\/\/[^:]+/, '//127.0.0.1') });

/** One evaluation with many episodes that has ended, and as many like it as are asked for. */
async function fillStore(): Promise<void> {
  await using filling = new AsyncDisposableStack();
  const filled = filling.use(await openSqliteStore(path, systemClock));
  const first = openService(filled, new SimulatedPlayer(episodes));
  const id = await submit(first, 'deep', 1);
  while ((await filled.evaluations.find(id))?.state !== 'finished') await sleep(systemClock, 200);
  await first.drain(0);
  await filling.disposeAsync();
  using database = new DatabaseSync(path);
  const columns = database
    .prepare('PRAGMA table_info(evaluations)')
    .all()
    .map(({ name }) => String(name));
  const copied = columns.filter((name) => name !== 'key' && name !== 'id');
  database.exec(`WITH RECURSIVE made(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM made WHERE n < ${evaluations})
    INSERT INTO evaluations (id, ${copied.join(', ')}) SELECT printf('ev-copy-%06d', n), ${copied.join(', ')} FROM evaluations, made WHERE id = '${id}'`);
}

function openService(of: SqlStore, player: SimulatedPlayer): EvaluationService {
  const slots = new Slots(sandboxes, systemClock, createUnbounded());
  let made = 0;
  const opened = new EvaluationService({
    store: of,
    player,
    library: simulatedLibrary,
    gate: new QuotaGate({ usage: of.usage, quotaOf, clock: systemClock }),
    use: new CheckpointUse({ rights: of.rights, isGranted: () => false, isEveryones: true }),
    assertWebhookUrl: () => undefined,
    owner: parseOwnerId(`bench-${process.pid}`),
    clock: systemClock,
    turns: new EventLoopTurns(),
    log: silentLog,
    newId: () => parseEvaluationId(`ev-${systemClock.date().getTime().toString(36)}-${(made += 1)}`),
    slotsOf: () => slots,
    onConcluded: () => undefined,
    config: {
      slots: OPEN,
      ownershipMilliseconds: 60_000,
      reportMilliseconds: 1000,
      pollMilliseconds: 1000,
      retentionMilliseconds: 86_400_000,
      staleness: 'keep',
      deliversWebhooks: false,
    },
  });
  opened.open();
  return opened;
}

async function submit(to: EvaluationService, run: string, version: number): Promise<ReturnType<typeof parseEvaluationId>> {
  const checkpoint = { uri: `/policies/${digestBytes(`${run} ${version}`).slice(7, 19)}`, run, version };
  const accepted = await to.submit(
    { question: { kind: 'evaluation', checkpoint }, suite: 'simulated', priority: 0, labels: {}, cache: false },
    'bench',
    new AbortController().signal,
  );
  if (accepted.kind !== 'accepted') throw new Error(`it was ${accepted.kind}`);
  return accepted.evaluation.id;
}
