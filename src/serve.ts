import { randomBytes } from 'node:crypto';
import { createRequire } from 'node:module';
import type { Config } from './config/config.ts';
import { collectDefaultMetrics, Registry } from 'prom-client';
import type { FinalState } from './evaluation-store/evaluation-record.ts';
import type { EvaluationStore } from './evaluation-store/evaluation-store.ts';
import { Ground } from './ground.ts';
import { systemClock } from './kernel/clock.ts';
import { InfrastructureError, InputError, messageOf } from './kernel/errors.ts';
import { parseEvaluationId, parseOwnerId, type EvaluationId } from './kernel/ids.ts';
import { OrderLibrary, type CheckpointDoor } from './order-library.ts';
import { OrderPlayer } from './order-player.ts';
import { endedCounter, figureRoutes, measure } from './server/figures.ts';
import { createHttpServer } from './server/http-server.ts';
import type { Reason } from './server/operation-routes.ts';
import { poolRoutes } from './server/pool-routes.ts';
import { EvaluationService } from './service/evaluation-service.ts';
import { PoolDesk } from './service/pool-desk.ts';
import { WebhookDeliverer, type WebhookSender } from './service/webhook-deliverer.ts';
import { openEvaluationStore } from './stores.ts';

/** The composition root of `muster serve`. */

export interface RunningServer {
  /** Where it listens: `http://127.0.0.1:7677`. */
  readonly url: string;
  /** Begins nothing more, waits for what is played as long as the configuration allows, gives back the rest, and closes everything. */
  close(): Promise<void>;
}

/**
 * Opens the store, goes on with what was left in it, and listens.
 *
 * @throws InputError when the configuration cannot be used, another process has the store, or the port is taken; InfrastructureError when
 * the machine or the database fails.
 */
export async function serve(config: Config): Promise<RunningServer> {
  assertLoopback(config);
  await using opening = new AsyncDisposableStack();
  const store = opening.use(await openEvaluationStore(config, systemClock));
  const ground = opening.use(await Ground.open(config));
  const desk = new PoolDesk(ground.pools, store.audit, systemClock);
  const registry = new Registry();
  const webhooks = createDeliverer(config, store, ground);
  const countEnded = endedCounter(registry);
  const service = createService(config, store, ground, desk, (state) => {
    countEnded(state);
    webhooks.look();
  });
  measure(registry, service, desk);
  collectDefaultMetrics({ register: registry });
  const app = await createHttpServer({
    service,
    clock: systemClock,
    log: ground.log,
    version: packageVersion(),
    maxBodyBytes: config.server.maxBodyBytes,
    maxWaitSeconds: config.server.maxWaitSeconds,
    readiness: () => readiness(service, store),
    more: [(routes) => poolRoutes(routes, desk), (routes) => figureRoutes(routes, registry)],
  });
  opening.defer(() => closed(app));
  webhooks.open();
  opening.defer(() => webhooks.close());
  service.open();
  opening.defer(() => service.drain(config.server.drainSeconds * 1000));
  const url = await listen(config, (host, port) => app.listen({ host, port }));
  const opened = opening.move();
  return { url, close: () => opened.disposeAsync() };
}

function createService(
  { server }: Config,
  store: EvaluationStore,
  ground: Ground,
  desk: PoolDesk,
  onConcluded: (state: FinalState) => void,
): EvaluationService {
  return new EvaluationService({
    store,
    player: new OrderPlayer(ground),
    library: new OrderLibrary(ground, OPEN_DOOR),
    owner: parseOwnerId(`muster-${process.pid}-${randomBytes(4).toString('hex')}`),
    clock: systemClock,
    log: ground.log,
    newId,
    placesOf: (template) => desk.placesOf(template),
    onConcluded,
    config: {
      slots: server.concurrentEvaluations,
      ownershipMilliseconds: server.ownershipSeconds * 1000,
      pollMilliseconds: server.pollSeconds * 1000,
      reportMilliseconds: server.reportSeconds * 1000,
      retentionMilliseconds: server.retentionDays * 86_400_000,
      staleness: server.staleness,
      deliversWebhooks: server.webhookSecret !== '',
    },
  });
}

/** Answers on their way have a moment to be taken. */
const CLOSING_MILLISECONDS = 5000;

async function closed(app: Awaited<ReturnType<typeof createHttpServer>>): Promise<void> {
  using _late = systemClock.after(CLOSING_MILLISECONDS, () => app.server.closeAllConnections());
  await app.close();
}

function createDeliverer({ server: { webhookSecret } }: Config, store: EvaluationStore, { log }: Ground): WebhookDeliverer {
  const secret = webhookSecret === '' ? undefined : webhookSecret;
  return new WebhookDeliverer({ outbox: store.webhooks, sender: FETCH_SENDER, secret, clock: systemClock, log });
}

const FETCH_SENDER: WebhookSender = {
  post: async (url, headers, body, signal) => {
    const answer = await fetch(url, { method: 'POST', headers, body, signal, redirect: 'manual' });
    // What it says is of no interest, but it holds the connection.
    await answer.body?.cancel();
    return answer.status;
  },
};

/** On the loopback interface every file that this user can read may be named, as on the command line. */
const OPEN_DOOR: CheckpointDoor = {
  assertAllowed: () => undefined,
  uploaded: () => Promise.resolve(undefined),
};

/** Sorts by the time of its making. */
function newId(): EvaluationId {
  const time = systemClock.date().getTime().toString(36).padStart(9, '0');
  return parseEvaluationId(`ev-${time}-${randomBytes(8).toString('hex')}`);
}

async function readiness(service: EvaluationService, store: EvaluationStore): Promise<readonly Reason[]> {
  const reasons: Reason[] = [];
  if (service.isDraining) reasons.push({ code: 'service.draining', detail: 'it is about to end' });
  try {
    await store.webhooks.nextDue();
  } catch (error) {
    reasons.push({ code: 'store.unavailable', detail: messageOf(error) });
  }
  return reasons;
}

function assertLoopback({ server: { host } }: Config): void {
  if (['127.0.0.1', '::1', 'localhost'].includes(host)) return;
  throw new InputError(
    'server.host',
    `server.host: expected a loopback address (127.0.0.1, ::1) as long as nobody has to say who they are, got "${host}"`,
  );
}

async function listen({ server }: Config, on: (host: string, port: number) => Promise<string>): Promise<string> {
  const { host, port } = server;
  try {
    return await on(host, port);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'EADDRINUSE')
      throw new InputError('server.port', `server.port: ${host}:${port} is taken; name another port, or 0 for any that is free`, {
        cause: error,
      });
    throw new InfrastructureError('server.listen', `${host}:${port} cannot be listened on: ${messageOf(error)}`, { cause: error });
  }
}

function packageVersion(): string {
  const { version }: { version: string } = createRequire(import.meta.url)('../package.json');
  return version;
}
