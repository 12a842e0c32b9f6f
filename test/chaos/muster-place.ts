import type { MusterClient } from '../../src/faces/client/muster-client.ts';
import { connect } from '../../src/app/client/server-client.ts';
import type { MusterCommand } from '../end-to-end/muster-command.ts';
import type { Stage } from '../end-to-end/stage.ts';
import { freePort } from '../support/free-port.ts';

/** The whole of a run on a slow machine; whatever hangs is ended, so that nothing outlives it. */
const DEADLINE_MS = 3_600_000;

/** One place where a Muster runs, is killed and is started again: always under the same address, with the same state. */
export class MusterPlace {
  readonly name: string;
  readonly stateDir: string;
  readonly client: MusterClient;
  readonly #stage: Stage;
  readonly #config: string;
  #command: MusterCommand | undefined;

  private constructor(stage: Stage, name: string, config: string, port: number) {
    this.name = name;
    this.stateDir = `${stage.stateDir}/${name}`;
    this.client = connect(`http://127.0.0.1:${port}`);
    this.#stage = stage;
    this.#config = config;
  }

  /** @param name of its configuration and state. @param config without its port. */
  static async prepare(stage: Stage, name: string, config: { readonly server: object }): Promise<MusterPlace> {
    const port = await freePort();
    const file = await stage.write(`${name}.json`, { ...config, server: { ...config.server, port } });
    return new MusterPlace(stage, name, file, port);
  }

  /** Of its process, as the store names its owner. */
  get owner(): string {
    return `muster-${this.#command?.pid ?? 0}-`;
  }

  /** Does not wait until it listens. */
  start(): MusterCommand {
    const environment = { MUSTER_STATE_DIR: this.stateDir };
    this.#command = this.#stage.start(['serve', '--config', this.#config], { environment, deadlineMs: DEADLINE_MS });
    return this.#command;
  }

  async untilListening(command: MusterCommand): Promise<void> {
    await command.until('it listens', () => command.stderr.includes('listening on'));
  }

  async kill(): Promise<void> {
    this.#command?.signal('SIGKILL');
    await this.#command?.ended;
  }

  /** As an operator would: it drains, and ends by itself. @throws Error when it does not. */
  async end(): Promise<void> {
    this.#command?.signal('SIGTERM');
    const ended = await this.#command?.ended;
    if (ended?.exitCode !== 0) throw new Error(`it ended with ${ended?.exitCode ?? ended?.signal}: ${ended?.stderr}`);
  }
}
