package topology

import (
	"fmt"
	"strings"
	"time"
)

// Reactions are what a vCenter, its hosts and its guests do by themselves. All are off unless asked for.
type Reactions struct {
	HA    HA    `json:"ha,omitzero"`
	DRS   DRS   `json:"drs,omitzero"`
	DHCP  DHCP  `json:"dhcp,omitzero"`
	Guest Guest `json:"guest,omitzero"`
}

// HA restarts the VMs of a lost host on other hosts of its cluster.
type HA struct {
	Enabled Choice `json:"enabled,omitempty"`
	// Detect is how long a host is silent before it counts as lost. Default 15s.
	Detect Duration `json:"detect,omitempty"`
	// Restart is the time from there to the power-on of its VMs. Default 10s.
	Restart Duration `json:"restart,omitempty"`
	// HostFailures is how many hosts of a cluster may be lost; power-on of VMs that would leave too little room for that
	// is refused. Default: no admission control.
	HostFailures int32 `json:"hostFailures,omitempty" min:"0"`
}

// DRS spreads the powered-on VMs of a cluster over its hosts.
type DRS struct {
	Enabled Choice `json:"enabled,omitempty"`
	// Period is the time between two looks. Default 5m, as vCenter's.
	Period Duration `json:"period,omitempty"`
}

// DHCP gives guests other addresses from time to time.
type DHCP struct {
	Enabled Choice `json:"enabled,omitempty"`
	// Lease is how long a guest keeps its addresses. Default 1h.
	Lease Duration `json:"lease,omitempty"`
}

// Guest is the timing of guests; absent, the sandbox's own.
type Guest struct {
	// Boot is the time from power-on to tools that run.
	Boot Duration `json:"boot,omitempty"`
	// Addresses is the time from there to a hostname and addresses.
	Addresses Duration `json:"addresses,omitempty"`
	// Shutdown is the time that a guest takes to shut down when asked.
	Shutdown Duration `json:"shutdown,omitempty"`
}

// Duration is a time span, written as Go does: "90s", "5m".
type Duration time.Duration

// UnmarshalText reads a positive time span.
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

// String is the short form: "5m", where [time.Duration] has "5m0s".
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
