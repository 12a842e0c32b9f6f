import { expect, it } from 'vitest';
import { describeAuditDetails } from '../../../src/faces/page/browser/model/audit-details.ts';

it('shows each field of an entry of the audit, and of a change what differs', () => {
  const before = { min: 0, max: 2, draining: false };
  const entries = [{ principal: 'ada', expiresAt: null }, { before, after: { ...before, max: 8, draining: true } }, {}, 'text'];
  expect(entries.map(describeAuditDetails)).toEqual(['principal ada, expiresAt null', 'max 2 → 8, draining false → true', '', '']);
});
