import { InvalidArgumentError } from 'commander';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { describeInvalidJson, parseProbability } from '../../src/cli/flags/flag-values.ts';
import { parseServerUrl } from '../../src/faces/client/server-address.ts';
import { InputError } from '../../src/kernel/errors.ts';

it.each([
  ['95', /below 1; did you mean 0\.95\?$/],
  ['99%', /did you mean 0\.99\?$/],
  ['0.2', /above 0\.5 and below 1, such as 0\.95\.$/],
  ['much', /such as 0\.95\.$/],
])('a confidence of %s is refused with the one that was meant', (text, message) => {
  expect(() => parseProbability(text)).toThrow(InvalidArgumentError);
  expect(() => parseProbability(text)).toThrow(message);
});

it('invalid JSON of a flag is refused by its key, with the nearest valid key', () => {
  const schema = z.strictObject({ shaping: z.enum(['full', 'none']).optional() });
  const messageOf = (value: object): string => {
    const { error } = schema.safeParse(value);
    return error === undefined ? 'taken' : describeInvalidJson(error, value, schema);
  };
  expect(messageOf({ shapin: 'none' })).toBe('shapin: unknown key; did you mean "shaping"?');
  expect(messageOf({ shaping: 3 })).toBe('shaping: expected one of "full"|"none", got 3.');
});

it.each([
  ['localhost:7677', /did you mean http:\/\/localhost:7677\?$/],
  ['user:secret@host', /without user, query or fragment$/],
])('an address without its scheme, %s, is refused with the one that was meant, and no password is repeated', (given, message) => {
  expect(() => parseServerUrl(given)).toThrow(InputError);
  expect(() => parseServerUrl(given)).toThrow(message);
});
