import { PACKAGE_VERSION } from '../../src/kernel/package-root.ts';
import type { FastifyInstance } from 'fastify';
import { createHttpServer, type HttpServerOptions } from '../../src/faces/http/http-server.ts';
import type { EvaluationService, ServiceConfig } from '../../src/service/evaluation-service.ts';
import { ServiceFixture } from './service-fixture.ts';

/** What comes back. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly text: string;
  /** Undefined when the text is no JSON. */
  readonly json: unknown;
}

export interface Sent {
  readonly body?: object | string | Buffer;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A server over a store in memory and a scripted player, on a clock that tests move. */
export class ServerFixture implements AsyncDisposable {
  readonly fixture: ServiceFixture;
  readonly service: EvaluationService;
  readonly app: FastifyInstance;

  private constructor(fixture: ServiceFixture, service: EvaluationService, app: FastifyInstance) {
    this.fixture = fixture;
    this.service = service;
    this.app = app;
  }

  /** @param changes of the server's options; they may need the fixture. */
  static async open(
    config: Partial<ServiceConfig> = {},
    changes: Partial<HttpServerOptions> | ((fixture: ServiceFixture) => Partial<HttpServerOptions>) = {},
    fixture = new ServiceFixture(),
  ): Promise<ServerFixture> {
    const service = fixture.service(config);
    service.open();
    const { clock, log, use } = fixture;
    const fixed = { version: PACKAGE_VERSION, maxBodyBytes: 65_536, maxWaitSeconds: 60, readiness: async () => [] };
    const app = await createHttpServer({
      service,
      clock,
      log,
      use,
      ...fixed,
      ...(typeof changes === 'function' ? changes(fixture) : changes),
    });
    return new ServerFixture(fixture, service, app);
  }

  /** Sends a request without a socket; it is answered by the time that nothing but the clock could bring an answer. */
  async send(method: 'GET' | 'POST' | 'DELETE' | 'PATCH' | 'PUT' | 'HEAD', url: string, { body, headers }: Sent = {}): Promise<Answer> {
    const answer = await this.app.inject({
      method,
      url,
      ...(body === undefined ? {} : { payload: body }),
      headers: { ...(typeof body === 'string' ? { 'content-type': 'application/json' } : {}), ...headers },
    });
    return { status: answer.statusCode, headers: answer.headers, text: answer.body, json: parsed(answer.body) };
  }

  /** The answer to a request, while time passes: so many milliseconds at most. */
  async within(milliseconds: number, answering: Promise<Answer>): Promise<Answer> {
    return await this.fixture.clock.advanceFor(answering, milliseconds, 50);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.fixture.drained(this.service);
    await this.app.close();
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
