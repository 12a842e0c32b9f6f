import nock from 'nock';
import { vi } from 'vitest';
import { POD_SKIPS } from '../contract/pod-skips.ts';
import { shellCommands } from '../contract/sandbox-commands.ts';
import { sandboxProviderContract } from '../contract/sandbox-provider.ts';
import { ClusterGround } from './cluster-ground.ts';
import { claimsUnavailable, clusterUnderTest, dialBackHere, dialBackUnavailable, unavailable } from './cluster-under-test.ts';

nock.restore();
// Pods take seconds to come and to go.
vi.setConfig({ testTimeout: 300_000, hookTimeout: 120_000 });

const SUBJECT = { commands: shellCommands(clusterUnderTest.MUSTER_CLUSTER_PYTHON), mounts: [] };
const SKIPS = {
  ...POD_SKIPS,
  'the network is out of reach, the host’s loopback included':
    'a pod has an interface, which a NetworkPolicy closes where the plugin enforces them',
  'nothing can be written but in /tmp and /dev/shm': 'containers have /dev/mqueue, too: the pod’s own, of some 800 KB',
  'only what the template mounts is to be seen': 'an image has its distribution’s directories',
};

const EXEC_SKIPS = {
  ...SKIPS,
  ...(clusterUnderTest.MUSTER_CLUSTER_CGROUPS === 'v1' && {
    'a memory bomb is ended as out of memory, and the host unaffected': 'with control groups v1 a process is killed, and no container ends',
  }),
};

sandboxProviderContract(
  'the Kubernetes provider, on a real cluster,',
  { ...SUBJECT, open: async () => new ClusterGround() },
  EXEC_SKIPS,
  unavailable,
);

sandboxProviderContract(
  'the Kubernetes provider, on pods claimed from agent-sandbox in a real cluster,',
  { ...SUBJECT, open: async () => new ClusterGround({ claims: { replicas: 1 } }) },
  EXEC_SKIPS,
  claimsUnavailable,
);

sandboxProviderContract(
  'the Kubernetes provider whose pods dial back, on a real cluster,',
  { ...SUBJECT, open: async () => new ClusterGround({ transport: dialBackHere() }) },
  SKIPS,
  dialBackUnavailable,
);
