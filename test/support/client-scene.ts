import { filesystemSource } from '../../src/adapters/checkpoints/filesystem.ts';
import { Calls, type CallsOptions } from '../../src/client/calls.ts';
import { MusterClient } from '../../src/client/muster-client.ts';
import { DEFAULT_RETRY } from '../../src/client/patience.ts';
import { ServerScene } from './server-scene.ts';
import { ServiceScene } from './service-scene.ts';
import { UploadScene } from './upload-scene.ts';

/** A server on a real socket, over a store in memory and a scripted player, on a clock that tests move. */
export class ClientScene implements AsyncDisposable {
  readonly server: ServerScene;
  readonly files: UploadScene;
  readonly url: string;

  private constructor(server: ServerScene, files: UploadScene, url: string) {
    this.server = server;
    this.files = files;
    this.url = url;
  }

  static async open(): Promise<ClientScene> {
    const scene = new ServiceScene();
    const files = await UploadScene.open(scene.clock);
    const server = await ServerScene.open({}, { checkpoints: files.desk(scene.store.usage, scene.gate()) }, scene);
    return new ClientScene(server, files, await server.app.listen({ host: '127.0.0.1', port: 0 }));
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
    return this.server.scene.clock.advanceFor(promise, 1_000_000, 10);
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
