import nock from 'nock';
import { vi } from 'vitest';
import { shellCommands } from '../contract/sandbox-commands.ts';
import { sandboxProviderContract } from '../contract/sandbox-provider.ts';
import { ClusterGround } from './cluster-ground.ts';
import { clusterUnderTest, unavailable } from './cluster-under-test.ts';

nock.restore();
// Pods take seconds to come and to go.
vi.setConfig({ testTimeout: 300_000, hookTimeout: 120_000 });

const NO_PROCESS_LIMIT = 'how many processes a pod may have is the kubelet’s setting';

sandboxProviderContract(
  'the Kubernetes provider, on a real cluster,',
  { commands: shellCommands(clusterUnderTest.MUSTER_CLUSTER_PYTHON), mounts: [], open: async () => new ClusterGround() },
  {
    'what the template mounts in /tmp is there, and cannot be written': 'a cluster has no paths of this machine',
    'a fork bomb is bounded, and the host unaffected': NO_PROCESS_LIMIT,
    'the template’s number of processes is what the program gets': NO_PROCESS_LIMIT,
    'what a sandbox has used is told, while it runs and after its end': 'nobody is asked for it',
    'the network is out of reach, the host’s loopback included':
      'a pod has an interface, which a NetworkPolicy closes where the plugin enforces them',
    'only what the template mounts is to be seen': 'an image has its distribution’s directories',
  },
  unavailable,
);
