import type { Clock } from '../../../../kernel/clock.ts';
import type { Cluster } from '../cluster/cluster.ts';
import { ExecChannel } from './exec-channel.ts';
import { openExecSocket } from './exec-socket.ts';
import type { Heartbeats } from './heartbeats.ts';
import type { PodHold, PodLine } from './pod-line.ts';
import type { ProgramChannel } from './program-channel.ts';

/** It ends at SIGTERM, and reaps orphans, as the first process has to. */
const WAIT = 'trap "exit 0" TERM INT; while :; do sleep 3600 & wait $!; done';

/**
 * Runs the program, and ends the processes that it has left in its container: an exec is over only when no process holds its streams any more, so a
 * descendant would hide that the program has ended. The exit code is the program's, or 127 when there is no such program. The shell's own message
 * about a signal is dropped.
 */
const SUPERVISE = 'exec 3>&2 2>/dev/null; "$@" 2>&3 3>&-; code=$?; kill -KILL -1; exit $code';

/** A shell waits in each container; commands are started beside it. */
export const EXEC_HOLD: PodHold = { hostAliases: [], container: () => ({ command: ['/bin/sh', '-c', WAIT], env: [] }) };

/** Every command is an exec: its streams go through the API server. */
export class ExecLine implements PodLine {
  readonly hold = EXEC_HOLD;
  readonly start = ['/bin/sh', '-c', SUPERVISE, 'muster-start'];
  readonly endsContainer = false;
  readonly spoilt = new Promise<never>(() => {});
  readonly #cluster: Cluster;
  readonly #clock: Clock;
  readonly #heartbeats: Heartbeats;

  constructor(cluster: Cluster, clock: Clock, heartbeats: Heartbeats) {
    this.#cluster = cluster;
    this.#clock = clock;
    this.#heartbeats = heartbeats;
  }

  async exec(pod: string, container: string, command: readonly string[], signal: AbortSignal): Promise<ProgramChannel> {
    return await this.execIn(this.#cluster.namespace, pod, container, command, signal);
  }

  /** Opens the streams of a container's first process. */
  async attach(pod: string, container: string, signal: AbortSignal): Promise<ProgramChannel> {
    return await this.execIn(this.#cluster.namespace, pod, container, undefined, signal);
  }

  /** Runs a command in a pod of any namespace. Without a command, it attaches to the container's first process. */
  async execIn(
    namespace: string,
    pod: string,
    container: string,
    command: readonly string[] | undefined,
    signal: AbortSignal,
  ): Promise<ProgramChannel> {
    const socket = await openExecSocket(this.#cluster.config, { namespace, pod, container, command }, signal);
    return new ExecChannel(socket, this.#clock, this.#heartbeats);
  }

  /** Does nothing: every connection belongs to its command. */
  [Symbol.dispose](): void {}
}
