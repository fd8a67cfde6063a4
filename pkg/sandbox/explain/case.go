package explain

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/absent"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// Around is what a case of any kind is seen in.
type Around struct {
	// Now is when it was gathered. Times are printed in its location.
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
	Config Answer[*config.Config]
	// Relabels: the CCM keeps zone labels true, and does not only set them.
	Relabels bool
	// SharedCluster: the cluster is others'. Of its kubelets nothing is known but what the API server says, and it may have a CCM that is
	// none of these.
	SharedCluster bool
	// Supervisor is what the CCM asks instead of vCenters; nil unless the cluster is a guest cluster.
	Supervisor *Supervisor
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
	Categories Answer[[]string]
	// Datacenters are those that it has; nil if unknown.
	Datacenters []absent.Place
	// Calls are the last that the CCM made, oldest first.
	Calls []Call
}

// Call is a call that the CCM made, and its answer.
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

// sections are the connections of the cloud-config that lead to a vCenter: several accounts may.
func (a Around) sections(vc VCenter) (all []config.VCenter) {
	if a.Config.Is == nil {
		return nil
	}
	port := 0
	if u, err := url.Parse(vc.URL); err == nil {
		port, _ = strconv.Atoi(u.Port())
	}
	for _, v := range a.Config.Is.VCenters {
		if config.SameHost(v.Server, vc.Server) && (port == 0 || v.Port == 0 || v.Port == port) {
			all = append(all, v)
		}
	}
	return all
}

// configured is what the cloud-config says of a vCenter: the datacenters of all its sections, which are named together.
func (a Around) configured(vc VCenter) (config.VCenter, bool) {
	all := a.sections(vc)
	if len(all) == 0 {
		return config.VCenter{}, false
	}
	is := all[0]
	for _, v := range all[1:] {
		is.Tenant += ", " + v.Tenant
		if len(is.Datacenters) > 0 && len(v.Datacenters) > 0 {
			is.Datacenters = slices.Concat(is.Datacenters, v.Datacenters)
		} else {
			is.Datacenters = nil
		}
	}
	return is, true
}

// absent returns the names in the cloud-config that a vCenter does not have, as the provider decides it.
func (a Around) absent(vc VCenter) []absent.Name {
	of, ok := a.configured(vc)
	if !ok {
		return nil
	}
	want := absent.Wanted{Datacenters: of.Datacenters}
	if labels := a.labels(); labels.Region != "" && labels.Zone != "" {
		want.Categories = []string{labels.Region, labels.Zone}
	}
	have := absent.Present{Datacenters: vc.Datacenters}
	if vc.Categories.Err == nil {
		have.Categories = vc.Categories.Is
	}
	return absent.Find(want, have)
}

// sawNames adds the names in the cloud-config that a vCenter does not have.
func (a Around) sawNames(q *question, vc VCenter) {
	for _, name := range a.absent(vc) {
		q.saw(cloudConfig, wrong, "vCenter "+vc.Name, "%s", name)
	}
}

// hides returns which names in the cloud-config hide VMs of a vCenter, as the end of a sentence; "" for none.
func (a Around) hides(vc VCenter) string {
	names := absent.Hiding(a.absent(vc))
	if len(names) == 0 {
		return ""
	}
	return "; vCenter " + vc.Name + ": " + absent.Join(names)
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

// Answer is the answer of a source, or why it did not answer. A nil pointer without an error is an object that does not exist.
type Answer[T any] struct {
	Is  T
	Err error
}

// ask puts a question within [Patience].
func ask[T any](ctx context.Context, f func(context.Context) (T, error)) Answer[T] {
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	is, err := f(ctx)
	return Answer[T]{is, err}
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
	nsxManager  = "NSX Manager"
	// supervisorAPI is what a guest cluster's Supervisor says.
	supervisorAPI = "Supervisor"
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

// doubted returns the question as one that needs attention if it was answered well beside evidence that something is wrong or
// missing.
func (q question) doubted() api.Question {
	if i := slices.IndexFunc(q.Evidence, func(v api.Evidence) bool { return v.Verdict == wrong || v.Verdict == missing }); i >= 0 && q.Level == event.Info {
		v := q.Evidence[i]
		q.Level, q.Answer = event.Warning, fmt.Sprintf("%s; but %s: %s", q.Answer, v.What, v.Found)
	}
	return q.Question
}

// sorted puts the most urgent first, and leaves the order otherwise.
func sorted(list []question) []api.Question {
	all := make([]api.Question, 0, len(list))
	for _, q := range list {
		if q.Answer != "" {
			all = append(all, q.doubted())
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
func ids(list []VMState) []string {
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

// find returns the event of a Seq.
func (a Around) find(seq uint64) (event.Event, bool) {
	i := sort.Search(len(a.Events), func(i int) bool { return a.Events[i].Seq >= seq })
	if i < len(a.Events) && a.Events[i].Seq == seq {
		return a.Events[i], true
	}
	return event.Event{}, false
}

// newest returns the newest event that matches; its Seq is 0 for none.
func (a Around) newest(match func(event.Event) bool) event.Event {
	for _, e := range slices.Backward(a.Events) {
		if match(e) {
			return e
		}
	}
	return event.Event{}
}

// newestOf is newest, of one of the kinds.
func (a Around) newestOf(about func(event.Event) bool, kinds ...string) event.Event {
	return a.newest(func(e event.Event) bool { return slices.Contains(kinds, e.Kind) && about(e) })
}

// chain is what an event comes from, the first cause first, and itself at the end.
func (a Around) chain(e event.Event) []event.Event {
	list := []event.Event{e}
	for e.Cause != 0 && e.Cause < e.Seq { // a cause is older
		cause, ok := a.find(e.Cause)
		if !ok {
			break
		}
		list, e = append(list, cause), cause
	}
	slices.Reverse(list)
	return list
}

// path writes the chain of an event with the latency of every hop.
func (a Around) path(e event.Event) string {
	list := a.chain(e)
	if len(list) == 1 {
		return e.Message
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s)", list[0].Kind, list[0].Message)
	for i, hop := range list[1:] {
		fmt.Fprintf(&b, " → %s +%s", hop.Kind, span(hop.Time.Sub(list[i].Time)))
	}
	return b.String()
}

// who says what was behind an event: ", because of …", or nothing when that is not known.
func (a Around) who(e event.Event) string {
	if e.Seq == 0 {
		return ""
	}
	first := a.chain(e)[0]
	switch {
	case first.Seq == e.Seq:
		return ""
	case strings.HasPrefix(first.Kind, "command."):
		return fmt.Sprintf(", because of the command %q (#%d)", first.Message, first.Seq)
	case strings.HasPrefix(first.Kind, "fault.injected"):
		return fmt.Sprintf(", because of fault %s (#%d)", first.Message, first.Seq)
	}
	return fmt.Sprintf(", after %s (#%d: %s)", first.Kind, first.Seq, first.Message)
}

// undo is what heals the fault that an event comes from, if it comes from one that lasts; otherwise something else.
func (a Around) undo(e event.Event, otherwise string) string {
	if e.Seq == 0 {
		return otherwise
	}
	first := a.chain(e)[0]
	for _, l := range a.Leases {
		if first.Kind == "fault.injected" && strings.HasPrefix(first.Message, l.ID+": ") && l.State == "active" {
			return "vsphere-sandbox fault heal " + l.ID
		}
	}
	return otherwise
}

// History picks the events that are about something, and those that they come from, oldest first.
func History(all []event.Event, about func(event.Event) bool) []event.Event {
	picked := []event.Event{}
	wanted := map[uint64]bool{}
	for _, e := range slices.Backward(all) { // a cause is older than what comes from it
		if !wanted[e.Seq] && !about(e) {
			continue
		}
		picked = append(picked, e)
		if e.Cause != 0 {
			wanted[e.Cause] = true
		}
	}
	slices.Reverse(picked)
	return picked
}

// ofNode reports whether an event is about a node.
func ofNode(name string) func(event.Event) bool {
	return func(e event.Event) bool { return e.Object.Kind == "Node" && e.Object.Name == name }
}

// ofVM reports whether an event is about a VM.
func ofVM(vcenter, name string) func(event.Event) bool {
	return func(e event.Event) bool {
		return e.Object.Kind == "VM" && e.Object.VCenter == vcenter && e.Object.Name == name
	}
}
