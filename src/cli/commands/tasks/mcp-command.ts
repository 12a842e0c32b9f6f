import { Command } from 'commander';
import { InputError } from '../../../kernel/errors.ts';
import { readLines } from '../../../faces/client/wire.ts';
import type { McpRelay } from '../../../faces/client/mcp-relay.ts';
import { addServerFlags, type Connect, type ServerFlags } from '../../flags/server-flags.ts';
import { watchInterruption } from '../../terminal/interruption.ts';
import { print } from '../../terminal/output.ts';

/** Calls that are under way at a time; what comes beyond them is read later. */
const MOST_AT_ONCE = 64;

/** The arena's tools for programs that speak the Model Context Protocol over pipes. */
export function createMcpCommand(connect: Connect): Command {
  const command = new Command('mcp')
    .summary('the tools of the arena over stdin and stdout (Model Context Protocol)')
    .description('Relays the Model Context Protocol between stdin and stdout and the /mcp of a server, for agents that start their tools.');
  return addServerFlags(command).action(async (flags: ServerFlags) => {
    using interrupt = watchInterruption(process, 'leaving');
    await relayAll(connect(flags).createMcpRelay(), process.stdin, interrupt.signal);
  });
}

/** Until the input ends. A call does not wait for those before it, but for the first, which agrees on a version. */
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
