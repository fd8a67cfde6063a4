package metrics

import (
	"slices"
	"sync"
)

// Source is what a VM was looked up by.
type Source string

// The sources of [Metrics.Lookup], in the order in which they are tried.
const (
	ByProviderID Source = "provider_id"
	BySystemUUID Source = "system_uuid"
	ByHostName   Source = "hostname"
	ByAddress    Source = "address"
)

// Result is what came of a lookup.
type Result string

// The results of [Metrics.Lookup].
const (
	Found Result = "found"
	// NotFound: no vCenter knows such a VM.
	NotFound Result = "not_found"
	// Ambiguous: several VMs answer.
	Ambiguous Result = "ambiguous"
	// Unsure: it was not found, and not every vCenter could be asked.
	Unsure Result = "unsure"
)

// Outcome is what came of asking whether a VM is gone.
type Outcome string

// The outcomes of [Metrics.Confirmation].
const (
	Gone       Outcome = "gone"
	StillThere Outcome = "still_there"
	// Doubt: nothing may be concluded, and nothing is deleted.
	Doubt Outcome = "doubt"
)

// Reload is what became of a changed configuration.
type Reload string

// The results of [Metrics.Reload].
const (
	// Applied: it is in use.
	Applied Reload = "applied"
	// Refused: it is wrong, and the one before stays in use.
	Refused Reload = "refused"
	// NeedsRestart: it holds something that only a new process can take up.
	NeedsRestart Reload = "needs_restart"
)

func sources() []Source   { return []Source{ByProviderID, BySystemUUID, ByHostName, ByAddress} }
func results() []Result   { return []Result{Found, NotFound, Ambiguous, Unsure} }
func outcomes() []Outcome { return []Outcome{Gone, StillThere, Doubt} }
func reloads() []Reload   { return []Reload{Applied, Refused, NeedsRestart} }

// bounded is the value itself where it is one of those that there are.
func bounded[T ~string](value T, all []T) string {
	if slices.Contains(all, value) {
		return string(value)
	}
	return other
}

// MaxMethods is how many methods of a vCenter's API are told apart; later ones are "other".
const MaxMethods = 64

// other stands for label values that are not to be told apart.
const other = "other"

// Methods bounds a label of methods. The zero value is ready to use, from any goroutine.
type Methods struct {
	mu    sync.Mutex
	known map[string]bool
}

// Label returns the method itself, for the first [MaxMethods].
func (m *Methods) Label(method string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known[method] {
		return method
	}
	if len(m.known) >= MaxMethods {
		return other
	}
	if m.known == nil {
		m.known = map[string]bool{}
	}
	m.known[method] = true
	return method
}
