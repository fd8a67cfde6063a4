package topology

import (
	"fmt"
	"strings"
	"time"
)

// Reactions are the automatic actions of a vCenter, its hosts and its guests. All are off by default.
type Reactions struct {
	HA    HA    `json:"ha,omitzero"`
	DRS   DRS   `json:"drs,omitzero"`
	DHCP  DHCP  `json:"dhcp,omitzero"`
	Guest Guest `json:"guest,omitzero"`
}

// HA restarts the VMs of a failed host on other hosts of its cluster.
type HA struct {
	Enabled Choice `json:"enabled,omitempty"`
	// Detect is the time without contact after which a host counts as failed. Default 15s.
	Detect Duration `json:"detect,omitempty"`
	// Restart is the time from then to the power-on of its VMs. Default 10s.
	Restart Duration `json:"restart,omitempty"`
	// HostFailures is the number of hosts of a cluster that may fail; VMs that would leave too little room for that cannot be
	// powered on. Default: no admission control.
	HostFailures int32 `json:"hostFailures,omitempty" min:"0"`
}

// DRS spreads the powered-on VMs of a cluster over its hosts.
type DRS struct {
	Enabled Choice `json:"enabled,omitempty"`
	// Period is the time between two runs. Default 5m, as in vCenter.
	Period Duration `json:"period,omitempty"`
}

// DHCP changes the addresses of guests periodically.
type DHCP struct {
	Enabled Choice `json:"enabled,omitempty"`
	// Lease is the time for which a guest keeps its addresses. Default 1h.
	Lease Duration `json:"lease,omitempty"`
}

// Guest is the timing of guests. Default: that of the sandbox.
type Guest struct {
	// Boot is the time from power-on to running tools.
	Boot Duration `json:"boot,omitempty"`
	// Addresses is the time from then to a hostname and addresses.
	Addresses Duration `json:"addresses,omitempty"`
	// Shutdown is the time that a guest needs to shut down.
	Shutdown Duration `json:"shutdown,omitempty"`
}

// Duration is a duration in Go's form: "90s", "5m".
type Duration time.Duration

// UnmarshalText parses a positive duration.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf(`must be a time span ("90s", "5m")`)
	}
	if v <= 0 {
		return fmt.Errorf("must be more than no time")
	}
	*d = Duration(v)
	return nil
}

// String returns the short form: "5m", where [time.Duration] has "5m0s".
func (d Duration) String() string {
	s := time.Duration(d).String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// MarshalText writes the short form.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }
