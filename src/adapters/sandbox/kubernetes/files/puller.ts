import type { Readable } from 'node:stream';
import { raceWithAbort } from '../../../../kernel/abort.ts';
import { getMessage, MusterError } from '../../../../kernel/errors.ts';
import { RecentText } from '../../../../kernel/recent-text.ts';
import { fetchError, MOST_ANSWER_CHARACTERS, readPullAnswer } from '../../remote/pull-order.ts';
import type { ProgramChannel } from '../exec/program-channel.ts';
import type { InboxExec } from './inbox-upload.ts';

/**
 * Runs the program that fetches, in any container. Its order, which contains secrets, comes on its input, so no command line and no log of the API
 * server has it.
 *
 * @throws InfrastructureError `sandbox.fetch`; the signal's reason.
 */
export async function runPuller(exec: InboxExec, command: readonly string[], order: string, signal: AbortSignal): Promise<void> {
  let channel: ProgramChannel | undefined;
  try {
    signal.throwIfAborted();
    channel = await exec(command, signal);
    channel.stdin.end(order);
    const [stdout, stderr, end] = await raceWithAbort(
      Promise.all([readToEnd(channel.stdout), readToEnd(channel.stderr), channel.ended]),
      signal,
    );
    if (end.kind !== 'exited') throw fetchError(end.detail);
    readPullAnswer(stdout, stderr);
  } catch (error) {
    channel?.terminate();
    signal.throwIfAborted();
    throw error instanceof MusterError ? error : fetchError(getMessage(error), error);
  }
}

/** Reads all of the stream, unless it is longer than any answer: then its end, which is no answer. */
async function readToEnd(stream: Readable): Promise<string> {
  const kept = new RecentText(MOST_ANSWER_CHARACTERS);
  for await (const part of stream.setEncoding('utf8')) kept.append(String(part));
  return kept.take();
}
