package guard

import "github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/journal"

// The kinds of a journal's actions, and what they are done with.
const (
	power        = "power"         // to: what the VM is to be, a power state of the API
	askGuest     = "ask-guest"     // to: what the VM is once its guest has done so, for which no task waits; no undo
	reset        = "reset"         // of VM or guest
	rename       = "rename"        // to: the name
	attachTag    = "attach-tag"    // tag: its id
	detachTag    = "detach-tag"    // tag
	attachVolume = "attach-volume" // volume: its id
	detachVolume = "detach-volume" // volume
	nothing      = "nothing"       // what cannot be taken back, or need not be

	to       = "to"
	tagID    = "tag"
	volumeID = "volume"
)

// The power states of the API.
const (
	poweredOn  = "poweredOn"
	poweredOff = "poweredOff"
	suspended  = "suspended"
)

// Words says in words what an action makes of a VM; of one that is an undo, what the VM was like.
func Words(a journal.Action) string {
	switch a.Kind {
	case power, askGuest:
		return map[string]string{poweredOn: "powered on", poweredOff: "powered off", suspended: "suspended"}[a.With[to]]
	case reset:
		return "reset"
	case rename:
		return "called " + a.With[to]
	case attachTag:
		return "tagged with " + a.With[tagID]
	case detachTag:
		return "not tagged with " + a.With[tagID]
	case attachVolume:
		return "given volume " + a.With[volumeID]
	case detachVolume:
		return "without volume " + a.With[volumeID]
	}
	return "as it is: this cannot be taken back"
}
