import { describe, expect, it } from 'vitest';
import { assertAccessFits, findStrangeOrigin, type RequestOrigin } from '../../../src/service/access/loopback.ts';

describe('a server whose access is off', () => {
  it.each(['127.0.0.1', '127.8.9.10', '::1', '[::1]', 'localhost', '::ffff:127.0.0.1'])('may listen on %s', (host) => {
    expect(() => assertAccessFits('off', host)).not.toThrow();
  });

  it.each([
    '0.0.0.0',
    '::',
    '',
    '192.168.1.7',
    '10.0.0.1',
    'fd00::1',
    'muster.example.com',
    'localhost.example.com',
    '127.1',
    '0177.0.0.1',
  ])('may not listen on %j', (host) => {
    expect(() => assertAccessFits('off', host)).toThrow(expect.objectContaining({ kind: 'input', code: 'access.off' }));
    expect(() => assertAccessFits('tokens', host)).not.toThrow();
  });

  const own: RequestOrigin = { remoteAddress: '127.0.0.1', host: 'localhost:8080', origin: undefined, forwarded: undefined };

  it.each<[string, Partial<RequestOrigin>]>([
    ['from here', {}],
    ['over IPv6', { remoteAddress: '::1', host: '[::1]:8080' }],
    ['over a socket that takes both', { remoteAddress: '::ffff:127.0.0.1', host: '127.0.0.1:8080' }],
    ['of a page from here', { origin: 'http://localhost:3000' }],
  ])('hears a request %s', (_, changes) => {
    expect(findStrangeOrigin({ ...own, ...changes })).toBeUndefined();
  });

  it.each<[string, Partial<RequestOrigin>]>([
    ['from another machine', { remoteAddress: '192.168.1.7' }],
    ['from nowhere', { remoteAddress: undefined }],
    ['that a proxy forwarded', { forwarded: 'for=192.0.2.1' }],
    ['for a foreign name that resolves to loopback', { host: 'attacker.example:8080' }],
    ['without a Host', { host: undefined }],
    ['with an invalid Host', { host: 'a b' }],
    ['of a stranger’s page', { origin: 'https://attacker.example' }],
    ['of a page that hides where it is from', { origin: 'null' }],
    ['of a page whose name only begins like this machine', { origin: 'http://localhost.attacker.example' }],
  ])('does not hear a request %s', (_, changes) => {
    expect(findStrangeOrigin({ ...own, ...changes })).toBeTypeOf('string');
  });
});
