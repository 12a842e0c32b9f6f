const NO_PROCESS_LIMIT = 'how many processes a pod may have is the kubelet’s setting';

/** What no pod can do, wherever it comes from. */
export const POD_SKIPS: Readonly<Record<string, string>> = {
  'what the template mounts in /tmp is there, and cannot be written': 'a cluster has no paths of this machine',
  'a fork bomb is bounded, and the host unaffected': NO_PROCESS_LIMIT,
  'the template’s number of processes is what the program gets': NO_PROCESS_LIMIT,
  'what a sandbox has used is told, while it runs and after its end': 'nobody is asked for it',
};
