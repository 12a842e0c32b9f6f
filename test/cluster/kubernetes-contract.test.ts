import nock from 'nock';
import { vi } from 'vitest';
import type { ExpectedFailures } from '../contract/expected-failure.ts';
import { limitFailures, MEMORY_BOMB } from '../contract/limit-failures.ts';
import { POD_FAILURES } from '../contract/pod-failures.ts';
import { shellCommands } from '../contract/sandbox-commands.ts';
import { sandboxProviderContract } from '../contract/sandbox-provider.ts';
import { ClusterContext } from './cluster-context.ts';
import { claimsUnavailable, clusterUnderTest, dialBackHere, dialBackUnavailable, unavailable } from './cluster-under-test.ts';

nock.restore();
// Pods take seconds to come and to go.
vi.setConfig({ testTimeout: 300_000, hookTimeout: 120_000 });

const SUBJECT = { commands: shellCommands(clusterUnderTest.MUSTER_CLUSTER_PYTHON), mounts: [] };
const FAILURES: ExpectedFailures = {
  ...POD_FAILURES,
  'the network is out of reach, the host’s loopback included': {
    reason: 'a pod has an interface, which a NetworkPolicy closes where the plugin enforces them',
    error: /to be 'refused\\nrefused\\n\[\\'lo\\'\]'/,
  },
  'nothing can be written but in /tmp and /dev/shm': {
    reason: 'containers have /dev/mqueue, too: the pod’s own, of some 800 KB',
    error: /expected '.*\/dev\/mqueue.*' to be/,
  },
  'only what the template mounts is to be seen': {
    reason: 'an image has its distribution’s directories',
    error: /to be '\[\] \[\\'inbox\\'\] \[\]'/,
  },
};

const EXEC_FAILURES: ExpectedFailures = {
  ...FAILURES,
  ...(clusterUnderTest.MUSTER_CLUSTER_CGROUPS === 'v1' &&
    limitFailures('with control groups v1 a process is killed, and no container ends', MEMORY_BOMB)),
};

sandboxProviderContract(
  'the Kubernetes provider, on a real cluster,',
  { ...SUBJECT, open: async () => new ClusterContext() },
  EXEC_FAILURES,
  unavailable,
);

sandboxProviderContract(
  'the Kubernetes provider, on pods claimed from agent-sandbox in a real cluster,',
  { ...SUBJECT, open: async () => new ClusterContext({ claims: { replicas: 1 } }) },
  EXEC_FAILURES,
  claimsUnavailable,
);

sandboxProviderContract(
  'the Kubernetes provider whose pods dial back, on a real cluster,',
  { ...SUBJECT, open: async () => new ClusterContext({ transport: dialBackHere() }) },
  FAILURES,
  dialBackUnavailable,
);
