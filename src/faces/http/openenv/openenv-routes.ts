import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { isTaskId } from '../../../agents/tasks/task-ids.ts';
import { InputError, getMessage } from '../../../kernel/errors.ts';
import type { Log } from '../../../kernel/log.ts';
import type { EpisodeCalls } from '../../../service/arena/episode-service.ts';
import { stepToReward } from '../../../service/arena/step-to-reward.ts';
import { toProblem, RequestInvalidError } from '../problems/problem.ts';
import { PROBLEMS } from '../problems/problem-responses.ts';
import { requireCaller } from '../requests/caller.ts';
import { createGoneSignal } from '../requests/gone-signal.ts';
import type { SocketUpgrades } from '../requests/socket-upgrades.ts';
import type { StreamRoom } from '../requests/stream-room.ts';
import { createErrorFrame, buildOpenEnvSchemas, openEnvStateSchema, resetDataSchema, resultSchema } from './openenv-frames.ts';
import { answerSessionRpc } from './openenv-rpc.ts';
import { toActionResult } from './openenv-observation.ts';
import { OpenEnvSession, toResetResult } from './openenv-session.ts';
import { serveSession } from './openenv-socket.ts';

export interface OpenEnvRoutesOptions {
  readonly arena: EpisodeCalls;
  readonly room: StreamRoom;
  readonly upgrades: SocketUpgrades;
  readonly maxWaitSeconds: () => number;
  /** Counts a message as a request of its caller. */
  readonly count: (request: FastifyRequest) => Promise<void>;
  readonly log: Log;
}

const TAGS = ['OpenEnv'];
const params = z.object({ task: z.string().max(260).refine(isTaskId, 'expected the id of a task, or the name of its directory') });

const metadataSchema = z.strictObject({
  name: z.string(),
  description: z.string(),
  readme_content: z.string().nullable().describe('the instruction of the agent'),
  version: z.string().nullable().describe('digest of the task'),
  author: z.string().nullable(),
  documentation_url: z.string().nullable(),
});

/** Offers each task as an environment of OpenEnv. Its clients use http://HOST/openenv/TASK as the environment's address. */
export function addOpenEnvRoutes(instance: FastifyInstance, options: OpenEnvRoutesOptions): void {
  // OpenEnv answers a request that is not valid with 422.
  instance.setErrorHandler((error) => {
    throw error instanceof RequestInvalidError ? new InputError(error.code, error.message) : error;
  });
  addSocketRoute(instance, options);
  addListRoute(instance, options);
  addDescriptionRoutes(instance, options);
  addResetRoute(instance, options);
  addStepRoute(instance, options);
  addStateRoute(instance, options);
  addRpcRoute(instance, options);
}

function addSocketRoute(instance: FastifyInstance, options: OpenEnvRoutesOptions): void {
  const app = instance.withTypeProvider<ZodTypeProvider>();
  const { arena, room, upgrades, maxWaitSeconds, count, log } = options;
  app.get('/openenv/:task/ws', { exposeHeadRoute: false, schema: { hide: true, params } }, (request, reply) => {
    const caller = requireCaller(request.caller);
    const { task } = request.params;
    const socket = upgrades.accept(request, reply);
    if (socket === undefined) return;
    let leave: () => void;
    try {
      leave = room.enter(caller.principal);
    } catch (error) {
      socket.send(JSON.stringify(createErrorFrame('CAPACITY_REACHED', toProblem(error).detail)));
      return socket.close();
    }
    const gone = new AbortController();
    socket.once('close', () => gone.abort(new DOMException('the caller has gone', 'AbortError')));
    const onDefect = (error: unknown): void => log.warn({ task, error: getMessage(error) }, 'a defect of Muster');
    const session = new OpenEnvSession({ arena, caller, task, patience: () => maxWaitSeconds() * 1000, gone: gone.signal, onDefect });
    serveSession(socket, session, {
      count: () => count(request),
      refusal: (error) => ({ frame: createErrorFrame('EXECUTION_ERROR', toProblem(error).detail), closes: false }),
      onEnd: leave,
    });
  });
}

function addListRoute(instance: FastifyInstance, { arena }: OpenEnvRoutesOptions): void {
  instance.withTypeProvider<ZodTypeProvider>().get(
    '/openenv',
    {
      schema: {
        summary: 'Tasks that are served as environments of OpenEnv',
        tags: TAGS,
        response: { 200: z.strictObject({ environments: z.array(z.strictObject({ name: z.string(), path: z.string() })) }), ...PROBLEMS },
      },
    },
    async () => ({ environments: (await arena.listTasks()).map(({ id }) => ({ name: id, path: `/openenv/${encodeURIComponent(id)}` })) }),
  );
}

function addDescriptionRoutes(instance: FastifyInstance, { arena }: OpenEnvRoutesOptions): void {
  const app = instance.withTypeProvider<ZodTypeProvider>();
  app.get(
    '/openenv/:task/metadata',
    { schema: { summary: 'What a task is, for OpenEnv', tags: TAGS, params, response: { 200: metadataSchema, ...PROBLEMS } } },
    async ({ params: { task: name } }) => {
      const { id, description, digest, steps } = (await arena.findTask(name)).task;
      const nothing = { author: null, documentation_url: null };
      return { name: id, description: description || id, readme_content: steps[0].instruction, version: digest, ...nothing };
    },
  );
  app.get(
    '/openenv/:task/schema',
    {
      schema: {
        summary: 'JSON Schemas of actions, observations and states, for OpenEnv',
        tags: TAGS,
        params,
        response: {
          200: z.strictObject({ action: z.looseObject({}), observation: z.looseObject({}), state: z.looseObject({}) }),
          ...PROBLEMS,
        },
      },
    },
    async ({ params: { task } }) => {
      await arena.findTask(task);
      return buildOpenEnvSchemas();
    },
  );
  app.get(
    '/openenv/:task/health',
    {
      schema: {
        summary: 'Whether a task can be played, for OpenEnv',
        tags: TAGS,
        params,
        response: { 200: z.strictObject({ status: z.literal('healthy') }), ...PROBLEMS },
      },
    },
    async ({ params: { task } }) => {
      await arena.findTask(task);
      return { status: 'healthy' } as const;
    },
  );
}

const stepSchema = z
  .looseObject({
    action: z.record(z.string(), z.unknown()),
    episode_id: z.string().describe('`observation.episode` of the reset'),
  })
  .describe('OpenEnvStep');

/** Adds OpenEnv's calls without a connection. Its own server makes an environment for each call; here a step names its episode. */
function addResetRoute(instance: FastifyInstance, { arena }: OpenEnvRoutesOptions): void {
  instance.withTypeProvider<ZodTypeProvider>().post(
    '/openenv/:task/reset',
    {
      schema: {
        summary: 'Begin an episode, for OpenEnv',
        tags: TAGS,
        params,
        body: resetDataSchema.nullish(),
        response: { 200: resultSchema, ...PROBLEMS },
      },
    },
    async ({ params: { task }, body, caller }) => {
      const { agent, seed } = body ?? {};
      const started = await arena.start({ task, agent: agent ?? 'openenv', seed: seed ?? 0 }, requireCaller(caller));
      const result = toResetResult(started);
      return { ...result, observation: { ...result.observation } };
    },
  );
}

function addStepRoute(instance: FastifyInstance, { arena, maxWaitSeconds }: OpenEnvRoutesOptions): void {
  instance.withTypeProvider<ZodTypeProvider>().post(
    '/openenv/:task/step',
    {
      schema: {
        summary: 'Take a step of an episode, for OpenEnv; the last one waits for the reward',
        tags: TAGS,
        params,
        body: stepSchema,
        response: { 200: resultSchema, ...PROBLEMS },
      },
    },
    async ({ body: { action, episode_id: id }, caller }, reply) => takeStep({ arena, maxWaitSeconds }, id, action, caller, reply),
  );
}

function addStateRoute(instance: FastifyInstance, { arena }: OpenEnvRoutesOptions): void {
  instance.withTypeProvider<ZodTypeProvider>().get(
    '/openenv/:task/state',
    {
      schema: {
        summary: 'The state of an episode, for OpenEnv',
        tags: TAGS,
        params,
        querystring: z.strictObject({ episode_id: z.string().optional() }),
        response: { 200: openEnvStateSchema, ...PROBLEMS },
      },
    },
    async ({ params: { task }, query: { episode_id: id }, caller }) => {
      if (id === undefined) return { episode_id: null, step_count: 0, task, episode: null };
      const { steps } = await arena.find(id, requireCaller(caller));
      return { episode_id: id, step_count: steps, task, episode: id };
    },
  );
}

function addRpcRoute(instance: FastifyInstance, { arena, maxWaitSeconds }: OpenEnvRoutesOptions): void {
  instance.withTypeProvider<ZodTypeProvider>().post(
    '/openenv/:task/mcp',
    {
      schema: {
        summary: 'Call the tools of a task by JSON-RPC, for OpenEnv’s client for tools; a session is an episode',
        tags: TAGS,
        params,
        body: z.unknown().describe('a request of JSON-RPC: openenv/session/create, openenv/session/close, tools/list, tools/call'),
        response: { 200: z.looseObject({ jsonrpc: z.literal('2.0') }), ...PROBLEMS },
      },
    },
    async ({ params: { task }, body, caller }, reply) => {
      const wait = { milliseconds: maxWaitSeconds() * 1000, gone: createGoneSignal(reply) };
      return { jsonrpc: '2.0' as const, ...(await answerSessionRpc({ arena, caller: requireCaller(caller), task, wait }, body)) };
    },
  );
}

async function takeStep(
  { arena, maxWaitSeconds }: Pick<OpenEnvRoutesOptions, 'arena' | 'maxWaitSeconds'>,
  id: string,
  action: Record<string, unknown>,
  caller: FastifyRequest['caller'],
  reply: FastifyReply,
): Promise<z.infer<typeof resultSchema>> {
  const wait = { milliseconds: maxWaitSeconds() * 1000, gone: createGoneSignal(reply) };
  const { answer, reward } = await stepToReward(arena, id, requireCaller(caller), action, wait);
  const result = toActionResult(id, { answer, reward });
  if (result) return { ...result, observation: { ...result.observation } };
  throw new InputError('episode.grading.conflict', `episode ${id} is still being graded; send the step again`);
}
