import { randomBytes } from 'node:crypto';
import { createRequire } from 'node:module';
import { collectDefaultMetrics, Registry } from 'prom-client';
import { assertAccessFits } from './access/loopback.ts';
import { quotaOf, type Quota } from './access/quota.ts';
import { TokenOffice } from './access/token-office.ts';
import { openUploads, sourceForCallers } from './caller-checkpoints.ts';
import type { Config } from './config/config.ts';
import type { FinalState } from './evaluation-store/evaluation-record.ts';
import type { EvaluationStore } from './evaluation-store/evaluation-store.ts';
import { Ground } from './ground.ts';
import { systemClock } from './kernel/clock.ts';
import { InfrastructureError, InputError, messageOf } from './kernel/errors.ts';
import { parseEvaluationId, parseOwnerId, type EvaluationId } from './kernel/ids.ts';
import { OrderLibrary } from './order-library.ts';
import { OrderPlayer } from './order-player.ts';
import { endedCounter, figureRoutes, measure } from './server/figures.ts';
import { createHttpServer } from './server/http-server.ts';
import { identifyByToken, identifyLocal } from './server/identify.ts';
import type { Reason } from './server/operation-routes.ts';
import { poolRoutes } from './server/pool-routes.ts';
import { auditRoute, tokenRoutes } from './server/token-routes.ts';
import { CheckpointDesk } from './service/checkpoint-desk.ts';
import { CheckpointKeeper } from './service/checkpoint-keeper.ts';
import { EpisodeBounds } from './service/episode-bounds.ts';
import { EvaluationService } from './service/evaluation-service.ts';
import { PoolDesk } from './service/pool-desk.ts';
import { QuotaGate } from './service/quota-gate.ts';
import { WebhookDeliverer } from './service/webhook-deliverer.ts';
import { openEvaluationStore } from './stores.ts';
import { webhooksOf } from './webhook-sender.ts';

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
  const { server, checkpoints } = config;
  assertAccessFits(server.access, server.host);
  await using opening = new AsyncDisposableStack();
  const store = opening.use(await openEvaluationStore(config, systemClock));
  const ground = opening.use(await Ground.open(config));
  ground.pools.sweep();
  const uploads = await openUploads(config, ground.checkpoints, systemClock);
  const quotas = (principal: string): Quota => quotaOf(config.quotas, principal);
  const gate = new QuotaGate({ usage: store.usage, quotaOf: quotas, clock: systemClock });
  const desk = new PoolDesk(ground.pools, store.audit, systemClock, new EpisodeBounds(quotas));
  const registry = new Registry();
  const webhooks = createDeliverer(config, store, ground);
  const countEnded = endedCounter(registry);
  const service = createService({ store, ground, desk, gate }, (state) => {
    countEnded(state);
    webhooks.look();
  });
  measure(registry, service, desk);
  collectDefaultMetrics({ register: registry });
  const checkpointDesk = new CheckpointDesk({ checkpoints: ground.checkpoints, uploads, usage: store.usage, gate });
  const app = await createApp({ store, ground, desk, service, registry, checkpointDesk });
  const keeper = new CheckpointKeeper({
    store,
    checkpoints: ground.checkpoints,
    uploads,
    clock: systemClock,
    log: ground.log,
    maxBytes: checkpoints.keptBytes === 'unlimited' ? undefined : checkpoints.keptBytes,
  });
  keeper.open();
  opening.defer(() => keeper.close());
  opening.defer(() => closed(app));
  // Before the server, which waits for their streams.
  opening.use(uploads);
  webhooks.open();
  opening.defer(() => webhooks.close());
  service.open();
  opening.defer(() => service.drain(server.drainSeconds * 1000));
  const url = await listen(config, (host, port) => app.listen({ host, port }));
  const opened = opening.move();
  return { url, close: () => opened.disposeAsync() };
}

interface Parts {
  readonly store: EvaluationStore;
  readonly ground: Ground;
  readonly desk: PoolDesk;
}

function createApp(
  parts: Parts & { readonly service: EvaluationService; readonly registry: Registry; readonly checkpointDesk: CheckpointDesk },
): ReturnType<typeof createHttpServer> {
  const { store, ground, desk, service, registry, checkpointDesk } = parts;
  const { server } = ground.config;
  return createHttpServer({
    service,
    clock: systemClock,
    log: ground.log,
    version: packageVersion(),
    maxBodyBytes: server.maxBodyBytes,
    maxWaitSeconds: server.maxWaitSeconds,
    identify: server.access === 'off' ? identifyLocal : identifyByToken(store.tokens, systemClock),
    requestsPerMinute: server.requestsPerMinute === 'unlimited' ? undefined : server.requestsPerMinute,
    readiness: () => readiness(service, store),
    checkpoints: checkpointDesk,
    more: [
      (routes) => poolRoutes(routes, desk),
      (routes) => figureRoutes(routes, registry),
      (routes) => tokenRoutes(routes, (principal) => new TokenOffice(store, systemClock, principal)),
      (routes) => auditRoute(routes, store.audit),
    ],
  });
}

function createService(
  { store, ground, desk, gate }: Parts & { readonly gate: QuotaGate },
  onConcluded: (state: FinalState) => void,
): EvaluationService {
  const { config } = ground;
  const { server } = config;
  const source = sourceForCallers(config, systemClock);
  return new EvaluationService({
    store,
    gate,
    player: new OrderPlayer(ground, source),
    library: new OrderLibrary(ground, { source, uploaded: (digest) => ground.checkpoints.find(digest) }),
    assertWebhookUrl: webhooksOf(config, systemClock).assertUrl,
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

function createDeliverer(config: Config, { webhooks: outbox }: EvaluationStore, { log }: Ground): WebhookDeliverer {
  const { webhookSecret } = config.server;
  const secret = webhookSecret === '' ? undefined : webhookSecret;
  const { sender } = webhooksOf(config, systemClock);
  return new WebhookDeliverer({ outbox, sender, secret, clock: systemClock, log });
}

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
