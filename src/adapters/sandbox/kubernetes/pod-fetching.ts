import { text } from 'node:stream/consumers';
import { untilAborted } from '../../../kernel/abort.ts';
import { messageOf, MusterError } from '../../../kernel/errors.ts';
import type { Fetching, FetchOrder, FetchWay } from '../../../kernel/fetching.ts';
import type { PodFetching as PodFetchingSettings } from '../../../pool/pod-template.ts';
import { HeldFiles } from '../held-files.ts';
import { fetchError, pullOrder, readPullAnswer } from '../pull-order.ts';
import { INBOX } from '../upload-path.ts';
import type { ExecChannel } from './exec-channel.ts';
import type { InboxExec } from './inbox-upload.ts';

/**
 * Has files fetched in a pod: by a program beside the runner, in the container that may write the inbox. Its order, with what is secret in it, comes
 * on its input, so no command line and no log of the API server has it.
 */
export class PodFetching implements Fetching {
  readonly ways: readonly FetchWay[];
  readonly #exec: InboxExec;
  readonly #command: readonly string[];
  readonly #over: AbortSignal;
  readonly #held = new HeldFiles();

  /** @param over aborted when the sandbox is gone. */
  constructor({ ways, command }: PodFetchingSettings, exec: InboxExec, over: AbortSignal) {
    this.ways = ways;
    this.#command = command;
    this.#exec = exec;
    this.#over = over;
  }

  async fetch(way: FetchWay, order: FetchOrder, signal: AbortSignal): Promise<string> {
    if (!this.ways.includes(way)) throw fetchError(`its template does not have the way "${way}"`);
    const either = AbortSignal.any([signal, this.#over]);
    return await this.#held.once(order, () => this.#pull(order, either));
  }

  async #pull({ digest, files }: FetchOrder, signal: AbortSignal): Promise<string> {
    const into = `${INBOX}/${digest.slice('sha256:'.length)}`;
    await runPuller(this.#exec, this.#command, pullOrder(into, files, this.#held.bases), signal);
    return into;
  }
}

/** @throws InfrastructureError `sandbox.fetch`; the signal's reason. */
async function runPuller(exec: InboxExec, command: readonly string[], order: string, signal: AbortSignal): Promise<void> {
  let channel: ExecChannel | undefined;
  try {
    signal.throwIfAborted();
    channel = await exec(command, signal);
    channel.stdin.end(order);
    const [stdout, stderr, end] = await untilAborted(Promise.all([text(channel.stdout), text(channel.stderr), channel.ended]), signal);
    if (end.kind !== 'exited') throw fetchError(end.detail);
    readPullAnswer(stdout, stderr);
  } catch (error) {
    channel?.terminate();
    signal.throwIfAborted();
    throw error instanceof MusterError ? error : fetchError(messageOf(error), error);
  }
}
