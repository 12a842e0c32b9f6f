import { getDialledUrl } from '../kubernetes/dial-back/dial-address.ts';
import type { DialBackGate } from '../kubernetes/dial-back/dial-back-gate.ts';
import { readAuthority } from '../kubernetes/dial-back/dial-back-line.ts';
import { DialledContainer } from '../kubernetes/dial-back/dialled-container.ts';
import type { ProgramChannel } from '../kubernetes/exec/program-channel.ts';
import type { DialBackSettings } from '../kubernetes/settings/pod-template.ts';

const STEP = 'step';

/** How Muster reaches the programs in one build: its step dials, and runs the commands that it receives, several at a time. */
export class BuildLine implements Disposable {
  /** Resolves with the reason when the line can no longer be trusted. */
  readonly spoilt: Promise<string>;
  /** Variables of the step, by which it finds Muster. */
  readonly variables: readonly string[];
  readonly #container = new DialledContainer(STEP, false);
  readonly #place: Disposable;

  private constructor(name: string, gate: DialBackGate, url: URL, authority: string | undefined) {
    const { promise, resolve } = Promise.withResolvers<string>();
    this.spoilt = promise;
    this.#place = gate.expect(name, STEP, this.#container, () => resolve('its token was presented twice'));
    this.variables = [
      `MUSTER_DIAL_URL=${new URL(`/dial-back/${name}/${STEP}`, url).href}`,
      `MUSTER_DIAL_TOKEN=${this.#container.firstToken}`,
      ...(authority === undefined ? [] : [`MUSTER_DIAL_AUTHORITY=${authority}`]),
    ];
  }

  /** @param name of the build at the gate. @throws InputError as `getDialledUrl` and `readAuthority` do. */
  static async open(name: string, settings: DialBackSettings, gate: DialBackGate): Promise<BuildLine> {
    return new BuildLine(name, gate, getDialledUrl(settings, gate.port), await readAuthority(settings));
  }

  /** Runs a command in the step, once it has come. @throws InfrastructureError when it cannot. */
  exec(command: readonly string[], signal: AbortSignal): Promise<ProgramChannel> {
    return this.#container.start(command, signal);
  }

  [Symbol.dispose](): void {
    this.#place[Symbol.dispose]();
    this.#container[Symbol.dispose]();
  }
}
