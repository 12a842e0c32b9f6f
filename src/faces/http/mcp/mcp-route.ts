import { Readable } from 'node:stream';
import { createMcpHandler, McpServer, type StandardSchemaWithJSON } from '@modelcontextprotocol/server';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { getMessage } from '../../../kernel/errors.ts';
import type { Log } from '../../../kernel/log.ts';
import type { EpisodeCalls } from '../../../service/arena/episode-service.ts';
import { PROBLEMS } from '../problems/problem-responses.ts';
import { toProblem } from '../problems/problem.ts';
import { requireCaller } from '../requests/caller.ts';
import { createGoneSignal } from '../requests/gone-signal.ts';
import { ARENA_TOOLS, type ToolParts } from './arena-tools.ts';

export interface McpRouteOptions {
  readonly arena: EpisodeCalls;
  readonly maxWaitSeconds: () => number;
  readonly version: string;
  readonly log: Log;
}

const rpc = z.looseObject({ jsonrpc: z.literal('2.0') });

/** Adds the Model Context Protocol over HTTP. No state is kept between two requests, so any server on the same store can answer the next one. */
export function addMcpRoute(instance: FastifyInstance, { arena, maxWaitSeconds, version, log }: McpRouteOptions): void {
  const app = instance.withTypeProvider<ZodTypeProvider>();
  const onDefect = (error: unknown): void => log.warn({ error: getMessage(error) }, 'a defect of Muster');
  app.post(
    '/mcp',
    {
      schema: {
        summary: 'The arena as tools of the Model Context Protocol (streamable HTTP)',
        tags: ['episodes of agents'],
        body: z.union([rpc, z.array(rpc).min(1).max(100)]).describe('messages of JSON-RPC'),
        response: {
          200: {
            description: 'messages of JSON-RPC, as JSON or as server-sent events',
            content: { 'application/json': { schema: z.unknown() } },
          },
          ...PROBLEMS,
          400: { ...PROBLEMS[400], content: { ...PROBLEMS[400].content, 'application/json': { schema: z.unknown() } } },
          406: { description: 'the header Accept leaves JSON or events out', content: { 'application/json': { schema: z.unknown() } } },
        },
      },
    },
    async (request, reply) => {
      const gone = createGoneSignal(reply);
      const wait = { milliseconds: maxWaitSeconds() * 1000, gone };
      const parts = { arena, caller: requireCaller(request.caller), wait, version, onDefect };
      // There is nothing to subscribe to.
      const handler = createMcpHandler(() => createMcpServer(parts), { maxSubscriptions: 0 });
      const answer = await handler.fetch(toFetchRequest(request, gone), { parsedBody: request.body });
      reply.code(answer.status).headers(Object.fromEntries(answer.headers));
      // The messages are sent unchanged: they were checked when they were made.
      reply.serializer((payload) => payload);
      return reply.send(answer.body === null ? '' : Readable.from(answer.body));
    },
  );
}

function toFetchRequest({ headers, body, host }: FastifyRequest, signal: AbortSignal): Request {
  const kept = new Headers();
  for (const [name, value] of Object.entries(headers))
    if (typeof value === 'string' && name !== 'content-length' && name !== 'authorization') kept.set(name, value);
  return new Request(`http://${host}/mcp`, { method: 'POST', headers: kept, body: JSON.stringify(body), signal });
}

const INSTRUCTIONS =
  'Solve programming tasks. Begin one with start_episode, work in its workspace with the other tools, and end it with submit. Each tool takes the episode that start_episode gave.';

interface McpParts extends ToolParts {
  readonly version: string;
  readonly onDefect: (error: unknown) => void;
}

/** Creates a server of the Model Context Protocol whose tools act for one caller. */
function createMcpServer({ version, onDefect, ...parts }: McpParts): McpServer {
  const server = new McpServer({ name: 'muster', title: 'Muster', version }, { instructions: INSTRUCTIONS });
  for (const { name, description, parameters, call } of ARENA_TOOLS)
    server.registerTool(name, { description, inputSchema: declareArguments(parameters) }, async (given) => {
      try {
        const { text, data, isError } = await call(given, parts);
        return { content: [{ type: 'text', text }], structuredContent: data, isError };
      } catch (error) {
        // The model receives the error: it can correct its call, or report that it cannot continue.
        const { status, code, detail } = toProblem(error);
        if (status === 500) onDefect(error);
        return { content: [{ type: 'text', text: detail }], structuredContent: { code }, isError: true };
      }
    });
  return server;
}

const anyArguments = z.record(z.string(), z.unknown());

/** Callers see the schema. Arguments that do not fit it still reach the tool, which explains more and counts them as a step. */
function declareArguments(parameters: Record<string, unknown>): StandardSchemaWithJSON<Record<string, unknown>, Record<string, unknown>> {
  const { validate } = anyArguments['~standard'];
  return { '~standard': { version: 1, vendor: 'muster', validate, jsonSchema: { input: () => parameters, output: () => parameters } } };
}
