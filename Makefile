# `make demo` for Table 4 from nothing, `make search` to search with its model, `make test` for most tests. Each sets up
# .venv first.

PYTHON ?= python3
READY := .venv/.ready
RUN := . .venv/bin/activate &&
INSTALL := install --quiet --require-hashes --requirement requirements.lock
SEARCHED := work/demo/multi30k/experiments/mule-full/seed0

.PHONY: demo search test test-all coverage check results-pages lock clean help

help:
	@echo "make demo   results/table4.csv on synthetic data: five to fifteen minutes on 2 cores after installation, 400 MB disk"
	@echo "make search PHOTOS=FOLDER  search your photographs in English, German, French and Czech, at http://127.0.0.1:8000"
	@echo "make search a page to search the demo's test scenes with its model"
	@echo "make test   unit tests and the real workflow, all but those marked slow: five to ten minutes on 2 cores after installation"
	@echo "make test-all  all tests, also those marked slow (pyproject.toml says which): half an hour to an hour on 2 cores"
	@echo "make coverage  lines and branches that make test reaches"
	@echo "make check  lint, format, types and imports"
	@echo "make results-pages  fill the tables of pages from results/published"
	@echo "make lock   resolve requirements*.in into requirements.lock"
	@echo "make clean  delete .venv, work/ and what is under results/"

demo: $(READY)
	@echo "Table 4 of the MULE paper on synthetic data: five to fifteen minutes on 2 cores, 400 MB under work/."
	@$(RUN) snakemake results/table4.csv results/report.html --config 'report=[table4]' --cores all --logger rich
	@$(RUN) python -m pipeline show-table results/comparison/table4.csv
	@echo
	@echo "Mean recalls in percent on generated scenes, and in brackets the paper's on its photographs."
	@echo "The numbers of generated scenes show that the pipeline runs; they say nothing about the paper."
	@echo
	@echo "  results/report.html   the table with intervals, curves and claims: open it in a browser"
	@echo "  results/comparison/table4.csv   every recall"
	@echo
	@echo "Next:"
	@echo "  make search                                            search the scenes with the trained model"
	@echo "  . .venv/bin/activate && snakemake -n results/report.html   what the other tables need"

search: $(READY)
ifdef PHOTOS
	$(RUN) python -m pipeline build-index --model models/flickr8k/model.pt --photographs "$(PHOTOS:~/%=$(HOME)/%)" --output work/search.h5
	$(RUN) python -m pipeline serve work/search.h5 $(if $(PORT),--port $(PORT)) $(if $(DISPLAY)$(WAYLAND_DISPLAY),--browser)
else
	$(RUN) snakemake $(SEARCHED)/index.h5 --cores all
	$(RUN) python -m pipeline serve $(SEARCHED)/index.h5 $(if $(PORT),--port $(PORT))
endif

test: $(READY)
	@echo "Unit and integration tests, except those marked slow (pyproject.toml says which)."
	$(RUN) python -m pytest --numprocesses 2 --dist loadfile --no-loadscope-reorder

test-all: $(READY)
	@echo "All tests: half an hour to an hour on 2 cores."
	$(RUN) python -m pytest --numprocesses 2 --dist loadfile --no-loadscope-reorder -m ''

# What make test reaches, by line and branch, in its jobs and servers too; it takes longer than make test.
coverage: export COVERAGE_RCFILE := $(CURDIR)/pyproject.toml
coverage: $(READY)
	mkdir -p work/coverage
	$(RUN) python -m coverage erase
	$(RUN) python -m coverage run -m pytest --numprocesses 2 --dist loadfile --no-loadscope-reorder
	$(RUN) python -m coverage combine --quiet && python -m coverage report

check: $(READY)
	$(RUN) ruff check .
	$(RUN) ruff format --check .
	$(RUN) mypy
	$(RUN) lint-imports --no-cache --no-logo
	$(RUN) snakefmt --check Snakefile workflow
	$(RUN) snakemake --lint

$(READY): requirements.lock
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("Python 3.11 or newer is needed, found " + sys.version + "; give another with make PYTHON=...")'
	@echo "Installing the locked packages into .venv: 6.4 GB disk; a minute with uv, a few minutes without."
	$(PYTHON) -m venv .venv
	if uv --version > /dev/null 2>&1; then uv pip $(INSTALL) --compile-bytecode --python .venv/bin/python; \
	  else PIP_USER=0 .venv/bin/python -m pip $(INSTALL) --disable-pip-version-check; fi
	touch $@

results-pages: $(READY)
	$(RUN) python -m workflow.published

lock:
	uv pip compile --universal --python-version 3.11 --no-annotate --no-header --generate-hashes --quiet \
	  requirements.in requirements-dev.in --output-file requirements.lock

clean:
	rm -rf .venv work .snakemake
	find results -mindepth 1 -maxdepth 1 ! -name published ! -name README.md -exec rm -r {} +
