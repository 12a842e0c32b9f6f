import { randomBytes } from 'node:crypto';
import { collectDefaultMetrics, Registry } from 'prom-client';
import { assertAccessFits } from '../../service/access/loopback.ts';
import { openUploads } from '../checkpoints/caller-checkpoints.ts';
import type { Config } from '../../config/config.ts';
import type { FinalState } from '../../evaluation-store/evaluation-record.ts';
import type { SqlStore } from '../../adapters/store/sql/sql-evaluation-store.ts';
import type { EvaluationStore } from '../../evaluation-store/evaluation-store.ts';
import type { Tokens } from '../../evaluation-store/tokens.ts';
import { Runtime } from '../runtime.ts';
import { systemClock } from '../../kernel/clock.ts';
import { InfrastructureError, InputError, getMessage } from '../../kernel/errors.ts';
import { PACKAGE_VERSION } from '../../kernel/package-root.ts';
import { parseEvaluationId, parseOwnerId } from '../../kernel/ids.ts';
import { EventLoopTurns } from '../../kernel/turns.ts';
import type { CheckpointSource } from '../../policy-distribution/checkpoint-source.ts';
import type { Uploads } from '../../policy-distribution/uploads/uploads.ts';
import {
  createLiveGrants,
  createLiveQuotas,
  createLiveServiceConfig,
  createLiveSource,
  createLiveWebhooks,
  getWebhookSecret,
} from './live-settings.ts';
import { openArena } from './arena.ts';
import { createRolloutService } from './rollouts.ts';
import { OrderLibrary } from './order-library.ts';
import { OrderPlayer } from './order-player.ts';
import { createEndedCounter, measure } from '../../faces/http/figures.ts';
import { createHttpServer } from '../../faces/http/http-server.ts';
import { CheckpointService } from '../../service/checkpoints/checkpoint-service.ts';
import { CheckpointUse } from '../../service/checkpoints/checkpoint-use.ts';
import { createCheckpointKeeper } from '../../service/checkpoints/checkpoint-keeper.ts';
import type { Chore } from '../../kernel/chore.ts';
import { EpisodeBounds } from '../../service/playing/episode-bounds.ts';
import { EvaluationService } from '../../service/evaluation-service.ts';
import type { Library } from '../../service/orders/library.ts';
import type { RolloutService } from '../../service/rollouts/rollout-service.ts';
import { PoolService } from '../../service/upkeep/pool-service.ts';
import { QuotaGate } from '../../service/acceptance/quota-gate.ts';
import { WebhookDeliverer } from '../../service/upkeep/webhook-deliverer.ts';
import { openServerStore } from '../stores.ts';
import { reload, type Reload } from './reload.ts';
import type { Starter } from './starter.ts';
import { examineNamedPlaces } from './named-places.ts';
import { examineSuites } from '../suites/examined-suites.ts';
import type { Webhooks } from './webhook-sender.ts';
import { toBound } from '../../service/access/quota.ts';
import { createApp } from './app.ts';
import { ServerTemplates } from './server-templates.ts';
import { createTimedId } from './timed-id.ts';
import { getErrorCode } from '../../kernel/errno.ts';

/** The composition root of `muster serve`. */

export interface RunningServer {
  /** Address on which it listens: `http://127.0.0.1:7677`. */
  readonly url: string;
  /** The token of the program that started it, when it serves that program alone. */
  readonly token: string | undefined;
  /** Suites, templates, directories and variables of the configuration that could not be used at the start, and why. */
  readonly problems: readonly string[];
  /** Reloads the configuration; an unusable one is refused, and the one in force stays. */
  reload(): Promise<Reload>;
  /** Begins nothing more, waits for running evaluations as long as the configuration allows, releases the rest, and closes everything. */
  close(): Promise<void>;
}

/**
 * Opens the store, resumes what was left in it, and listens.
 *
 * @param read reads the configuration, at the start and at each reload. @param starter the only process that it serves; when left out, it serves
 * every caller that the configuration admits. @throws InputError when the configuration cannot be used, another process has the store, or the port is
 * taken; InfrastructureError when the machine or the database fails.
 */
export async function serve(read: () => Config, starter?: Starter): Promise<RunningServer> {
  const config = read();
  const { server } = config;
  assertAccessFits(server.access, server.host);
  await using opening = new AsyncDisposableStack();
  const store = opening.use(await openServerStore(config, systemClock, Math.random));
  const runtime = opening.use(await Runtime.open(config, 'server'));
  runtime.pools.sweep();
  const uploads = await openUploads(config, runtime.checkpoints, systemClock);
  const quotas = createLiveQuotas(runtime);
  const bounds = new EpisodeBounds(quotas);
  const gate = new QuotaGate({ usage: store.usage, quotaOf: quotas, clock: systemClock });
  const pools = new PoolService(runtime.pools, store.audit, systemClock, bounds);
  const registry = createRegistry();
  const webhookSite = createLiveWebhooks(runtime, systemClock);
  const webhooks = createDeliverer(store, runtime, webhookSite);
  const countEnded = createEndedCounter(registry);
  const source = createLiveSource(runtime, systemClock);
  const use = new CheckpointUse({ rights: store.rights, isGranted: createLiveGrants(runtime), isEveryones: server.access === 'off' });
  const checkpointService = new CheckpointService({ checkpoints: runtime.checkpoints, uploads, usage: store.usage, gate, use });
  const library = createLibrary(runtime, source, checkpointService, starter);
  const service = createService({ store, runtime, pools, gate, use, source, library, starter, webhookSite }, (state) => {
    countEnded(state);
    webhooks.look();
  });
  const arena = opening.use(await openArena(runtime, store, quotas));
  measure(registry, { service, pools, delivered: runtime.delivered });
  const rollouts = createRolloutService(runtime, store, { source, library, quotaOf: quotas });
  const templates = new ServerTemplates(runtime, systemClock);
  const parts = { store, runtime, pools, service, registry, checkpointService, use, library, starter, arena: arena.service, rollouts };
  const app = await createApp({ ...parts, templates });
  const keeper = createKeeper(store, runtime, uploads, rollouts);
  keeper.open();
  opening.defer(() => keeper.close());
  opening.defer(() => closeServer(app));
  // Closed before the server, which waits for their streams.
  opening.use(uploads);
  opening.use(openServices({ webhooks, rollouts, service, runtime }));
  const findProblems = createProblemFinder({ runtime, library, templates, tokens: starter ? undefined : store.tokens });
  const problems = await findProblems();
  const url = await listen(config, (host, port) => app.listen({ host, port }));
  const opened = opening.move();
  return {
    url,
    token: starter?.token,
    problems,
    reload: () => reload({ read, runtime, pools, bounds, webhooks, findProblems }),
    close: () => opened.disposeAsync(),
  };
}

/** Opens the services that work on their own. */
function openServices(parts: {
  readonly webhooks: WebhookDeliverer;
  readonly rollouts: RolloutService;
  readonly service: EvaluationService;
  readonly runtime: Runtime;
}): AsyncDisposable {
  const { webhooks, rollouts, service, runtime } = parts;
  for (const each of [webhooks, rollouts, service]) each.open();
  return {
    [Symbol.asyncDispose]: async () => {
      await service.drain(runtime.config.server.drainSeconds * 1000);
      await rollouts.close();
      await webhooks.close();
    },
  };
}

function createLibrary(runtime: Runtime, source: CheckpointSource, pools: CheckpointService, starter: Starter | undefined): OrderLibrary {
  return new OrderLibrary(runtime, { source, findUploaded: (digest, principal) => pools.find(digest, principal) }, starter !== undefined);
}

/** Finds why suites, templates, directories and variables of the configuration in force cannot be used, or the server by no caller. */
function createProblemFinder(parts: {
  readonly runtime: Runtime;
  readonly library: Library;
  readonly templates: ServerTemplates;
  /** Undefined where the program that starts the server has its token. */
  readonly tokens: Tokens | undefined;
}): () => Promise<readonly string[]> {
  const { runtime, library, templates, tokens } = parts;
  return async () => {
    const suites = await examineSuites(Object.keys(runtime.config.server.suites), library, runtime.joinSignals(undefined));
    const places = await examineNamedPlaces(runtime.config, process.env);
    return [...(await examineTokens(runtime, tokens)), ...suites.problems, ...places, ...(await templates.examine(suites.templates))];
  };
}

async function examineTokens({ config }: Runtime, tokens: Tokens | undefined): Promise<readonly string[]> {
  if (config.server.access === 'off' || tokens === undefined) return [];
  const { items } = await tokens.list({ limit: 1 });
  const first = 'muster token create NAME --role operator --config FILE';
  return items.length > 0 ? [] : [`server.access: "tokens", and the store has no token; with the server stopped, run ${first}`];
}

function createRegistry(): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  return registry;
}

interface ServiceParts {
  readonly store: SqlStore;
  readonly runtime: Runtime;
  readonly pools: PoolService;
  readonly gate: QuotaGate;
  readonly use: CheckpointUse;
  readonly source: CheckpointSource;
  readonly library: Library;
  readonly starter: Starter | undefined;
  readonly webhookSite: Webhooks;
}

function createService(
  { store, runtime, pools, gate, use, source, library, starter, webhookSite }: ServiceParts,
  onConcluded: (state: FinalState) => void,
): EvaluationService {
  return new EvaluationService({
    store,
    gate,
    use,
    player: new OrderPlayer(runtime, source, store.turns, PACKAGE_VERSION, starter !== undefined),
    library,
    assertWebhookUrl: webhookSite.assertUrl,
    owner: parseOwnerId(`muster-${process.pid}-${randomBytes(4).toString('hex')}`),
    clock: systemClock,
    turns: new EventLoopTurns(),
    log: runtime.log,
    newId: () => parseEvaluationId(createTimedId('ev')),
    slotsOf: (template) => pools.getSlots(template),
    onConcluded,
    config: createLiveServiceConfig(runtime),
  });
}

/** Time for callers to receive pending answers. */
const CLOSING_MILLISECONDS = 5000;

async function closeServer(app: Awaited<ReturnType<typeof createHttpServer>>): Promise<void> {
  using _late = systemClock.after(CLOSING_MILLISECONDS, () => app.server.closeAllConnections());
  await app.close();
}

function createDeliverer({ webhooks: outbox }: EvaluationStore, runtime: Runtime, { sender }: Webhooks): WebhookDeliverer {
  return new WebhookDeliverer({ outbox, sender, secret: () => getWebhookSecret(runtime), clock: systemClock, log: runtime.log });
}

function createKeeper(store: EvaluationStore, runtime: Runtime, uploads: Uploads, rollouts: RolloutService): Chore {
  const { checkpoints, log } = runtime;
  return createCheckpointKeeper({
    store,
    checkpoints,
    uploads,
    alsoNeeded: () => rollouts.listNeeded(),
    clock: systemClock,
    log,
    maxBytes: () => toBound(runtime.config.checkpoints.keptBytes),
  });
}

async function listen({ server }: Config, on: (host: string, port: number) => Promise<string>): Promise<string> {
  const { host, port } = server;
  try {
    return await on(host, port);
  } catch (error) {
    const code = getErrorCode(error);
    if (code === 'EADDRINUSE')
      throw new InputError('server.port', `server.port: ${host}:${port} is taken; name another port, or 0 for any that is free`, {
        cause: error,
      });
    throw new InfrastructureError('server.listen', `${host}:${port} cannot be used to listen: ${getMessage(error)}`, { cause: error });
  }
}
