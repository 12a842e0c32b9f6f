import fastify, { type FastifyError, type FastifyInstance } from 'fastify';
import type { Clock } from '../kernel/clock.ts';
import { messageOf } from '../kernel/errors.ts';
import type { Log } from '../kernel/log.ts';
import type { EvaluationService } from '../service/evaluation-service.ts';
import { LOCAL_CALLER, type Authenticate } from './caller.ts';
import { documentation } from './documentation.ts';
import { cancelRoute, evaluationRoutes } from './evaluation-routes.ts';
import { operationRoutes, type Readiness } from './operation-routes.ts';
import { problem, PROBLEM_TYPE, problemOf } from './problem.ts';
import { checkBySchemas, routeOf } from './schema-compilers.ts';
import { episodeRoutes, eventRoutes } from './stream-routes.ts';
import { submissionRoutes } from './submission-routes.ts';

export interface HttpServerOptions {
  readonly service: EvaluationService;
  readonly clock: Clock;
  readonly log: Log;
  readonly version: string;
  readonly maxBodyBytes: number;
  readonly maxWaitSeconds: number;
  /** Everybody is the operator when left out: for the loopback interface alone. */
  readonly authenticate?: Authenticate;
  readonly readiness: Readiness;
  /** Further routes: of pools, figures, checkpoints. */
  readonly more?: readonly ((app: FastifyInstance) => void)[];
}

const MAX_HEADER_BYTES = 16 * 1024;
/** For a request to arrive, headers and body; answers may take as long as they like. */
const REQUEST_MILLISECONDS = 60_000;

/** The HTTP face of a service. It listens once `listen` is called, and is closed with `close`. */
export async function createHttpServer(options: HttpServerOptions): Promise<FastifyInstance> {
  const { log, clock, authenticate } = options;
  const app = fastify({
    bodyLimit: options.maxBodyBytes,
    requestTimeout: REQUEST_MILLISECONDS,
    http: { maxHeaderSize: MAX_HEADER_BYTES },
    // Streams of events end with the service; what is idle by then is closed.
    forceCloseConnections: 'idle',
    routerOptions: { maxParamLength: 128 },
  });
  checkBySchemas(app);
  handleErrors(app, log);
  app.decorateRequest('caller');
  app.addHook('onRequest', async (request) => {
    request.caller = authenticate ? await authenticate(request) : LOCAL_CALLER;
  });
  app.addHook('onResponse', async (request, reply) => {
    const fields = { request: request.id, call: routeOf(request), status: reply.statusCode, milliseconds: Math.round(reply.elapsedTime) };
    log.debug(fields, 'answered');
  });
  await documentation(app, options.version);
  app.after(() => {
    submissionRoutes(app, options);
    evaluationRoutes(app, options.service);
    cancelRoute(app, options.service);
    eventRoutes(app, { ...options, clock });
    episodeRoutes(app, { ...options, clock });
    operationRoutes(app, options.readiness);
    for (const routes of options.more ?? []) routes(app);
  });
  await app.ready();
  return app;
}

function handleErrors(app: FastifyInstance, log: Log): void {
  app.setErrorHandler<FastifyError>((error, request, reply) => {
    const document = problemOf(error);
    const fields = { request: request.id, call: routeOf(request), error: messageOf(error) };
    if (document.status === 500) log.warn({ ...fields, stack: error.stack }, 'a defect of Muster');
    else if (document.status > 500) log.warn(fields, 'a request could not be served');
    if (document.status === 503) reply.header('retry-after', '5');
    return reply.code(document.status).type(PROBLEM_TYPE).serializer(JSON.stringify).send(document);
  });
  app.setNotFoundHandler((request, reply) => {
    const document = problem(
      404,
      'request.not-found',
      `there is no ${request.method} ${request.url.split('?')[0]}; /docs lists what there is`,
    );
    return reply.code(404).type(PROBLEM_TYPE).serializer(JSON.stringify).send(document);
  });
}
