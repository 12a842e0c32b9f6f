import { McpServer, type StandardSchemaWithJSON } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { toProblem } from '../problems/problem.ts';
import { ARENA_TOOLS, type ToolParts } from './arena-tools.ts';

const INSTRUCTIONS =
  'Solve programming tasks. Begin one with start_episode, work in its workspace with the other tools, and end it with submit. Each tool takes the episode that start_episode gave.';

export interface McpParts extends ToolParts {
  readonly version: string;
  readonly onDefect: (error: unknown) => void;
}

/** A server of the Model Context Protocol whose tools act for one caller. */
export function createMcpServer({ version, onDefect, ...parts }: McpParts): McpServer {
  const server = new McpServer({ name: 'muster', title: 'Muster', version }, { instructions: INSTRUCTIONS });
  for (const { name, description, parameters, call } of ARENA_TOOLS)
    server.registerTool(name, { description, inputSchema: declareArguments(parameters) }, async (given) => {
      try {
        const { text, data, isError } = await call(given, parts);
        return { content: [{ type: 'text', text }], structuredContent: data, isError };
      } catch (error) {
        // The model gets the error: it can mend what it got wrong, or say that it cannot go on.
        const { status, code, detail } = toProblem(error);
        if (status === 500) onDefect(error);
        return { content: [{ type: 'text', text: detail }], structuredContent: { code }, isError: true };
      }
    });
  return server;
}

const anyArguments = z.record(z.string(), z.unknown());

/** Callers see the schema, and arguments that do not fit it reach the tool, which says more of them and counts them as a step. */
function declareArguments(parameters: Record<string, unknown>): StandardSchemaWithJSON<Record<string, unknown>, Record<string, unknown>> {
  const { validate } = anyArguments['~standard'];
  return { '~standard': { version: 1, vendor: 'muster', validate, jsonSchema: { input: () => parameters, output: () => parameters } } };
}
