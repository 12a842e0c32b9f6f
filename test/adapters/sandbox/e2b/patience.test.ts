import { AuthenticationError, RateLimitError } from 'e2b';
import { describe, expect, it } from 'vitest';
import { retryPatiently } from '../../../../src/adapters/sandbox/e2b/patience.ts';
import { HurriedClock } from '../../../support/hurried-clock.ts';

const NEVER = new AbortController().signal;

describe('a request to E2B that may be sent more than once', () => {
  it('is sent again after a failure that may pass', async () => {
    let attempts = 0;
    const act = async (): Promise<string> => {
      if ((attempts += 1) < 3) throw new RateLimitError('slow down');
      return 'answered';
    };
    expect(await retryPatiently(new HurriedClock(100), NEVER, act)).toBe('answered');
    expect(attempts).toBe(3);
  });

  it('fails at once where trying again would not help', async () => {
    let attempts = 0;
    const act = async (): Promise<never> => {
      attempts += 1;
      throw new AuthenticationError('no such key');
    };
    await expect(retryPatiently(new HurriedClock(100), NEVER, act)).rejects.toThrow('no such key');
    expect(attempts).toBe(1);
  });

  it('that hangs, as the SDK’s do when they are cancelled at the wrong moment, ends with the signal’s reason', async () => {
    const calling = new AbortController();
    const request = retryPatiently(new HurriedClock(100), calling.signal, () => new Promise<never>(() => {}));
    calling.abort(new Error('called off'));
    await expect(request).rejects.toThrow('called off');
  });

  it('that fails after it was cancelled reports nothing', async () => {
    const calling = new AbortController();
    const { promise, reject } = Promise.withResolvers<never>();
    const request = retryPatiently(new HurriedClock(100), calling.signal, () => promise);
    calling.abort(new Error('called off'));
    await expect(request).rejects.toThrow('called off');
    reject(new Error('too late'));
  });
});
