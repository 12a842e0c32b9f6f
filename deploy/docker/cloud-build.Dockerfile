# What workspaces are made of on Google Cloud Build: the image of runner.Dockerfile with bubblewrap, and with what programs of agents need.
# "npm run images -- --cloud-build" builds it. Put compilers, test tools and packages into an image of yours that begins with it.
ARG BASE=muster-runner:0.1.0
FROM ${BASE}
# bubblewrap needs the privileges that a step of a build has; the programs that it starts have none of them.
USER 0:0
RUN apt-get update && apt-get install -y --no-install-recommends bubblewrap git && rm -rf /var/lib/apt/lists/*
CMD ["/muster/python/bin/python3", "-I", "/muster/runner/dialler.py"]
