package explain

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// The verdicts on a piece of evidence.
const (
	fine    = "ok"
	missing = "missing"
	wrong   = "wrong"
	unknown = "unknown"
	neither = ""
)

// The sources that have one name only.
const (
	apiServer   = "API server"
	cloudConfig = "cloud-config"
	eventLog    = "event log"
	sandbox     = "sandbox"
	logOfCCM    = "log of ccm"
)

// question is one that is being answered.
type question struct{ api.Question }

// saw adds a piece of evidence.
func (q *question) saw(source, verdict, what, format string, args ...any) {
	q.Evidence = append(q.Evidence, api.Evidence{What: what, Found: fmt.Sprintf(format, args...), Verdict: verdict, Source: source})
}

// because adds an event, with what it comes from.
func (q *question) because(a Around, e event.Event) {
	if e.Seq == 0 {
		return
	}
	q.Evidence = append(q.Evidence, api.Evidence{
		What: fmt.Sprintf("#%d %s at %s", e.Seq, e.Kind, a.clock(e.Time)), Found: a.path(e), Source: eventLog, Event: e.Seq,
	})
}

// answer settles it. What was decided before stays: the first reason that is found is the one that counts.
func (q *question) answer(level event.Level, try, format string, args ...any) {
	if q.Answer != "" {
		return
	}
	q.Level, q.Try, q.Answer = level, try, fmt.Sprintf(format, args...)
}

// urgency orders questions.
func urgency(q api.Question) int {
	switch q.Level {
	case event.Error:
		return 0
	case event.Warning:
		return 1
	}
	return 2
}

// sorted puts the most urgent first, and leaves the order otherwise.
func sorted(list []question) []api.Question {
	all := make([]api.Question, 0, len(list))
	for _, q := range list {
		if q.Answer != "" {
			all = append(all, q.Question)
		}
	}
	slices.SortStableFunc(all, func(a, b api.Question) int { return cmp.Compare(urgency(a), urgency(b)) })
	return all
}

// verdictOf is ok or wrong.
func verdictOf(ok bool) string {
	if ok {
		return fine
	}
	return wrong
}
