import { describe, expect, it } from 'vitest';
import { nameCheckpoint } from '../../../src/faces/client/named-checkpoint.ts';
import { checkSendableToken, parseServerUrl } from '../../../src/faces/client/server-address.ts';

describe('the address of a server', () => {
  it('is taken without its last slash', () => {
    expect(parseServerUrl('https://muster.example.com/evaluations/')).toBe('https://muster.example.com/evaluations');
  });

  it.each(['', 'muster:7677', 'ftp://muster', 'http://user:secret@muster', 'http://muster?x=1'])('is no address: %s', (given) => {
    expect(() => parseServerUrl(given)).toThrow(
      expect.objectContaining({ code: 'client.url', message: expect.not.stringContaining('secret') }),
    );
  });

  it('is refused by the name of its option, with the address unless it may contain a password', () => {
    expect(() => parseServerUrl('muster:7677', 'MUSTER_URL')).toThrow(
      /^MUSTER_URL: .*got muster:7677; did you mean http:\/\/muster:7677\?$/,
    );
    expect(() => parseServerUrl('muster', 'MUSTER_URL')).toThrow(/, got muster$/);
    expect(() => checkSendableToken('a b', 'https://muster.example.com', false, 'MUSTER_TOKEN')).toThrow(
      /^MUSTER_TOKEN: expected only visible/,
    );
    expect(() => checkSendableToken('muster_…', 'https://muster.example.com', false)).toThrow(/'…' stands for the rest of a token/);
    expect(() => parseServerUrl('http://127.0.0.1:7677/v1/')).toThrow(/^url: expected the address without \/v1/);
  });

  it('allows a token only on an encrypted or local connection', () => {
    for (const url of ['https://muster.example.com', 'http://127.0.0.1:7677', 'http://localhost:7677', 'http://[::1]:7677'])
      expect(checkSendableToken('muster_x', url, false)).toBe('muster_x');
    expect(() => checkSendableToken('muster_x', 'http://muster.example.com', false)).toThrow(
      expect.objectContaining({ code: 'client.plain-http' }),
    );
    expect(checkSendableToken('muster_x', 'http://muster.example.com', true)).toBe('muster_x');
    expect(() => checkSendableToken('muster_x\n', 'https://muster.example.com', false)).toThrow(
      expect.objectContaining({ code: 'client.token' }),
    );
    expect(checkSendableToken('', 'http://muster.example.com', false)).toBeUndefined();
  });
});

describe('the name of a checkpoint', () => {
  const HEX = 'a'.repeat(64);

  it('is recognised as a path, a URI or a digest, and takes missing labels', () => {
    const labels = { run: 'r', version: 1 };
    expect(nameCheckpoint('step-1.safetensors', labels)).toEqual({ path: 'step-1.safetensors', ...labels });
    expect(nameCheckpoint('s3://bucket/step-1', labels)).toEqual({ uri: 's3://bucket/step-1', ...labels });
    expect(nameCheckpoint('file:///runs/x')).toEqual({ uri: 'file:///runs/x' });
    expect(nameCheckpoint(`sha256:${HEX}`)).toEqual({ sha256: `sha256:${HEX}` });
    expect(nameCheckpoint({ path: HEX, version: 7 }, labels)).toEqual({ path: HEX, run: 'r', version: 7 });
    expect(() => nameCheckpoint({ sha256: 'abc' })).toThrow(expect.objectContaining({ code: 'checkpoint.sha256' }));
  });
});
