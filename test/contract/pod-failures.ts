import type { ExpectedFailures } from './expected-failure.ts';
import { FORK_BOMB, limitFailures, PROCESS_COUNT, USAGE } from './limit-failures.ts';

/** What no pod can do, wherever it comes from. */
export const POD_FAILURES: ExpectedFailures = {
  'what the template mounts in /tmp is there, and cannot be written': {
    reason: 'a cluster has no paths of this machine',
    error: /mounts has paths of this machine, which the nodes of a cluster do not have/,
  },
  ...limitFailures('how many processes a pod may have is the kubelet’s setting', FORK_BOMB, PROCESS_COUNT),
  ...limitFailures('no call asks for it', USAGE),
};
