import nock from 'nock';
import { outOfTheWay } from '../support/kubernetes/dial-back-image.ts';
import { KubernetesGround } from '../support/kubernetes/kubernetes-ground.ts';
import { pythonInterpreter } from '../support/python-interpreter.ts';
import { shellCommands } from './sandbox-commands.ts';
import { sandboxProviderContract } from './sandbox-provider.ts';

// The simulated API server is a real one as far as sockets go.
nock.restore();

const { executable, mounts } = pythonInterpreter();
const NO_PROCESS_LIMIT = 'how many processes a pod may have is the kubelet’s setting';

/** Found out once: the image is the same for all. */
const image = outOfTheWay();

sandboxProviderContract(
  'the Kubernetes provider whose pods dial back, on a simulated cluster,',
  {
    commands: shellCommands(executable),
    mounts: [],
    open: async () => {
      const { image: layers, transport } = await image;
      const targets = new Set(layers.mounts.map(({ target }) => target));
      const both = [...layers.mounts, ...mounts.filter(({ target }) => !targets.has(target))];
      return await KubernetesGround.open({ mounts: both }, {}, undefined, transport);
    },
  },
  {
    'what the template mounts in /tmp is there, and cannot be written': 'a cluster has no paths of this machine',
    'a fork bomb is bounded, and the host unaffected': NO_PROCESS_LIMIT,
    'the template’s number of processes is what the program gets': NO_PROCESS_LIMIT,
    'what a sandbox has used is told, while it runs and after its end': 'nobody is asked for it',
  },
);
