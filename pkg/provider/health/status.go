package health

import (
	"fmt"
	"strings"
)

// Status is the state of one vCenter.
type Status struct {
	// Tenant is its name in the configuration.
	Tenant string
	// Connected says that there is a session that works, Synced that the inventory is complete and current.
	Connected, Synced bool
	// Err is why not, when it is known. It is told to whoever asks, so it must not hold a secret.
	Err error
}

// problem says what keeps the vCenter from being ready; nothing when it is.
func (s Status) problem() string {
	var what string
	switch {
	case !s.Connected:
		what = "not connected"
	case !s.Synced:
		what = "inventory not in sync"
	default:
		return ""
	}
	if s.Err != nil {
		// One line for each vCenter, whatever the error.
		what += ": " + strings.Join(strings.Fields(s.Err.Error()), " ")
	}
	return what
}

// report lists vCenters as Kubernetes lists its checks, and whether all are ready.
func report(all []Status) (text string, ready bool) {
	var b strings.Builder
	ready = true
	for _, s := range all {
		if p := s.problem(); p != "" {
			ready = false
			fmt.Fprintf(&b, "[-]vcenter %s failed: %s\n", s.Tenant, p)
		} else {
			fmt.Fprintf(&b, "[+]vcenter %s ok\n", s.Tenant)
		}
	}
	return b.String(), ready
}
