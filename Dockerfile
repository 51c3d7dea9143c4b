# The program in an image of its own, built from the sources around this file:
#
#   docker build -t probe-ut .
#   docker run --rm -v "$PWD:/work" probe-ut -api_info dump.json -o check
#
# An image for an NPU or a GPU starts from the vendor's image with PyTorch instead of Debian's; the
# package that the first stage makes can be installed there too.
FROM debian:bookworm AS build
WORKDIR /source
COPY . .
RUN scripts/install-deps.sh && apt-get install -y -qq --no-install-recommends dpkg-dev file gzip
RUN cmake -S . -B /build -G Ninja -DPROBE_DEBIAN=ON && cmake --build /build && \
    cd /build && cpack && mv probe-ut_*.deb /probe-ut.deb

FROM debian:bookworm-slim
COPY --from=build /probe-ut.deb /tmp/
RUN apt-get update -qq && apt-get install -y -qq --no-install-recommends /tmp/probe-ut.deb && \
    rm -rf /tmp/probe-ut.deb /var/lib/apt/lists/* && useradd --create-home engineer
USER engineer
WORKDIR /work
ENTRYPOINT ["probe-ut"]
CMD ["--help"]
