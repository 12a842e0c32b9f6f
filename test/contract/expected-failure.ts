/* oxlint-disable vitest/no-standalone-expect, vitest/expect-expect, vitest/valid-title, vitest/no-conditional-tests -- contracts make their tests with it */
import { expect, it } from 'vitest';

/** Why an adapter cannot fulfil a case of its contract, and the message of the error that the case then ends with. */
export interface ExpectedFailure {
  readonly reason: string;
  /** Absent where what the case comes to is a matter of how busy the machine is: then it is skipped. */
  readonly error?: RegExp;
}

/** By the title of the case. */
export type ExpectedFailures = Readonly<Record<string, ExpectedFailure>>;

/**
 * Makes a test of a contract's case. A case that the adapter cannot fulfil runs all the same, and has to fail with the expected error: so an
 * expectation that no longer holds is noticed, and another fault is not taken for the expected one.
 */
export function contractCase(title: string, run: () => Promise<void>, expected: ExpectedFailure | undefined): void {
  if (expected === undefined) {
    it(title, run);
    return;
  }
  const { reason, error } = expected;
  it.skipIf(error === undefined)(`${title} (cannot: ${reason})`, async () => {
    await expect(run()).rejects.toThrow(error);
  });
}
