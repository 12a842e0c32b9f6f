import nock from 'nock';
import { afterAll, beforeAll, describe } from 'vitest';
import { ObjectSource } from '../../../src/adapters/checkpoints/objects/object-source.ts';
import { systemClock } from '../../../src/kernel/clock.ts';
import { checkpointSourceContract } from '../../contract/checkpoint-source.ts';
import type { ObjectServer } from '../../support/object-servers.ts';
import { gcsGround, s3Ground, useTestCredentials } from '../../support/object-scene.ts';

// Real sockets, which nock would take the place of.
beforeAll(() => nock.restore());
afterAll(() => nock.activate());
useTestCredentials();

describe.each([gcsGround, s3Ground])('$name', (ground) => {
  describe.skipIf(ground.missing !== undefined)(`over real sockets${ground.skipped}`, () => {
    let server: ObjectServer;
    beforeAll(async () => {
      server = await ground.start();
    });
    afterAll(() => server[Symbol.asyncDispose]());

    checkpointSourceContract(ground.name, async () => {
      const bucket = await ground.bucket(server);
      return {
        source: new ObjectSource(bucket.store, systemClock),
        uri: (path) => bucket.uri(path),
        put: (path, bytes) => bucket.put(path, bytes),
        remove: (path) => bucket.remove(path),
        [Symbol.asyncDispose]: () => bucket[Symbol.asyncDispose](),
      };
    });
  });
});
