package result

// Verdict is what is said of a step or a scenario.
type Verdict string

// The verdicts. A step or scenario that has begun and not ended has none yet.
const (
	Running Verdict = ""
	Passed  Verdict = "passed"
	// Failed: it ran, and what was expected was not so.
	Failed Verdict = "failed"
	// Errored: it could not be run: a fault was refused, the sandbox went away.
	Errored Verdict = "errored"
	// Skipped: not run, for something before it did not pass, or the ground lacks what it needs.
	Skipped Verdict = "skipped"
)

// Fine tells that nothing went wrong: it passed, or was not run for something that is not there.
func (v Verdict) Fine() bool { return v == Passed || v == Skipped }

// weight orders verdicts: of several the heaviest counts.
func (v Verdict) weight() int {
	switch v {
	case Errored:
		return 4
	case Failed:
		return 3
	case Running:
		return 2
	case Passed:
		return 1
	}
	return 0
}

// Worst is the verdict on all of them together: errored before failed, failed before anything else. What was skipped does
// not count, unless there is nothing else.
func Worst(all ...Verdict) Verdict {
	worst := Skipped
	for _, v := range all {
		if v.weight() > worst.weight() {
			worst = v
		}
	}
	return worst
}
