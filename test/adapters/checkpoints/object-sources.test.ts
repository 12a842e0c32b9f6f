import nock from 'nock';
import { afterAll, beforeAll, describe } from 'vitest';
import { ObjectSource } from '../../../src/adapters/checkpoints/objects/object-source.ts';
import { systemClock } from '../../../src/kernel/clock.ts';
import { checkpointSourceContract } from '../../contract/checkpoint-source.ts';
import type { ObjectServer } from '../../support/object-servers.ts';
import { gcsContext, s3Context, useTestCredentials } from '../../support/object-fixture.ts';

// Real sockets, which nock would take the place of.
beforeAll(() => nock.restore());
afterAll(() => nock.activate());
useTestCredentials();

describe.each([gcsContext, s3Context])('$name', (context) => {
  describe.skipIf(context.missing !== undefined)(`over real sockets${context.skipped}`, () => {
    let server: ObjectServer;
    beforeAll(async () => {
      server = await context.start();
    });
    afterAll(() => server[Symbol.asyncDispose]());

    checkpointSourceContract(context.name, async () => {
      const bucket = await context.bucket(server);
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
