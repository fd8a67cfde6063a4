package gate

import (
	"fmt"
	"time"
)

// Rule applies Action to the calls that Match. Rules are plain data; [Gate.Add] puts one in force.
//
//	gate.Rule{
//		Name:   "CSI cannot attach",
//		Match:  gate.Match{Client: "vsphere-csi*", Methods: []string{"CnsAttachVolume"}},
//		Action: gate.FailTask{After: 5 * time.Second, Fault: gate.Fault{Type: "FileLocked"}},
//		Count:  3,
//	}
//
// Of the calls that match while the window is open, the first Skip pass; each of the others is hit with Probability; after Count
// hits the rule is spent. Rules apply in the order of Add, each at most once per call: Latency and DropSession let the call
// continue to the next rule, the first other action that hits decides.
type Rule struct {
	// Name is used in logs, [Call].Rules and [Status]. Optional.
	Name string
	// Match selects the calls. The zero value matches all.
	Match Match
	// Action is one of the action types of this package. Required.
	Action Action
	// Probability that a call is hit, above 0, up to 1. Zero means 1.
	Probability float64
	// Seed makes Probability and Jitter repeatable: the n-th matching call gets the n-th draw.
	Seed uint64
	// Skip lets that many matching calls pass first.
	Skip int
	// Count is the number of hits after which the rule is spent. Zero means no limit.
	Count int
	// Window limits the time in which the rule is in force. The zero value means always.
	Window Window
}

// Window is a range of time since [Gate.Add].
type Window struct {
	// From is when it opens. Zero: at once.
	From time.Duration
	// Until is when it closes, which releases held calls. Zero: never.
	Until time.Duration
}

// Match selects calls. All fields that are set must match. Texts are globs: * matches any text, ? one character.
type Match struct {
	// Client matches the User-Agent, case-insensitively: a text without * and ? anywhere in it, a glob as a whole.
	Client string
	// User is a case-insensitive glob for the name of the session's user. It needs [Options].Identify.
	User string
	// Session is the exact key of a session. It needs [Options].Identify.
	Session string
	// Transport is the API that is called.
	Transport Transport
	// Methods are globs for names of SOAP methods ("PowerOnVM_Task", "Cns*") or of REST operations as in [Call].Method ("POST
	// /rest/com/vmware/cis/tagging/tag-association/{id}?~action=attach"; without a verb any verb matches). One must match.
	Methods []string
	// Object is what the call is about.
	Object Object
}

// Object selects calls by the object on which the method is called, or any object in the arguments (of a retrieval, the VM of an
// attachment, the object of a tag). It does not see objects in a view, so waits and retrievals of a view do not match. All fields
// that are set must match the same object.
type Object struct {
	// Type is the exact type of the managed object ("VirtualMachine"), without subtypes.
	Type string
	// Ref is the value of its reference ("vm-42").
	Ref string
	// Name is a glob for its name in the inventory. It needs [Options].Name.
	Name string
}

// Transport is an API of a vCenter.
type Transport string

const (
	// SOAP is the Web Services API and similar ones: vim25, PBM, CNS, VSLM, STS.
	SOAP Transport = "soap"
	// REST is everything below /rest and /api.
	REST Transport = "rest"
	// HTTP is the rest: files of datastores, service versions.
	HTTP Transport = "http"
)

// ID identifies a rule of one gate. It is never reused.
type ID uint64

// Status is a rule with its state.
type Status struct {
	ID    ID
	Rule  Rule
	State Stage
	// Matched counts the calls that matched, Hits those that were hit.
	Matched int64
	Hits    int64
}

// Stage is the phase of a rule.
type Stage string

const (
	// Waiting means that the window is not open yet.
	Waiting Stage = "waiting"
	// Active means that the rule is in force.
	Active Stage = "active"
	// Spent means that the rule has hit Count times. It still holds the calls that it hit.
	Spent Stage = "spent"
	// Ended means that the window has closed.
	Ended Stage = "ended"
)

// title returns the name of a rule for messages.
func (r Rule) title() string {
	if r.Name != "" {
		return fmt.Sprintf("rule %q", r.Name)
	}
	return "rule"
}

// whole reports whether a rule matches every call.
func (m Match) whole() bool {
	return m.Client == "" && m.User == "" && m.Session == "" && m.Transport == "" && len(m.Methods) == 0 && m.Object == Object{}
}
