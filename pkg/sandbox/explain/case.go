package explain

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// Around is what a case of any kind is seen in.
type Around struct {
	// Now is when it was gathered. Times are told in its location.
	Now time.Time
	// Events are all that the log remembers, oldest first.
	Events []event.Event
	// Leases are the faults that were injected.
	Leases   []api.Lease
	VCenters []VCenter
	// CCM are the replicas of the cloud controller manager, as they are now; none where there is no Kubernetes.
	CCM []api.Component
	// CCMCut says that the CCM's way to the API server is cut.
	CCMCut bool
	// CCMLog is what the CCM's log says of the subject, oldest first, the end of it.
	CCMLog []string
	// Config is the cloud-config as the CCM reads it.
	Config Asked[*config.Config]
	// Relabels: the CCM keeps zone labels true, and does not only set them.
	Relabels bool
	// Others: the cluster is others'. Of its kubelets nothing is known but what the API server says, and it may have a CCM that is
	// none of these.
	Others bool
	// Grace is how long a node may be silent before it is Unknown.
	Grace time.Duration
}

// VCenter is a vCenter, and how it gets on with the CCM.
type VCenter struct {
	api.VCenter
	// Server is how the cloud-config names it.
	Server string
	// Err is why the sandbox itself could not ask it.
	Err error
	// Categories are the names of the tag categories that it has.
	Categories Asked[[]string]
	// Calls are the last that the CCM made, oldest first.
	Calls []Call
}

// Call is a call that the CCM made, and what it was told.
type Call struct {
	Time     time.Time
	Method   string
	Answer   string // "ok", or what went wrong
	Failed   bool
	Duration time.Duration
}

// vcenter finds one by its name.
func (a Around) vcenter(name string) (VCenter, bool) {
	for _, vc := range a.VCenters {
		if vc.Name == name {
			return vc, true
		}
	}
	return VCenter{}, false
}

// configured finds what the cloud-config says of a vCenter.
func (a Around) configured(vc VCenter) (config.VCenter, bool) {
	if a.Config.Is == nil {
		return config.VCenter{}, false
	}
	for _, v := range a.Config.Is.VCenters {
		if config.SameHost(v.Server, vc.Server) {
			return v, true
		}
	}
	return config.VCenter{}, false
}

// clock is a moment as people read it.
func (a Around) clock(t time.Time) string { return t.In(a.Now.Location()).Format("15:04:05") }

// since is how long ago a moment was.
func (a Around) since(t time.Time) string { return span(a.Now.Sub(t)) }

// span is a duration as people read it.
func span(d time.Duration) string {
	switch {
	case d < 0:
		return "0s"
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < 10*time.Second:
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

// Patience is how long one source may take to answer.
const Patience = 3 * time.Second

// Asked is what a source answered, or why it did not. A pointer that is nil without an error says that there is none.
type Asked[T any] struct {
	Is  T
	Err error
}

// ask puts a question within [Patience].
func ask[T any](ctx context.Context, f func(context.Context) (T, error)) Asked[T] {
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	is, err := f(ctx)
	return Asked[T]{is, err}
}

// together runs all of them at once, and returns when the last is done.
func together(asks ...func()) {
	var wg sync.WaitGroup
	for _, f := range asks {
		wg.Go(f)
	}
	wg.Wait()
}

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

// count is a small number as a word.
func count(n int) string {
	words := []string{"no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"}
	if n < len(words) {
		return words[n]
	}
	return fmt.Sprint(n)
}

// and joins a list as a sentence does.
func and(list []string, word string) string {
	if len(list) < 2 {
		return strings.Join(list, "")
	}
	last := len(list) - 1
	return strings.Join(list[:last], ", ") + " " + word + " " + list[last]
}

// ids names VMs.
func ids(list []Machine) []string {
	var all []string
	for _, m := range list {
		all = append(all, m.id())
	}
	return all
}

// cutID takes VCENTER/NAME apart.
func cutID(id string) (vcenter, name string) {
	vcenter, name, _ = strings.Cut(id, "/")
	return vcenter, name
}
