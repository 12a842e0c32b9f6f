# The image of workspaces on Google Cloud Build: the image of runner.Dockerfile, with bubblewrap and the programs that agents need. "npm run
# images -- --cloud-build" builds it. Put compilers, test tools and packages into an image of your own that is based on it.
ARG BASE=muster-runner:0.1.0
FROM ${BASE}
# bubblewrap needs the privileges of a build step. The programs that it starts have none of them.
USER 0:0
RUN apt-get update && apt-get install -y --no-install-recommends bubblewrap git && rm -rf /var/lib/apt/lists/*
CMD ["/muster/python/bin/python3", "-I", "/muster/runner/dialler.py"]
