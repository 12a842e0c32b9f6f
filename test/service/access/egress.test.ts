import { describe, expect, it } from 'vitest';
import { Egress, describeUrl, type EgressPolicy } from '../../../src/service/access/egress.ts';

const egress = (changes: Partial<EgressPolicy> = {}): Egress =>
  new Egress({ hosts: ['*'], networks: [], plainHttp: false, ...changes }, 'sources');

describe('a request to elsewhere', () => {
  it.each([
    ['no URL', 'weights.bin', 'egress.url'],
    ['a file', 'file:///etc/passwd', 'egress.scheme'],
    ['data', 'data:,x', 'egress.scheme'],
    ['plain http', 'http://example.com/x', 'egress.scheme'],
    ['a URL with a password', 'https://user:hush@example.com/x', 'egress.url'],
    ['loopback', 'https://127.0.0.1/x', 'egress.address'],
    ['loopback in other figures', 'https://0x7f.1/x', 'egress.address'],
    ['loopback as one number', 'https://2130706433/x', 'egress.address'],
    ['loopback in IPv6', 'https://[::1]/x', 'egress.address'],
    ['loopback, mapped', 'https://[::ffff:127.0.0.1]/x', 'egress.address'],
    ['a cloud’s metadata', 'https://169.254.169.254/latest/meta-data', 'egress.address'],
    ['a private network', 'https://10.0.0.1/x', 'egress.address'],
  ])('for %s is refused', (_, url, code) => {
    expect(() => egress().assertUrl(url)).toThrow(expect.objectContaining({ kind: 'input', code }));
  });

  it('is made only to listed hosts', () => {
    const some = egress({ hosts: ['models.example.com', '*.s3.amazonaws.com'] });
    for (const host of [
      'models.example.com',
      'MODELS.example.com',
      'models.example.com.',
      'bucket.s3.amazonaws.com',
      'a.b.s3.amazonaws.com',
    ])
      expect(some.assertUrl(`https://${host}/x`).protocol).toBe('https:');
    for (const host of [
      'example.com',
      'x.models.example.com',
      's3.amazonaws.com',
      'evils3.amazonaws.com',
      'models.example.com.evil.org',
      '8.8.8.8',
    ])
      expect(() => some.assertUrl(`https://${host}/x`)).toThrow(expect.objectContaining({ code: 'egress.host' }));
  });

  it('is made to networks and over http if an operator allows it', () => {
    const inside = egress({ networks: ['10.1.0.0/16'], plainHttp: true });
    expect(inside.assertUrl('http://10.1.2.3:8080/x').port).toBe('8080');
    expect(() => inside.assertUrl('http://10.2.0.1/x')).toThrow(expect.objectContaining({ code: 'egress.address' }));
    expect(inside.allows('10.1.2.3')).toBe(true);
    expect(inside.allows('127.0.0.1')).toBe(false);
  });

  it('shows neither queries nor passwords in its messages', () => {
    expect(describeUrl('https://user:hush@example.com/a/b?signature=hush#x')).toBe('https://example.com/a/b');
    for (const url of ['https://u:hush@example.com/?x=hush', 'http://example.com/?x=hush', 'https://10.0.0.1/?x=hush', 'ftp://x/?hush'])
      expect(() => egress().assertUrl(url)).toThrow(expect.objectContaining({ message: expect.not.stringContaining('hush') }));
  });
});
