import fastify, { type FastifyError, type FastifyInstance } from 'fastify';
import type { Clock } from '../../kernel/clock.ts';
import { InputError, getMessage } from '../../kernel/errors.ts';
import type { Log } from '../../kernel/log.ts';
import { formatExactBytes } from '../../kernel/text/figures.ts';
import { VERSION_HEADER } from '../server-version.ts';
import type { CheckpointService } from '../../service/checkpoints/checkpoint-service.ts';
import type { CheckpointUse } from '../../service/checkpoints/checkpoint-use.ts';
import type { RolloutCalls } from '../../service/rollouts/rollout-service.ts';
import type { EpisodeCalls } from '../../service/arena/episode-service.ts';
import type { EvaluationService } from '../../service/evaluation-service.ts';
import { AllowedMethods } from './requests/allowed-methods.ts';
import { limitBodyRoom, limitBodyTime } from './requests/body-room.ts';
import { addDocumentation } from './documentation.ts';
import { addCheckpointRoutes, isUpload } from './routes/checkpoint-routes.ts';
import { addAgentEpisodeRoutes } from './routes/agent-episode-routes.ts';
import { addGymRoutes } from './routes/gym-routes.ts';
import { addCancelRoute, addEvaluationRoutes, addPlayingRoute } from './routes/evaluation-routes.ts';
import { guard } from './requests/guard.ts';
import { identifyLocal, type Identify } from './requests/identify.ts';
import { takeJsonBodies } from './problems/json-bodies.ts';
import { addOperationRoutes, type Readiness } from './routes/operation-routes.ts';
import { createProblem, PROBLEM_TYPE, toProblem } from './problems/problem.ts';
import { getProblemHeaders } from './problems/problem-headers.ts';
import { MethodNotAllowedError } from './problems/refusals.ts';
import { checkBySchemas, formatRoute } from './problems/schema-compilers.ts';
import { addEpisodeRoutes, addEventRoutes } from './routes/stream-routes.ts';
import { StreamRoom, type StreamLimits } from './requests/stream-room.ts';
import { addMcpRoute } from './mcp/mcp-route.ts';
import { addOpenEnvRoutes } from './openenv/openenv-routes.ts';
import { isSocketRequest, SocketUpgrades } from './requests/socket-upgrades.ts';
import { addRolloutRoutes } from './routes/rollouts/rollout-routes.ts';
import { addReplayRoute } from './routes/replay-route.ts';
import { addReportRoute } from './routes/report-route.ts';
import { addSessionRoutes } from './routes/session-routes.ts';
import { addSubmissionRoutes } from './routes/submission-routes.ts';
import { addTranscriptRoute } from './routes/transcript-route.ts';

export interface HttpServerOptions {
  readonly service: EvaluationService;
  /** Decides who may read what programs printed. */
  readonly use: Pick<CheckpointUse, 'findUsable'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly version: string;
  readonly maxBodyBytes: number;
  readonly maxWaitSeconds: number;
  /** When left out, everyone on this machine is an operator. */
  readonly identify?: Identify;
  /** The requests of one principal; undefined for any number. */
  readonly requestsPerMinute?: number | undefined;
  /** Any number when left out. */
  readonly streams?: StreamLimits;
  readonly readiness: Readiness;
  /** Uploads of checkpoints; not offered when left out. */
  readonly checkpoints?: CheckpointService;
  /** Agents' episodes; not offered when left out. */
  readonly arena?: EpisodeCalls;
  /** Streams of groups for trainings; not offered when left out. */
  readonly rollouts?: RolloutCalls;
  /** Further routes: of pools, figures, checkpoints. */
  readonly more?: readonly ((app: FastifyInstance, room: StreamRoom) => void)[];
}

const MAX_HEADER_BYTES = 16 * 1024;
/** The longest path parameter: the id of a task has up to 260 characters, of up to twelve bytes each. Each route checks its own. */
const MAX_PARAMETER_LENGTH = 8 * 1024;
/** Time for a request's headers to arrive; the route decides the time for the body. */
const HEADERS_MILLISECONDS = 60_000;

/** Creates the HTTP face of a service. It listens once `listen` is called, and is closed with `close`. */
export async function createHttpServer(options: HttpServerOptions): Promise<FastifyInstance> {
  const { log, clock, identify = identifyLocal, requestsPerMinute, checkpoints } = options;
  const app = fastify({
    bodyLimit: options.maxBodyBytes,
    // Uploads take hours.
    requestTimeout: 0,
    // The default is ten seconds, in which a busy machine does not always load the pages of the documentation.
    pluginTimeout: 0,
    http: { maxHeaderSize: MAX_HEADER_BYTES, headersTimeout: HEADERS_MILLISECONDS, shouldUpgradeCallback: isSocketRequest },
    // Streams of events end with the service; connections that are idle by then are closed.
    forceCloseConnections: 'idle',
    routerOptions: { maxParamLength: MAX_PARAMETER_LENGTH },
  });
  const methods = new AllowedMethods();
  methods.watch(app);
  checkBySchemas(app);
  takeJsonBodies(app, options.maxBodyBytes);
  handleErrors(app, log, options.maxBodyBytes);
  limitBodyTime(app, clock, isUpload);
  const count = await guard(app, { identify, requestsPerMinute });
  sayVersion(app, options.version);
  refuseUnknown(app, methods);
  limitBodyRoom(app, { maxBodyBytes: options.maxBodyBytes, isStreamed: isUpload });
  logAnswers(app, log);
  await addDocumentation(app, { version: options.version, takesTokens: identify !== identifyLocal });
  if (checkpoints) await app.register((scope) => addCheckpointRoutes(scope, checkpoints));
  addSubmissionRoutes(app, options);
  addEvaluationRoutes(app, options);
  addCancelRoute(app, options.service);
  addReportRoute(app, options);
  const room = new StreamRoom(options.streams ?? { ofOne: undefined, ofAll: undefined });
  addEventRoutes(app, { ...options, clock, room });
  addEpisodeRoutes(app, { ...options, clock, room });
  const upgrades = new SocketUpgrades(app, clock, options.maxBodyBytes);
  addReplayRoute(app, { service: options.service, room });
  addTranscriptRoute(app, options);
  addPlayingRoute(app, options.service);
  if (options.arena) {
    addAgentEpisodeRoutes(app, { arena: options.arena, clock, room, maxWaitSeconds: () => options.maxWaitSeconds });
    addGymRoutes(app, options.arena);
    const { arena, version } = options;
    addMcpRoute(app, { arena, version, log, maxWaitSeconds: () => options.maxWaitSeconds });
    await app.register(async (scope) =>
      addOpenEnvRoutes(scope, { arena, room, upgrades, maxWaitSeconds: () => options.maxWaitSeconds, count, log }),
    );
  }
  if (options.rollouts) addRolloutRoutes(app, { rollouts: options.rollouts, clock, room, maxWaitSeconds: () => options.maxWaitSeconds });
  addOperationRoutes(app, options.readiness);
  addSessionRoutes(app, options.version);
  for (const routes of options.more ?? []) routes(app, room);
  await app.ready();
  return app;
}

/** Clients use this header to warn of a server of another version. Callers that may not know it have been answered by the guard before. */
function sayVersion(app: FastifyInstance, version: string): void {
  app.addHook('onRequest', async (_, reply) => {
    reply.header(VERSION_HEADER, version);
  });
}

function logAnswers(app: FastifyInstance, log: Log): void {
  app.addHook('onResponse', async (request, reply) => {
    const fields = {
      request: request.id,
      call: formatRoute(request),
      status: reply.statusCode,
      milliseconds: Math.round(reply.elapsedTime),
    };
    log.debug(fields, 'answered');
  });
}

function handleErrors(app: FastifyInstance, log: Log, maxBodyBytes: number): void {
  const most = `expected at most ${formatExactBytes(maxBodyBytes)}, the server's setting server.maxBodyBytes; send less in one request`;
  const tooLarge = createProblem(413, 'request.too-large', `body: it is too large; ${most}`);
  app.setErrorHandler<FastifyError>((error, request, reply) => {
    const document = error.code === 'FST_ERR_CTP_BODY_TOO_LARGE' ? tooLarge : toProblem(error);
    const fields = { request: request.id, call: formatRoute(request), error: getMessage(error) };
    if (document.status === 500) log.warn({ ...fields, stack: error.stack }, 'a defect of Muster');
    else if (document.status > 500) log.warn(fields, 'a request could not be served');
    return reply
      .headers(getProblemHeaders(error, document.status))
      .code(document.status)
      .type(PROBLEM_TYPE)
      .serializer(JSON.stringify)
      .send(document);
  });
}

/** Checked before everything else: the content of a request to an unknown route does not matter. */
function refuseUnknown(app: FastifyInstance, methods: AllowedMethods): void {
  app.addHook('onRequest', async ({ is404, method, url }) => {
    if (!is404) return;
    const asked = `${method} ${url.split('?')[0]}`;
    const allowed = methods.listMethods(url);
    if (allowed.length > 0) throw new MethodNotAllowedError(asked, allowed);
    throw new InputError('request.not-found', `there is no ${asked}; /docs lists the calls`);
  });
}
