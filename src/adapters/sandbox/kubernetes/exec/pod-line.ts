import type { V1Container, V1HostAlias } from '@kubernetes/client-node';
import type { ProgramChannel } from './program-channel.ts';

/** What a pod's containers do until they are used. */
export interface PodHold {
  readonly hostAliases: readonly V1HostAlias[];
  /** @param name of the container. */
  container(
    name: string,
  ): Pick<V1Container, 'command' | 'terminationMessagePolicy' | 'stdin' | 'stdinOnce'> & { readonly env: NonNullable<V1Container['env']> };
}

/** How Muster reaches the programs in one pod. It exists before the pod; disposing it ends its remaining connections. */
export interface PodLine extends Disposable {
  readonly hold: PodHold;
  /** Comes before a program's command: a missing program is exit code 127, as in a shell. */
  readonly start: readonly string[];
  /** Whether a container ends with a killed program in it: then its end says no more than the program's. */
  readonly endsContainer: boolean;
  /** Resolves with the reason when the line can no longer be trusted. */
  readonly spoilt: Promise<string>;
  /**
   * Runs a command in a container that runs.
   *
   * @throws InfrastructureError when it cannot.
   */
  exec(pod: string, container: string, command: readonly string[], signal: AbortSignal): Promise<ProgramChannel>;
}
