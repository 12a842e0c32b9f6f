import { filesystemSource } from '../../src/adapters/checkpoints/filesystem.ts';
import { Calls, type CallsOptions } from '../../src/faces/client/calls.ts';
import { MusterClient } from '../../src/faces/client/muster-client.ts';
import { DEFAULT_RETRY } from '../../src/faces/client/patience.ts';
import { digestOf } from '../../src/kernel/canonical-json.ts';
import type { ServiceConfig } from '../../src/service/evaluation-service.ts';
import { GrantService } from '../../src/service/checkpoints/grant-service.ts';
import type { Library } from '../../src/service/orders/library.ts';
import { grantRoutes } from '../../src/faces/http/routes/grant-routes.ts';
import { suiteRoutes } from '../../src/faces/http/routes/suite-routes.ts';
import { ServerScene } from './server-scene.ts';
import { PAPER_LIBRARY, ServiceScene } from './service-scene.ts';
import { UploadScene } from './upload-scene.ts';

/** A server on a real socket, over a store in memory and a scripted player, on a clock that tests move. */
export class ClientScene implements AsyncDisposable {
  readonly server: ServerScene;
  readonly files: UploadScene;
  readonly url: string;

  /** The suites that the server has a name for say something else from now on. */
  readonly rewriteSuites: () => void;

  private constructor(server: ServerScene, files: UploadScene, url: string, rewriteSuites: () => void) {
    this.rewriteSuites = rewriteSuites;
    this.server = server;
    this.files = files;
    this.url = url;
  }

  static async open(scene = new ServiceScene(), config: Partial<ServiceConfig> = {}): Promise<ClientScene> {
    const files = await UploadScene.open(scene.clock);
    const checkpoints = files.desk(scene, scene.gate());
    const grants = new GrantService({ rights: scene.store.rights, use: scene.use, audit: scene.store.audit });
    const edition = { of: 'suites' };
    const library: Pick<Library, 'suite'> = {
      suite: async (...asked) => ({ ...(await PAPER_LIBRARY.suite(...asked)), digest: digestOf(edition.of) }),
    };
    const server = await ServerScene.open(
      config,
      { checkpoints, more: [(app) => suiteRoutes(app, library), (app) => grantRoutes(app, grants)] },
      scene,
    );
    const url = await server.app.listen({ host: '127.0.0.1', port: 0 });
    return new ClientScene(server, files, url, () => (edition.of = 'suites, second edition'));
  }

  calls(url = this.url): Calls {
    return new Calls(callsOptions(url, this.server.scene.clock));
  }

  /** @param url of something between the client and the server. */
  client(url = this.url): MusterClient {
    return clientOf(callsOptions(url, this.server.scene.clock));
  }

  /** Lets time pass until the promise is settled. */
  during<Value>(promise: Promise<Value>): Promise<Value> {
    return this.server.scene.clock.advanceBeside(promise, 1_000_000);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.files[Symbol.asyncDispose]();
    await this.server[Symbol.asyncDispose]();
  }
}

export function callsOptions(url: string, clock: CallsOptions['clock']): CallsOptions {
  return { url, token: undefined, clock, random: () => 0.5, retry: DEFAULT_RETRY };
}

export function clientOf(options: CallsOptions): MusterClient {
  return new MusterClient({ ...options, source: filesystemSource, readSuite: async (path) => `5-episodes-of-${path.slice(-4, -5)}` });
}
