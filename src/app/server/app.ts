import { Registry } from 'prom-client';
import { findLackOfSpace } from '../../adapters/files/state-directory.ts';
import type { SqlStore } from '../../adapters/store/sql/sql-evaluation-store.ts';
import type { Config } from '../../config/config.ts';
import type { EvaluationStore } from '../../evaluation-store/evaluation-store.ts';
import { addFigureRoutes } from '../../faces/http/figures.ts';
import { createHttpServer } from '../../faces/http/http-server.ts';
import { type Identify, identifyByToken, identifyLocal } from '../../faces/http/requests/identify.ts';
import { addGrantRoutes } from '../../faces/http/routes/grant-routes.ts';
import { addLiveRoutes } from '../../faces/http/routes/live-routes.ts';
import type { Reason } from '../../faces/http/routes/operation-routes.ts';
import { addPoolRoutes } from '../../faces/http/routes/pool-routes.ts';
import { addSuiteRoutes } from '../../faces/http/routes/suite-routes.ts';
import { addAuditRoute, addQuotaRoute, addTokenRoutes } from '../../faces/http/routes/token-routes.ts';
import { addPageRoutes } from '../../faces/page/page-routes.ts';
import { systemClock } from '../../kernel/clock.ts';
import { getMessage } from '../../kernel/errors.ts';
import { PACKAGE_VERSION } from '../../kernel/package-root.ts';
import { listQuotaUses, type PrincipalUse } from '../../service/access/quota-uses.ts';
import { toBound } from '../../service/access/quota.ts';
import { TokenService } from '../../service/access/token-service.ts';
import { EpisodeService } from '../../service/arena/episode-service.ts';
import { CheckpointService } from '../../service/checkpoints/checkpoint-service.ts';
import { CheckpointUse } from '../../service/checkpoints/checkpoint-use.ts';
import { GrantService } from '../../service/checkpoints/grant-service.ts';
import { EvaluationService } from '../../service/evaluation-service.ts';
import type { Library } from '../../service/orders/library.ts';
import type { RolloutService } from '../../service/rollouts/rollout-service.ts';
import { PoolService } from '../../service/upkeep/pool-service.ts';
import { Runtime } from '../runtime.ts';
import { createLiveQuotas } from './live-settings.ts';
import type { ServerTemplates } from './server-templates.ts';
import type { Starter } from './starter.ts';

export interface AppParts {
  readonly store: SqlStore;
  readonly runtime: Runtime;
  readonly templates: ServerTemplates;
  readonly pools: PoolService;
  readonly service: EvaluationService;
  readonly registry: Registry;
  readonly checkpointService: CheckpointService;
  readonly use: CheckpointUse;
  readonly library: Library;
  /** The only principal that it serves; undefined for all principals of the configuration. */
  readonly starter: Starter | undefined;
  readonly arena: EpisodeService;
  readonly rollouts: RolloutService;
}

/** Creates the HTTP server of `muster serve` over its services: authentication, limits, and every route. It does not listen yet. */
export function createApp(parts: AppParts): ReturnType<typeof createHttpServer> {
  const { store, runtime, templates, pools, service, registry, checkpointService, use, library, starter, arena, rollouts } = parts;
  const { server } = runtime.config;
  return createHttpServer({
    service,
    use,
    clock: systemClock,
    log: runtime.log,
    version: PACKAGE_VERSION,
    maxBodyBytes: server.maxBodyBytes,
    get maxWaitSeconds() {
      return runtime.config.server.maxWaitSeconds;
    },
    identify: starter ? starter.identify : identifyOthers(store, server),
    requestsPerMinute: toBound(server.requestsPerMinute),
    streams: { ofOne: toBound(server.streamsPerPrincipal), ofAll: toBound(server.streams) },
    readiness: () => checkReadiness({ service, store, templates, stateDir: runtime.config.stateDir }),
    checkpoints: checkpointService,
    arena,
    rollouts,
    more: [
      (routes) => addSuiteRoutes(routes, library),
      (routes) => addPoolRoutes(routes, pools),
      (routes, room) => addLiveRoutes(routes, { service, pools, use, clock: systemClock, room }),
      addPageRoutes,
      (routes) => addGrantRoutes(routes, new GrantService({ rights: store.rights, use, audit: store.audit })),
      (routes) => addFigureRoutes(routes, registry),
      (routes) => addTokenRoutes(routes, (principal) => new TokenService(store, systemClock, principal)),
      (routes) => addAuditRoute(routes, store.audit),
      (routes) => addQuotaRoute(routes, createQuotaUses(parts)),
    ],
  });
}

function createQuotaUses({ store, runtime, pools }: AppParts): (caller: string) => Promise<readonly PrincipalUse[]> {
  const options = {
    usage: store.usage,
    tokens: store.tokens,
    quotaOf: createLiveQuotas(runtime),
    named: () => Object.keys(runtime.config.quotas),
    countPlayed: (principal: string) => pools.countPlayed(principal),
    countOpen: (principal: string) => store.trajectories.countOpen(principal),
    clock: systemClock,
  };
  return (caller) => listQuotaUses(options, caller);
}

function identifyOthers({ tokens }: EvaluationStore, { access, failedTokensPerMinute }: Config['server']): Identify {
  return access === 'off' ? identifyLocal : identifyByToken(tokens, systemClock, toBound(failedTokensPerMinute));
}

interface Parts {
  readonly service: { readonly isDraining: boolean };
  readonly store: Pick<EvaluationStore, 'webhooks'>;
  readonly templates: { findHindrances(): Promise<readonly string[]> };
  readonly stateDir: string;
  /** @returns why nothing new should be stored in the state directory. */
  readonly lack?: (stateDir: string) => Promise<string | undefined>;
}

/** Returns why a server should get no work; empty when it is ready. */
async function checkReadiness({ service, store, templates, stateDir, lack = findLackOfSpace }: Parts): Promise<readonly Reason[]> {
  const reasons: Reason[] = [];
  if (service.isDraining) reasons.push({ code: 'service.draining', detail: 'it is about to end' });
  try {
    await store.webhooks.findNextDue();
  } catch (error) {
    reasons.push({ code: 'store.unavailable', detail: getMessage(error) });
  }
  for (const detail of await templates.findHindrances()) reasons.push({ code: 'template.unusable', detail });
  const lacking = await lack(stateDir).catch(getMessage);
  if (lacking !== undefined) reasons.push({ code: 'disk.full', detail: lacking });
  return reasons;
}
