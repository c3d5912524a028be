"""A gateway over reference engines, for tests: engines, process, questions, answers, ledger."""
