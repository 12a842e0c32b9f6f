import { CommandExitError, type CommandHandle, type Sandbox } from 'e2b';
import { raceWithAbort } from '../../../kernel/abort.ts';
import { InfrastructureError, getMessage, MusterError } from '../../../kernel/errors.ts';
import type { Fetching, FetchOrder, FetchWay } from '../../../kernel/fetching.ts';
import { HeldFiles } from '../remote/held-files.ts';
import { fetchError, createPullCommand, pullOrder, readPullAnswer } from '../remote/pull-order.ts';
import { INBOX } from '../upload-path.ts';
import { FILES_USER, INCOMPLETE } from './root-files.ts';
import { formatShellLine } from './shell-words.ts';

/** The longest time in which a command has to begin. */
const START_MS = 30_000;

/** Has files fetched inside of an E2B sandbox, by a program beside the runner. Its order, with what is secret in it, comes on its input. */
export class RemoteFetching implements Fetching {
  readonly ways: readonly FetchWay[] = ['pull'];
  readonly #remote: Sandbox;
  readonly #command: string;
  readonly #over: AbortSignal;
  readonly #awake: () => Promise<void> | undefined;
  readonly #held = new HeldFiles();
  #count = 0;

  /**
   * @param python the interpreter inside.
   * @param over aborted when the sandbox has ended.
   * @param awake resolves when it is not asleep.
   */
  constructor(remote: Sandbox, python: string, over: AbortSignal, awake: () => Promise<void> | undefined) {
    this.#remote = remote;
    this.#command = formatShellLine(createPullCommand(python));
    this.#over = over;
    this.#awake = awake;
  }

  async fetch(way: FetchWay, order: FetchOrder, signal: AbortSignal): Promise<string> {
    if (way !== 'pull') throw fetchError(`E2B does not have the way "${way}"`);
    await this.#awake();
    const either = AbortSignal.any([signal, this.#over]);
    return await this.#held.fetchOnce(order, () => this.#pull(order, either));
  }

  async #pull({ digest, files }: FetchOrder, signal: AbortSignal): Promise<string> {
    const inside = `${INBOX}/${digest.slice('sha256:'.length)}`;
    const incomplete = `${INCOMPLETE}/fetched-${(this.#count += 1)}`;
    try {
      signal.throwIfAborted();
      const { stdout, stderr } = await this.#run(pullOrder(incomplete, files, this.#held.bases), signal);
      readPullAnswer(stdout, stderr);
      await raceWithAbort(this.#remote.files.rename(incomplete, inside, { user: FILES_USER, signal }), signal);
      return inside;
    } catch (error) {
      if (this.#over.aborted) throw new InfrastructureError('sandbox.gone', 'the sandbox has ended', { cause: error });
      signal.throwIfAborted();
      throw error instanceof MusterError ? error : fetchError(getMessage(error), error);
    }
  }

  async #run(order: string, signal: AbortSignal): Promise<{ readonly stdout: string; readonly stderr: string }> {
    const limits = { timeoutMs: 0, requestTimeoutMs: START_MS, signal };
    const options = { background: true, stdin: true, user: FILES_USER, cwd: '/tmp', ...limits } as const;
    const handle: CommandHandle = await raceWithAbort(this.#remote.commands.run(this.#command, options), signal);
    try {
      await raceWithAbort(handle.sendStdin(order, { signal }), signal);
      await raceWithAbort(handle.closeStdin({ signal }), signal);
      return await raceWithAbort(handle.wait(), signal);
    } catch (error) {
      // Its messages are on its outputs.
      if (error instanceof CommandExitError) return error;
      await handle.kill().catch(() => false);
      throw error;
    }
  }
}
