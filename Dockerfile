# crx as a user without rights, who writes to /data alone.
#
#   docker build -t crx .
#   docker run --rm --read-only --tmpfs /tmp -v crx:/data -v ~/notes:/notes:ro crx index /notes
#   docker run -d --read-only --tmpfs /tmp --cap-drop ALL -v crx:/data:ro -p 127.0.0.1:8000:8000 -e CRX_TOKEN crx
#
# CRX_TOKEN is a text of at least 20 characters, which clients send.

FROM docker.io/library/rust:1-slim-trixie AS build
RUN apt-get update && apt-get install --no-install-recommends -y python3-venv
COPY . /src
RUN python3 -m venv /opt/crx && /opt/crx/bin/pip install --no-cache-dir "/src[all]"
RUN /opt/crx/bin/crx models pull e5@int8 --into /opt/crx/share/crx/models

FROM docker.io/library/debian:trixie-slim
RUN apt-get update && apt-get install --no-install-recommends -y python3 && rm -rf /var/lib/apt/lists/*
COPY --from=build /opt/crx /opt/crx
# The index is /data/.crx. The key that its derived files are checked with is beside it.
RUN install -d -o 10001 -g 10001 -m 700 /data
ENV PATH=/opt/crx/bin:$PATH CRX_HOME=/data/home PYTHONDONTWRITEBYTECODE=1
WORKDIR /data
USER 10001:10001
EXPOSE 8000
ENTRYPOINT ["crx"]
CMD ["serve", "--host", "0.0.0.0", "--allow-host", "localhost"]
