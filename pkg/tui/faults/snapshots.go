package faults

import (
	"fmt"
	"strconv"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/intent"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/text"
)

// listed is the most snapshots in a menu: each has a digit as its key.
const listed = 9

// NewSnapshots returns the menu that saves a snapshot, or restores one of all, which are sorted oldest first: the newest nine. Those that
// cannot be read show why.
func NewSnapshots(all []api.Snapshot, now time.Time) *Menu {
	entries := []entry{{key: "s", name: "save", what: "the state of the sandbox as it is now", intent: intent.Prompt{Text: "snapshot save "}}}
	for i := len(all) - 1; i >= 0 && len(entries) <= listed; i-- {
		s := all[i]
		e := entry{
			key: strconv.Itoa(len(entries)), name: "restore " + text.Clean(s.Name), why: text.Clean(s.Problem),
			what:   fmt.Sprintf("%s ago: %d VMs, %d nodes, %d volumes", text.Ago(now.Sub(s.SavedAt)), s.VMs, s.Nodes, s.Volumes),
			intent: intent.RestoreSnapshot{Name: s.Name},
		}
		entries = append(entries, e)
	}
	return newMenu("Snapshots", false, entries)
}
