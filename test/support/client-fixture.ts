import { filesystemSource } from '../../src/adapters/checkpoints/filesystem.ts';
import { Calls, type CallsOptions } from '../../src/faces/client/calls.ts';
import { MusterClient } from '../../src/faces/client/muster-client.ts';
import { DEFAULT_RETRY } from '../../src/faces/client/patience.ts';
import { digestBytes } from '../../src/kernel/canonical-json.ts';
import type { ServiceConfig } from '../../src/service/evaluation-service.ts';
import { GrantService } from '../../src/service/checkpoints/grant-service.ts';
import type { Library } from '../../src/service/orders/library.ts';
import { addGrantRoutes } from '../../src/faces/http/routes/grant-routes.ts';
import { addSuiteRoutes } from '../../src/faces/http/routes/suite-routes.ts';
import { ServerFixture } from './server-fixture.ts';
import { PAPER_LIBRARY, ServiceFixture } from './service-fixture.ts';
import { UploadFixture } from './upload-fixture.ts';

/** A server on a real socket, over a store in memory and a scripted player, on a clock that tests move. */
export class ClientFixture implements AsyncDisposable {
  readonly server: ServerFixture;
  readonly files: UploadFixture;
  readonly url: string;

  /** From now on, the server's named suites have another content. */
  readonly rewriteSuites: () => void;

  private constructor(server: ServerFixture, files: UploadFixture, url: string, rewriteSuites: () => void) {
    this.rewriteSuites = rewriteSuites;
    this.server = server;
    this.files = files;
    this.url = url;
  }

  static async open(fixture = new ServiceFixture(), config: Partial<ServiceConfig> = {}): Promise<ClientFixture> {
    const files = await UploadFixture.open(fixture.clock);
    const checkpoints = files.checkpointService(fixture, fixture.gate());
    const grants = new GrantService({ rights: fixture.store.rights, use: fixture.use, audit: fixture.store.audit });
    const edition = { of: 'suites' };
    const library: Pick<Library, 'orderSuite'> = {
      orderSuite: async (...asked) => ({ ...(await PAPER_LIBRARY.orderSuite(...asked)), digest: digestBytes(edition.of) }),
    };
    const server = await ServerFixture.open(
      config,
      { checkpoints, more: [(app) => addSuiteRoutes(app, library), (app) => addGrantRoutes(app, grants)] },
      fixture,
    );
    const url = await server.app.listen({ host: '127.0.0.1', port: 0 });
    return new ClientFixture(server, files, url, () => (edition.of = 'suites, second edition'));
  }

  calls(url = this.url): Calls {
    return new Calls(callsOptions(url, this.server.fixture.clock));
  }

  /** @param url of a proxy between the client and the server. */
  client(url = this.url): MusterClient {
    return clientOf(callsOptions(url, this.server.fixture.clock));
  }

  /** Advances the clock until the promise is settled. */
  during<Value>(promise: Promise<Value>): Promise<Value> {
    return this.server.fixture.clock.advanceBeside(promise, 1_000_000);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.files[Symbol.asyncDispose]();
    await this.server[Symbol.asyncDispose]();
  }
}

export function callsOptions(url: string, clock: CallsOptions['clock']): CallsOptions {
  const warn = (message: string): void => {
    if (!message.includes('(trying again for ')) throw new Error(`the client warned: ${message}`);
  };
  return { url, token: undefined, clock, random: () => 0.5, retry: DEFAULT_RETRY, warn };
}

export function clientOf(options: CallsOptions): MusterClient {
  return new MusterClient({ ...options, source: filesystemSource, readSuite: async (path) => `5-episodes-of-${path.slice(-4, -5)}` });
}
