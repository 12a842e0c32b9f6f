/* oxlint-disable vitest/no-standalone-expect -- what several test files share */
import { expect } from 'vitest';
import type { MusterClient } from '../../src/faces/client/muster-client.ts';
import { connect } from '../../src/app/client/server-client.ts';
import type { EvaluationResource } from '../../src/faces/http/schemas/evaluation-schemas.ts';
import { MusterServer } from './muster-server.ts';
import { CARTPOLE, Stage } from './stage.ts';

export interface SharedServerChanges {
  readonly server?: object;
  readonly pool?: object;
  readonly templates?: object;
}

/** The server is ended after the longest time that a test of this kind may take on a busy machine. */
const DEADLINE_MS = 600_000;

/** A server with tokens and one real sandbox, and principals who know of each other's digests. */
export class SharedServer implements AsyncDisposable {
  readonly stage: Stage;
  readonly server: MusterServer;
  readonly #tokens: Readonly<Record<string, string>>;

  private constructor(stage: Stage, server: MusterServer, tokens: Readonly<Record<string, string>>) {
    this.stage = stage;
    this.server = server;
    this.#tokens = tokens;
  }

  /** @param changes of the configuration. */
  static async open({ server: serverChanges = {}, ...changes }: SharedServerChanges = {}, deadlineMs = DEADLINE_MS): Promise<SharedServer> {
    const stage = await Stage.open();
    const tokens: Record<string, string> = {};
    for (const [principal, role] of [
      ['owner', 'submitter'],
      ['intruder', 'submitter'],
      ['watcher', 'viewer'],
      ['admin', 'operator'],
    ] as const)
      tokens[principal] = await stage.token(principal, role);
    const server = { port: 0, access: 'tokens', suites: { cartpole: CARTPOLE }, ...serverChanges };
    const config = await stage.write('shared.json', { server, pool: { max: 1, warm: 1 }, ...changes });
    return new SharedServer(stage, await MusterServer.start(stage, config, { deadlineMs }), tokens);
  }

  client(principal: string): MusterClient {
    return connect(this.server.url, { token: this.#tokens[principal] ?? '' });
  }

  /** Returns every byte of the answer to a request. */
  async request(principal: string, way: string, method = 'GET', body?: object): Promise<string> {
    const answer = await fetch(`${this.server.url}${way}`, {
      method,
      headers: { authorization: `Bearer ${this.#tokens[principal]}`, ...(body ? { 'content-type': 'application/json' } : {}) },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    return `${answer.status} ${await answer.text()}`;
  }

  muster(principal: string, args: readonly string[]): ReturnType<Stage['run']> {
    return this.stage.run([...args, '--server', this.server.url], { environment: { MUSTER_TOKEN: this.#tokens[principal] ?? '' } });
  }

  /** Waits until an evaluation is over in any way. */
  async ended(principal: string, id: string): Promise<EvaluationResource> {
    await this.client(principal)
      .wait(id)
      .catch(() => undefined);
    return this.client(principal).get(id);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.server.command.signal('SIGTERM');
    const ended = await this.server.command.ended;
    await this.stage[Symbol.asyncDispose]();
    expect(ended).toMatchObject({ exitCode: 0 });
    expect(ended.stderr).not.toContain('defect');
  }
}
