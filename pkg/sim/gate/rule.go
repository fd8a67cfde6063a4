package gate

import (
	"fmt"
	"time"
)

// Rule says what becomes of some calls: those that Match, Action happens to. Rules are plain data; [Gate.Add]
// puts one in force.
//
//	gate.Rule{
//		Name:   "CSI cannot attach",
//		Match:  gate.Match{Client: "vsphere-csi*", Methods: []string{"CnsAttachVolume"}},
//		Action: gate.FailTask{After: 5 * time.Second, Fault: gate.Fault{Type: "FileLocked"}},
//		Count:  3,
//	}
//
// Of the calls that match while the window is open, the first Skip pass, of the others each is hit with Probability, and
// after Count hits the rule is spent. Rules are tried in the order of Add, each at most once per call: Latency and
// DropSession let the call continue to the next rule, the first other action that hits decides.
type Rule struct {
	// Name is for people: logs, [Call].Rule, [Status]. Optional.
	Name string
	// Match picks the calls. The zero value matches all.
	Match Match
	// Action is one of the action types of this package. Required.
	Action Action
	// Probability that a call is hit, above 0, up to 1. Zero stands for 1.
	Probability float64
	// Seed makes the draws of Probability and of Jitter repeatable: the n-th matching call gets the n-th draw.
	Seed uint64
	// Skip lets that many matching calls pass first.
	Skip int
	// Count is the number of hits after which the rule is spent. Zero stands for no limit.
	Count int
	// Window is the time in which the rule is in force. The zero value is always.
	Window Window
}

// Window is a time counted from [Gate.Add].
type Window struct {
	// From is when it opens. Zero is at once.
	From time.Duration
	// Until is when it closes: calls that are held are released then. Zero is never.
	Until time.Duration
}

// Match picks calls. Every field that is set has to match; texts are globs in which * stands for any run of characters,
// the empty one among them, and ? for one character.
type Match struct {
	// Client is found in the User-Agent, without regard to case: a text without * and ? anywhere in it, a glob as the
	// whole of it.
	Client string
	// User is a glob over the name of the session's user, without regard to case. Needs [Options].Identify.
	User string
	// Session is the key of a session, as it is. Needs [Options].Identify.
	Session string
	// Transport is the API that is called.
	Transport Transport
	// Methods are globs over names of SOAP methods ("PowerOnVM_Task", "Cns*") or of REST operations as [Call].Method has
	// them ("POST /rest/com/vmware/cis/tagging/tag-association/{id}?~action=attach"; without a verb any verb matches). One
	// of them has to match.
	Methods []string
	// Object is what the call is about.
	Object Object
}

// Object picks calls by what they are about: the object that the method is called on, or any that the arguments name
// (the object of a retrieval, the VM of a volume's attachment, the object of a tag). Objects reached through a view are
// not named, so waits and retrievals of a view do not match. All that is set has to hold for one and the same object.
type Object struct {
	// Type of the managed object ("VirtualMachine"), exactly: subtypes do not count.
	Type string
	// Ref is the value of its reference ("vm-42").
	Ref string
	// Name is a glob over its name in the inventory. Needs [Options].Name.
	Name string
}

// Transport is a way to call a vCenter.
type Transport string

const (
	// SOAP is the Web Services API and its likes: vim25, PBM, CNS, VSLM, STS.
	SOAP Transport = "soap"
	// REST is everything below /rest and /api.
	REST Transport = "rest"
	// HTTP is the rest: files of datastores, service versions.
	HTTP Transport = "http"
)

// ID names a rule of one gate. It is never used again.
type ID uint64

// Status is a rule and how it fares.
type Status struct {
	ID    ID
	Rule  Rule
	State Stage
	// Matched counts the calls that matched, Hits those that the action happened to.
	Matched int64
	Hits    int64
}

// Stage is where a rule is in its life.
type Stage string

const (
	// Waiting is before the window opens.
	Waiting Stage = "waiting"
	// Active is in force.
	Active Stage = "active"
	// Spent has hit Count times. What it holds, it holds on.
	Spent Stage = "spent"
	// Ended is after the window.
	Ended Stage = "ended"
)

// title names a rule for people.
func (r Rule) title() string {
	if r.Name != "" {
		return fmt.Sprintf("rule %q", r.Name)
	}
	return "rule"
}

// whole reports whether a rule is about every call.
func (m Match) whole() bool {
	return m.Client == "" && m.User == "" && m.Session == "" && m.Transport == "" && len(m.Methods) == 0 && m.Object == Object{}
}
