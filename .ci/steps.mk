# The steps of .ci/run and what each of them waits for; longest first, so that two at a time end together.

.PHONY: all chromium installed worker test-slow test flink spark prism lint fuzz check-wheel audit demo
all: chromium installed worker test-slow test flink spark prism lint fuzz check-wheel audit demo

MAKEFLAGS += --no-print-directory
SAY = @printf '\n== %s\n'

# the browser is only for the tests that look at pages and drawings; without it they skip and say so
chromium:
	$(SAY) "chromium"
	@.ci/chromium

installed:
	$(SAY) "installation for development"
	@$(MAKE) .venv/installed-dev

# both this and check-wheel write to the metadata of the source, so one comes after the other
worker: installed
	$(SAY) "the source distribution, built in an environment like that of Beam's workers"
	@.venv/bin/python -m tests.engines.fetch wheel

lint: installed
	$(SAY) "lint"
	@$(MAKE) lint

test: installed chromium
	$(SAY) "tests"
	@$(MAKE) test

test-slow: worker
	$(SAY) "slow tests"
	@$(MAKE) test-slow

fuzz: installed
	$(SAY) "fuzzers with AddressSanitizer and UndefinedBehaviorSanitizer"
	@if [ "$$(uname)" = Linux ] && command -v gcc >/dev/null 2>&1; then $(MAKE) fuzz EXECUTIONS=1000; \
	    else echo "fuzzers: they need gcc on Linux" | tee -a build/not-tested; fi

# an engine that cannot be had on this machine is not tested, and that is said; what fails for another reason fails
flink spark prism: worker
	$(SAY) "$@"
	@code=0; .venv/bin/python -m tests.engines.fetch $@ || code=$$?; \
	    case $$code in \
	        0) $(MAKE) test-$@ ;; \
	        3) echo "$@: it cannot be had here" | tee -a build/not-tested ;; \
	        *) exit $$code ;; \
	    esac

demo: installed
	$(SAY) "demo"
	@$(MAKE) demo

check-wheel: worker
	$(SAY) "wheel of this platform, in an environment of its own"
	@$(MAKE) check-wheel

audit:
	$(SAY) "known vulnerabilities of what is pinned"
	@$(MAKE) --silent audit
