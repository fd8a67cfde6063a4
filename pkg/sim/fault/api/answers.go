package api

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
)

func soapFault() *fault.Kind {
	return ruled(fault.Kind{
		Name:  "vcenter.soap-fault",
		Short: "answers SOAP calls to a vCenter with a fault of the vSphere API",
		Long: `Any fault of the vSphere API, CNS, PBM or VSLM: NoPermission, NotAuthenticated,
ManagedObjectNotFound, HostCommunication, CnsFault. The vCenter itself does
nothing. Calls of REST are not hit.`,
		Params: params([]fault.Param{
			{Name: "fault", Short: "the type of the fault: NoPermission", Type: fault.Text, Default: "RuntimeFault"},
			{Name: "message", Short: "what clients print", Type: fault.Text},
		}, without(callers(), "transport"), chance()),
		Reported: []string{"cloud-provider-vsphere#665", "cloud-provider-vsphere#680"},
	}, func(v fault.Values) (gate.Action, string) {
		a := gate.Fault{Type: v.Text("fault"), Message: v.Text("message")}
		return a, fmt.Sprintf("answers fault %s to", a.Type)
	})
}

func restError() *fault.Kind {
	return ruled(fault.Kind{
		Name:  "vcenter.rest-error",
		Short: "answers REST calls to a vCenter with an error of the Automation API",
		Long: `Tags, and with them regions and zones, are read over REST: here it fails while
SOAP still works. The error has the form that the path's clients expect, /rest or
/api. Calls of SOAP are not hit.`,
		Params: params([]fault.Param{
			{Name: "error", Short: "the type of the error: UNAUTHENTICATED, NOT_FOUND", Type: fault.Text, Default: "SERVICE_UNAVAILABLE"},
			{Name: "message", Short: "what clients print", Type: fault.Text},
		}, without(callers(), "transport"), chance()),
		Reported: []string{"cluster-api-provider-vsphere#1818"},
	}, func(v fault.Values) (gate.Action, string) {
		a := gate.RESTError{Type: v.Text("error"), Message: v.Text("message")}
		return a, fmt.Sprintf("answers error %s to", a.Type)
	})
}

// kept is the empty state of a fault that is only a rule of the gate, named after the lease.
type kept struct{}

// ruled returns a kind that is one rule of the gate. act returns what the rule does, and its description, to which the
// description of the affected calls is appended.
func ruled(k fault.Kind, act func(fault.Values) (gate.Action, string)) *fault.Kind {
	return rulesFor(k, func(c *fault.Call) ([]gate.Rule, string) {
		action, words := act(c.Params)
		r := rule(c, match(c.Params), action)
		return []gate.Rule{r}, words + " " + victims(c.Params)
	})
}

// rulesFor returns a kind that is several rules.
func rulesFor(k fault.Kind, rules func(*fault.Call) ([]gate.Rule, string)) *fault.Kind {
	k.Object, k.Needs = fault.VCenter, []fault.Need{fault.Gated}
	return gated(k, rules)
}

// gated returns a kind that is several rules of the gate of its target.
func gated(k fault.Kind, rules func(*fault.Call) ([]gate.Rule, string)) *fault.Kind {
	return fault.New(k, fault.Steps[kept]{
		Plan: func(_ context.Context, c *fault.Call) (kept, string, error) {
			v, err := target(c)
			if err != nil {
				return kept{}, "", err
			}
			list, does := rules(c)
			return kept{}, does, planned(v, list)
		},
		Apply: func(_ context.Context, c *fault.Call, _ *kept) error {
			v, err := target(c)
			if err != nil {
				return err
			}
			list, _ := rules(c)
			return add(v.Gate(), list)
		},
		Revert: func(ctx context.Context, c *fault.Call, _ *kept) error {
			v, err := target(c)
			if err != nil {
				return err
			}
			return remove(ctx, v.Gate(), c.Lease)
		},
	})
}

// rule returns a rule of the lease.
func rule(c *fault.Call, m gate.Match, a gate.Action) gate.Rule {
	r := gate.Rule{Name: c.Lease, Match: m, Action: a, Count: c.Params.Number("count"), Seed: c.Rand.Uint64()}
	if share, ok := c.Params["share"]; ok && share != "1" {
		r.Probability = c.Params.Fraction("share")
	}
	return r
}

// endpoint is a target with a gate.
type endpoint interface {
	Name() string
	Gate() *gate.Gate
}

// target returns the target of a kind that is rules of a gate.
func target(c *fault.Call) (endpoint, error) {
	if c.Target.Kind == fault.NSX {
		return manager(c)
	}
	return front(c)
}

// front returns the front of the target.
func front(c *fault.Call) (fault.Front, error) {
	ep := c.Ground.VCenter(c.Target.Name)
	if ep == nil || ep.Front == nil {
		return nil, &fault.Refusal{Code: "not-found", Message: "there is no vCenter " + c.Target.Name + " with a gate in front of it"}
	}
	return ep.Front, nil
}

// vcenter returns the target, which must be simulated.
func vcenter(c *fault.Call) (*sim.VCenter, error) {
	ep := c.Ground.VCenter(c.Target.Name)
	if ep == nil || ep.Sim == nil {
		return nil, &fault.Refusal{Code: "not-found", Message: "there is no simulated vCenter " + c.Target.Name}
	}
	return ep.Sim, nil
}

// planned refuses invalid rules, and rules that are in force already, since a second copy would have no effect.
func planned(v endpoint, list []gate.Rule) error {
	if v.Gate().Mode().State == gate.Down {
		return &fault.Refusal{
			Code: "conflict", Message: noun(v) + " is down: no client would notice the fault", Try: "vsphere-sandbox vcenter up " + v.Name(),
		}
	}
	there := v.Gate().Rules()
	for _, r := range list {
		if err := r.Validate(); err != nil {
			return &fault.Refusal{Code: "invalid", Message: words(err)}
		}
		for _, other := range there {
			if other.State == gate.Active && reflect.DeepEqual(other.Rule.Match, r.Match) && reflect.DeepEqual(other.Rule.Action, r.Action) {
				return fault.Refuse("the same is done to %s already, by %s", noun(v), other.Rule.Name)
			}
		}
	}
	return nil
}

// noun names a target in messages.
func noun(v endpoint) string {
	if _, ok := v.(nsxManager); ok {
		return "the NSX Manager"
	}
	return "vCenter " + v.Name()
}

// words describes an invalid rule in one line, with the names of the kind's parameters.
func words(err error) string {
	lines := strings.Split(err.Error(), "\n")
	for i, l := range lines {
		if _, what, ok := strings.Cut(l, ": "); ok && strings.HasPrefix(l, "rule") {
			lines[i] = what
		}
		lines[i] = strings.NewReplacer("match.user", "account", "match.object.name", "object", "match.", "", "action.", "").Replace(lines[i])
	}
	return strings.Join(lines, "; ")
}

// add puts all of the rules in force, or none.
func add(g *gate.Gate, list []gate.Rule) error {
	for _, r := range list {
		if _, err := g.Add(r); err != nil {
			return err
		}
	}
	return nil
}

// remove removes the rules of a lease that still exist.
func remove(ctx context.Context, g *gate.Gate, lease string) error {
	for _, s := range g.Rules() {
		if s.Rule.Name != lease {
			continue
		}
		if err := g.Remove(ctx, s.ID); err != nil && !errors.Is(err, gate.ErrNoRule) {
			return err
		}
	}
	return nil
}

// The short names of clients, and their User-Agents.
const (
	clientCCM   = "ccm"        // ours: vsphere-cloud-provider; upstream: k8s-cloud-provider-vsphere (pkg/common/vclib/connection.go)
	clientCSI   = "csi"        // upstream: k8s-csi-useragent[-CLUSTER-FEATURE] (pkg/common/cns-lib/vsphere/virtualcenter.go)
	clientWatch = "node-watch" // the CCM's client that waits for changes of VMs
	clientGovc  = "govc"       // govc/0.56.0
)

// agents maps short names to patterns for [gate.Match].Client.
func agents() map[string]string {
	return map[string]string{
		clientCCM: "*cloud-provider*", clientCSI: "*csi*", clientWatch: "*cloud-provider*", clientGovc: "govc/*",
	}
}

// ClientPattern returns the pattern of a client's short name for [gate.Match], and any other text as it is.
func ClientPattern(name string) string {
	if pattern, ok := agents()[name]; ok {
		return pattern
	}
	return name
}

// watchMethods lists the methods of a client that waits for changes.
func watchMethods() []string {
	return []string{"WaitForUpdatesEx", "WaitForUpdates", "CheckForUpdates", "CreateFilter", "CancelWaitForUpdates"}
}

// callers returns the parameters that select calls, shared by all faults of calls.
func callers() []fault.Param {
	return []fault.Param{
		{Name: "client", Short: "who is hit: ccm, csi, node-watch (the CCM's watch), govc, or a text in the User-Agent; everybody, when empty", Type: fault.Text},
		{Name: "account", Short: "the account whose sessions are hit, with * and ? as wildcards", Type: fault.Text},
		{Name: "transport", Short: "the API that is hit; both, when empty", Type: fault.Text, Choices: []string{string(gate.SOAP), string(gate.REST)}},
		{Name: "methods", Short: "the methods that are hit, with commas between them: FindAllByUuid, Cns*, /api/session", Type: fault.Text},
		{Name: "object", Short: "the name of the object that calls have to be about: worker-*", Type: fault.Text},
	}
}

// chance returns the parameters of a fault that affects a part of the calls.
func chance() []fault.Param {
	return []fault.Param{
		{Name: "share", Short: "how many of these calls are hit", Type: fault.Fraction, Default: "1"},
		{Name: "count", Short: "after how many hits it is over; 0 is never", Type: fault.Number, Default: "0"},
	}
}

// params concatenates lists of parameters.
func params(lists ...[]fault.Param) []fault.Param {
	var all []fault.Param
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}

// without removes parameters from a list.
func without(list []fault.Param, names ...string) []fault.Param {
	var rest []fault.Param
next:
	for _, p := range list {
		for _, n := range names {
			if p.Name == n {
				continue next
			}
		}
		rest = append(rest, p)
	}
	return rest
}

// match returns the match of the parameters of callers.
func match(v fault.Values) gate.Match {
	m := gate.Match{
		Client: v.Text("client"), User: v.Text("account"), Transport: gate.Transport(v.Text("transport")),
		Methods: split(v.Text("methods")), Object: gate.Object{Name: v.Text("object")},
	}
	if pattern, ok := agents()[m.Client]; ok {
		if m.Client == clientWatch && len(m.Methods) == 0 {
			m.Methods = watchMethods()
		}
		m.Client = pattern
	}
	return m
}

// split splits a list at its commas.
func split(list string) []string {
	var parts []string
	for p := range strings.SplitSeq(list, ",") {
		if p = strings.TrimSpace(p); p != "" {
			parts = append(parts, p)
		}
	}
	return parts
}

// victims describes the affected calls.
func victims(v fault.Values) string {
	var words []string
	if client := v.Text("client"); client != "" {
		words = append(words, client)
	}
	if account := v.Text("account"); account != "" {
		words = append(words, account)
	}
	if len(words) == 0 {
		words = append(words, "everybody")
	}
	if t := v.Text("transport"); t != "" {
		words = append(words, "on "+strings.ToUpper(t))
	}
	if methods := split(v.Text("methods")); len(methods) > 0 {
		words = append(words, "for "+strings.Join(methods, ", "))
	}
	if object := v.Text("object"); object != "" {
		words = append(words, "about "+object)
	}
	if share := v.Fraction("share"); share > 0 && share < 1 {
		words = append(words, fmt.Sprintf("in %g %% of the calls", 100*share))
	}
	if n := v.Number("count"); n > 0 {
		words = append(words, fmt.Sprintf("(%d times)", n))
	}
	return strings.Join(words, " ")
}

// Kinds returns the kinds of this theme.
func Kinds() []*fault.Kind {
	return []*fault.Kind{
		down(), restart(), blackHole(), hang(), latency(), unavailable(), throttled(), resetMidBody(), soapFault(), restError(),
		cnsDown(), spbmDown(),
		sessionExpired(), sessionsExpiring(), sessionCap(), accountLocked(),
		certificateRotated(), certificateExpired(), certificateWrongName(), passwordRotated(), permissionMissing(), watchTruncated(), eventBurst(),
	}
}
