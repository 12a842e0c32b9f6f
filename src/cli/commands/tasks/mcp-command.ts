import { Command } from 'commander';
import { InputError } from '../../../kernel/errors.ts';
import { readLines } from '../../../faces/client/wire.ts';
import type { McpRelay } from '../../../faces/client/mcp-relay.ts';
import { addServerFlags, type Connect, type ServerFlags } from '../../flags/server-flags.ts';
import { watchInterruption } from '../../terminal/interruption.ts';
import { print } from '../../terminal/output.ts';

/** The largest number of calls under way at a time; further ones are read later. */
const MOST_AT_ONCE = 64;

/** Offers the arena's tools to programs that speak the Model Context Protocol over pipes. */
export function createMcpCommand(connect: Connect): Command {
  const command = new Command('mcp')
    .summary('the tools of the arena over stdin and stdout (Model Context Protocol)')
    .description('Relays the Model Context Protocol between stdin and stdout and the /mcp of a server, for agents that start their tools.');
  return addServerFlags(command).action(async (flags: ServerFlags) => {
    using interrupt = watchInterruption(process, 'leaving');
    await relayAll(connect(flags).createMcpRelay(), process.stdin, interrupt.signal);
  });
}

/** Relays until the input ends. Calls wait only for the first one, which negotiates the version. */
async function relayAll(relay: McpRelay, input: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<void> {
  const open = new Set<Promise<void>>();
  const answer = async (line: string): Promise<void> => {
    for (const text of await relay.relay(line, signal)) await print(process.stdout, `${text}\n`);
  };
  let isFirst = true;
  for await (const line of readLines(input, createTooLongError)) {
    if (signal.aborted) break;
    const answering: Promise<void> = answer(line).finally(() => open.delete(answering));
    open.add(answering);
    if (isFirst || open.size >= MOST_AT_ONCE) await Promise.race(open);
    isFirst = false;
  }
  await Promise.all(open);
}

function createTooLongError(most: number): InputError {
  return new InputError('mcp.line', `stdin: a line has more than ${most} characters; expected one message of JSON-RPC a line`);
}
