import nock from 'nock';
import { beforeAll } from 'vitest';

/** For test files that speak to the simulator: nock would keep two copies of all that passes its sockets, and slow it down. */
export function useRealSockets(): void {
  beforeAll(() => nock.restore());
}
