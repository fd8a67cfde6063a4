package fold

import "github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"

// Finding is where the planes disagree: a VM that is off and whose node is Ready, a tag that says another zone than the
// label.
type Finding struct {
	api.Subject
	// Field is what they disagree on: ready, zone, region, providerID, addresses, volume, lease.
	Field string
	// Text says it in a few words: "VM off, node still Ready".
	Text string
	// Settling: it may be so for a moment, and has not been so for longer.
	Settling bool
}

// Findings are all there are, by subject.
func (s *State) Findings() []Finding { return nil }

// FindingsOf are those about a subject; its VCenter matters only where it is set.
func (s *State) FindingsOf(about api.Subject) (of []Finding) {
	for _, f := range s.Findings() {
		if f.Kind == about.Kind && f.Name == about.Name && (about.VCenter == "" || f.VCenter == about.VCenter) {
			of = append(of, f)
		}
	}
	return of
}
