import { describe, expect, it } from 'vitest';
import { getAccountName } from '../../../src/app/client/token-access.ts';

describe('the name in the audit of a person who makes tokens at the store', () => {
  it('is that of the account', () => {
    expect(getAccountName(() => ({ username: 'muster' }))).toBe('muster');
  });

  it('is the user id if there is no account, as in containers', () => {
    const unknown = (): never => {
      throw new Error('uv_os_get_passwd returned ENOENT');
    };
    expect(getAccountName(unknown)).toBe(`uid-${process.getuid?.()}`);
  });
});
