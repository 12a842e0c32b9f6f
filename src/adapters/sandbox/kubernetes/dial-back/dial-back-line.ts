import { readFile } from 'node:fs/promises';
import type { V1HostAlias } from '@kubernetes/client-node';
import type { Clock } from '../../../../kernel/clock.ts';
import { Deadline } from '../../../../kernel/deadline.ts';
import { InfrastructureError, InputError, getMessage } from '../../../../kernel/errors.ts';
import type { DialBackSettings } from '../settings/pod-template.ts';
import { INBOX_CONTAINER, PROGRAM_CONTAINER } from '../pods/container-names.ts';
import type { PodHold, PodLine } from '../exec/pod-line.ts';
import type { ProgramChannel } from '../exec/program-channel.ts';
import { getDialledUrl, resolveHostAliases } from './dial-address.ts';
import type { DialBackGate } from './dial-back-gate.ts';
import { DialledContainer } from './dialled-container.ts';

/** A container that runs dials at once, and tries for a minute. */
const ARRIVAL_MS = 75_000;

/** Settings that all pods of one template get. */
interface Directions {
  readonly url: URL;
  readonly hostAliases: readonly V1HostAlias[];
  /** PEM text. */
  readonly authority: string | undefined;
  readonly command: readonly string[];
}

/** The containers of one pod, which dial. Only the pod itself goes through the API server. */
export class DialBackLine implements PodLine {
  readonly hold: PodHold;
  /** The dialler waits for the program's own end, even if other processes still hold its streams. */
  readonly start = ['/bin/sh', '-c', 'exec "$@"', 'muster-start'];
  readonly endsContainer = true;
  readonly spoilt: Promise<string>;
  readonly #clock: Clock;
  readonly #containers: ReadonlyMap<string, DialledContainer>;
  readonly #places: readonly Disposable[];

  private constructor(pod: string, gate: DialBackGate, directions: Directions, clock: Clock) {
    const { promise, resolve } = Promise.withResolvers<string>();
    this.spoilt = promise;
    this.#clock = clock;
    this.#containers = new Map([
      [PROGRAM_CONTAINER, new DialledContainer(PROGRAM_CONTAINER, true)],
      [INBOX_CONTAINER, new DialledContainer(INBOX_CONTAINER, false)],
    ]);
    const onTheft = (): void =>
      resolve('its token was presented twice: by another client, or again after its connection broke within the handshake');
    this.#places = [...this.#containers].map(([name, container]) => gate.expect(pod, name, container, onTheft));
    this.hold = {
      hostAliases: directions.hostAliases,
      container: (name) => buildHold(pod, name, this.#getContainer(name).firstToken, directions),
    };
  }

  /** @throws InputError for settings that cannot be passed to pods: see `getAdvertisedUrl`, `resolveHostAliases`, `readAuthority`. */
  static async open(pod: string, settings: DialBackSettings, gate: DialBackGate, clock: Clock): Promise<DialBackLine> {
    const url = getDialledUrl(settings, gate.port);
    const [hostAliases, authority] = await Promise.all([resolveHostAliases(settings.provider, url), readAuthority(settings)]);
    const command = [settings.python, '-I', settings.dialler];
    return new DialBackLine(pod, gate, { url, hostAliases, authority, command }, clock);
  }

  async exec(_pod: string, container: string, command: readonly string[], signal: AbortSignal): Promise<ProgramChannel> {
    const createTimeoutError = (): Error =>
      new InfrastructureError(
        'kubernetes.dial-back',
        `the container "${container}" runs, but did not reach Muster within ${ARRIVAL_MS / 1000} s; can pods reach kubernetes.dialBack.advertise, and does a NetworkPolicy allow it?`,
      );
    using deadline = new Deadline(this.#clock, ARRIVAL_MS, createTimeoutError, signal);
    return await this.#getContainer(container).start(command, deadline.signal);
  }

  [Symbol.dispose](): void {
    for (const place of this.#places) place[Symbol.dispose]();
    for (const container of this.#containers.values()) container[Symbol.dispose]();
  }

  #getContainer(name: string): DialledContainer {
    const container = this.#containers.get(name);
    if (!container) throw new InfrastructureError('kubernetes.dial-back', `no container is called "${name}"`);
    return container;
  }
}

/**
 * Reads the certificates that pods accept as Muster's: the authority's, or else Muster's own.
 *
 * @throws InputError `PROVIDER.dial-back-authority` when it cannot be read.
 */
export async function readAuthority({ provider, authority, certificate }: DialBackSettings): Promise<string | undefined> {
  const file = authority ?? certificate;
  if (file === undefined) return undefined;
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw new InputError(
      `${provider}.dial-back-authority`,
      `the certificates that pods are to trust cannot be read: ${getMessage(error)}; set ${provider}.dialBack.authority to a file of PEM`,
      { cause: error },
    );
  }
}

function buildHold(
  pod: string,
  container: string,
  token: string,
  { url, authority, command }: Directions,
): ReturnType<PodHold['container']> {
  const env = [
    { name: 'MUSTER_DIAL_URL', value: new URL(`/dial-back/${pod}/${container}`, url).href },
    { name: 'MUSTER_DIAL_TOKEN', value: token },
    ...(authority === undefined ? [] : [{ name: 'MUSTER_DIAL_AUTHORITY', value: authority }]),
  ];
  // The dialler's last message is then the reason of the container's end.
  return { command: [...command], env, terminationMessagePolicy: 'FallbackToLogsOnError' };
}
