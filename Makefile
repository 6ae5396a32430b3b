# The two commands of the README are `go run ./cmd/shakedown demo` and `make test`.

GO          ?= go
STATICCHECK  = $(GO) run honnef.co/go/tools/cmd/staticcheck@v0.8.2
GOTESTSUM    = $(GO) run gotest.tools/gotestsum@v1.13.0
FUZZTIME    ?= 2s

# The real servers that the tests start, on 127.0.0.1 and free ports.
SERVERS = nginx haproxy openssl gnutls-bin libnss3-tools stunnel4 apache2 iproute2 chromium \
          exim4-daemon-light dovecot-imapd dovecot-pop3d slapd vsftpd prosody
# The load generators that `make bench` measures beside ours.
PEERS   = wrk apache2-utils openssl nginx tcpdump

.PHONY: build test servers lint unit portable fuzz bench clean

build:
	$(GO) build -o bin/shakedown ./cmd/shakedown

# All that has to hold before a change lands. It needs Go; where it may, it
# installs the servers, and where it may not, their tests are skipped by name.
test: servers lint unit portable fuzz

servers:
	@./scripts/install $(SERVERS)

lint:
	@test -z "$$(gofmt -l .)" || { gofmt -l .; echo 'gofmt these files'; exit 1; }
	$(GO) vet ./...
	GOOS=darwin $(GO) vet ./...
	$(STATICCHECK) ./...
	$(GO) mod tidy -diff

unit:
	$(GOTESTSUM) --format pkgname --format-hide-empty-pkg -- -race -timeout 15m ./...

# The load loop of the systems without epoll, on this one.
portable:
	$(GO) test -tags portable -timeout 5m ./internal/load

# Every fuzz target for a short time, from its seed corpus.
fuzz:
	@./scripts/fuzz $(FUZZTIME)

bench:
	@./scripts/install $(PEERS)
	$(GO) run ./cmd/peers $(BENCHFLAGS)

clean:
	rm -rf bin
