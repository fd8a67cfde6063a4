package doctor

import (
	"fmt"
)

// Level is how bad a finding is.
type Level string

// The levels.
const (
	OK      Level = "ok"
	Warning Level = "warning" // something works less well, or only by chance
	Error   Level = "error"   // something does not work
)

// Finding is one result of a check.
type Finding struct {
	// ID is what was checked, the same in every release: "certificate-expiry".
	ID    string `json:"id"`
	Level Level  `json:"level"`
	// VCenter is the vCenter's name; empty where several are concerned.
	VCenter string `json:"vcenter,omitempty"`
	// Cluster is the Kubernetes cluster's name, where one is concerned.
	Cluster string `json:"cluster,omitempty"`
	// What is what was found. Why is what follows from it, and Try what to do; both are empty when all is well.
	What string `json:"what"`
	Why  string `json:"why,omitempty"`
	Try  string `json:"try,omitempty"`
	// Objects are all that are concerned, where What may name a few: inventory paths of VMs, or names of nodes.
	Objects []string `json:"-"`
}

// list collects the findings of one vCenter, or of a cluster.
type list struct {
	vcenter, cluster string
	all              []Finding
}

func (l *list) ok(id, format string, args ...any) {
	l.all = append(l.all, Finding{ID: id, Level: OK, VCenter: l.vcenter, Cluster: l.cluster, What: fmt.Sprintf(format, args...)})
}

func (l *list) add(level Level, id, what, why, try string) {
	l.all = append(l.all, Finding{ID: id, Level: level, VCenter: l.vcenter, Cluster: l.cluster, What: what, Why: why, Try: try})
}

// concern says whom the latest finding is about.
func (l *list) concern(objects []string) { l.all[len(l.all)-1].Objects = objects }

// shown is how many names a finding spells out.
const shown = 5
